"""Strips: the return of every episode without attack and under the worst attack, a dot each."""

from collections.abc import Sequence
from typing import NamedTuple

from wocar.report.axes import Axis, extent, tick_text
from wocar.report.groups import Group
from wocar.report.labels import attack_label, number
from wocar.report.radius import Radius
from wocar.text import html_text as escape

WIDTH, LEFT, RIGHT, ROW, FOOT = 460, 12, 12, 34, 22
MOST = 100
"""Dots of a row: of more episodes evenly spaced ones by rank."""
LEVELS = (0, 5, -5, 2.5, -2.5)
"""Heights of neighbouring dots, so that equal returns are not one dot."""


class Dot(NamedTuple):
    value: float
    seed: int | None


class Strip(NamedTuple):
    label: str
    attack: str
    """As text; of several agents each under its own worst attack."""
    dots: list[Dot]
    worst: bool


def strips(groups: Sequence[Group], radius: Radius) -> list[Strip]:
    """Two for each method whose audits keep the returns of episodes."""
    found = []
    for group in groups:
        free = [(m.seed, row) for m in group.members if (row := m.rows(radius).get("none"))]
        natural = [Dot(x, seed) for seed, row in free for x in row.get("returns", ())]
        worst = [(m.seed, *chosen) for m in group.members if (chosen := m.worst(radius))]
        names = list(dict.fromkeys(attack_label(name) for _, name, _ in worst))
        attacked = [Dot(x, seed) for seed, _, row in worst for x in row.get("returns", ())]
        if natural and attacked:
            under = names[0] if len(names) == 1 else f"worst of {len(worst)} agents"
            found += [Strip(group.label, "no attack", natural, False), Strip(group.label, under, attacked, True)]
    return found


def strips_html(rows: Sequence[Strip], styles: dict[str, int], id: str) -> str:
    """A figure; `styles` are the colours of methods in the other figures of the page."""
    if not rows:
        return ""
    bottom = ROW * len(rows)
    x = Axis(*extent([dot.value for row in rows for dot in row.dots]), LEFT, WIDTH - RIGHT)
    ticks = "".join(
        f'<path class="grid" d="M{x(t):.1f} 0V{bottom}"/>'
        f'<text x="{x(t):.1f}" y="{bottom + 15}" text-anchor="middle">{tick_text(t)}</text>'
        for t in x.ticks()
    )
    drawn = "".join(_row(row, ROW * i, x, styles.get(row.label, 0)) for i, row in enumerate(rows))
    about = "A dot is the return of one episode; hollow: without attack, filled: under the worst attack."
    about += f" Of more than {MOST} episodes evenly spaced ones." if any(len(r.dots) > MOST for r in rows) else ""
    return (
        f'<figure class="strips"><h3>Every episode</h3><svg viewBox="0 0 {WIDTH} {bottom + FOOT}" role="img" '
        f'aria-labelledby="{id}"><title id="{id}">Returns of single episodes by method and attack</title>'
        f"{ticks}{drawn}</svg>"
        f"<figcaption>{about}</figcaption></figure>"
    )


def _row(row: Strip, top: float, x: Axis, style: int) -> str:
    middle = top + 22
    dots = sorted(row.dots)
    if len(dots) > MOST:
        dots = [dots[round(k * (len(dots) - 1) / (MOST - 1))] for k in range(MOST)]
    marks = "".join(
        f"<g><title>{escape(row.label)}, {escape(row.attack)}{'' if dot.seed is None else f', seed {dot.seed}'}: "
        f'{number(dot.value)}</title><circle class="dot" cx="{x(dot.value):.1f}" '
        f'cy="{middle + LEVELS[k % len(LEVELS)]:g}" r="3"/></g>'
        for k, dot in enumerate(dots)
    )
    kind = "attacked" if row.worst else "free"
    name = f'<text class="axis" x="{LEFT}" y="{top + 11}">{escape(row.label)}, {escape(row.attack)}</text>'
    return f'{name}<g class="{kind} c{style % 12}">{marks}</g>'
