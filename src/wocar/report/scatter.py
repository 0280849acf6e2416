"""Picture of a leaderboard: natural against worst return, one panel per task, as one SVG file.

Colours follow the viewer's light or dark scheme; shapes tell methods apart without colours.
"""

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from wocar.methods.registry import known_method
from wocar.report.axes import Axis, extent, tick_text
from wocar.report.labels import attack_label
from wocar.report.leaderboard import LeaderboardEntry

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 300, 270, 52, 46, 30, 12
LINE, HEAD = 20, 8
SHAPES = {
    "circle": "M{0} {1}m-{2} 0a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0Z",
    "square": "M{0} {1}m-{2} -{2}h{3}v{3}h-{3}Z",
    "triangle": "M{0} {1}m0 -{3}l{3} {4}h-{5}Z",
    "diamond": "M{0} {1}m0 -{3}l{3} {3}l-{3} {3}l-{3} -{3}Z",
    "bar": "M{0} {1}m-{3} -{2}h{4}v{2}h-{4}Z",
    "down": "M{0} {1}m0 {3}l{3} -{4}h-{5}Z",
}
STYLE = """
text { fill: var(--soft); font: 12px system-ui, "Segoe UI", Roboto, sans-serif; }
.ink { fill: var(--ink); } .title { fill: var(--ink); font-weight: 600; font-size: 13px; }
.ground { fill: var(--card); } .grid { stroke: var(--grid); fill: none; } .zero { stroke: var(--soft); fill: none; }
.fall { stroke: var(--c); stroke-width: 1; stroke-dasharray: 3 3; fill: none; opacity: .7; }
.ours { fill: var(--c); stroke: var(--card); } .reported { fill: var(--card); stroke: var(--c); stroke-width: 1.6; }
.published { fill: var(--c); fill-opacity: .4; stroke: var(--c); stroke-width: 1.6; }
"""


def leaderboard_svg(entries: Sequence[LeaderboardEntry]) -> str:
    """All tasks beside each other, at most three in a row, and the legend below."""
    places = list(dict.fromkeys((entry.env, entry.threat) for entry in entries))
    methods = sorted({entry.data["method"] for entry in entries}, key=_rank)
    styles = {method: i for i, method in enumerate(methods)}
    columns = min(len(places), 3) if len(places) != 4 else 2
    lines = _legend(methods, styles, columns * WIDTH)
    rows = -(-len(places) // columns)
    panels = [
        f'<g transform="translate({k % columns * WIDTH} {k // columns * HEIGHT})">'
        f"{_panel([e for e in entries if (e.env, e.threat) == place], styles)}</g>"
        for k, place in enumerate(places)
    ]
    height = rows * HEIGHT + lines[1]
    legend = f'<g transform="translate(0 {rows * HEIGHT})">{lines[0]}</g>'
    about = "Return without attack against return under the worst attack found; up and to the right is better."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * WIDTH} {height}" role="img">'
        f"<title>Natural against worst return</title><desc>{about}</desc><style>{_colours()}{STYLE}</style>"
        f'<rect class="ground" width="{columns * WIDTH}" height="{height}" rx="8"/>{"".join(panels)}{legend}</svg>\n'
    )


def _panel(entries: Sequence[LeaderboardEntry], styles: dict[str, int]) -> str:
    told = [r for e in entries if (r := _reported(e))]
    x = Axis(*extent([e.natural["mean"] for e in entries] + [r[0] for r in told] + [0.0]), LEFT, WIDTH - RIGHT)
    y = Axis(*extent([e.worst["mean"] for e in entries] + [r[1] for r in told] + [0.0]), HEIGHT - BOTTOM, TOP)
    parts = [f'<text class="title" x="{LEFT}" y="19">{escape(entries[0].env)}, {escape(entries[0].threat)}</text>']
    for tick in y.ticks(4):
        parts.append(f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick_text(tick)}</text>')
    for tick in x.ticks(4):
        parts.append(f'<path class="grid" d="M{x(tick):.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        parts.append(
            f'<text x="{x(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick_text(tick)}</text>'
        )
    low, high = max(x.low, y.low), min(x.high, y.high)
    parts.append(f'<path class="zero" d="M{x(low):.1f} {y(low):.1f}L{x(high):.1f} {y(high):.1f}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="ink" x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">natural return</text>')
    turned = f'transform="translate(12 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle"'
    parts.append(f'<text class="ink" {turned}>worst return</text>')
    order = sorted(entries, key=lambda e: e.data["origin"] == "ours")  # ours are drawn last, on top
    return "".join(parts + [_point(entry, x, y, styles[entry.data["method"]]) for entry in order])


def _point(entry: LeaderboardEntry, x: Axis, y: Axis, style: int) -> str:
    at = x(entry.natural["mean"]), y(entry.worst["mean"])
    kind = "ours" if entry.data["origin"] == "ours" else "published"
    mark, size = "", 4.5 if entry.whole else 3.0
    if told := _reported(entry):
        there = x(told[0]), y(told[1])
        mark += f'<path class="fall" d="M{there[0]:.1f} {there[1]:.1f}L{at[0]:.1f} {at[1]:.1f}"/>'
        mark += _mark("reported", style, *there, size)
    words = f"{entry.name}: {entry.natural['mean']:.0f} without attack, {entry.worst['mean']:.0f} under "
    words += attack_label(entry.worst["attack"]) + ("" if entry.whole else "; some attacks only")
    mark += _mark(kind, style, *at, size)
    return f'<g class="c{style % 8}" style="--c: var(--c{style % 8})"><title>{escape(words)}</title>{mark}</g>'


def _mark(kind: str, style: int, x: float, y: float, size: float = 4.5) -> str:
    shape = [*SHAPES.values()][style % len(SHAPES)]
    sizes = (size, 2 * size) if style % len(SHAPES) < 2 else (size, 1.2 * size)
    numbers = (f"{n:.1f}" for n in (x, y, *sizes, 2.0 * sizes[1], 2 * sizes[1]))
    return f'<path class="{kind}" d="{shape.format(*numbers)}"/>'


def _legend(methods: Sequence[str], styles: dict[str, int], width: int) -> tuple[str, int]:
    """Methods by colour and shape, then what filling means; and the height it takes."""
    items = [(styles[m], "ours", _label(m)) for m in methods]
    kinds = {"ours": "trained here", "published": "published agent", "reported": "as its authors report"}
    items += [(0, kind, text) for kind, text in kinds.items()]
    parts, across, down = [], LEFT, HEAD
    for k, (style, kind, text) in enumerate(items):
        need = 30 + 7 * len(text)
        if across + need > width - RIGHT or k == len(methods):
            across, down = LEFT, down + LINE
        colour = f"var(--c{style % 8})" if k < len(methods) else "var(--soft)"
        parts.append(f'<g style="--c: {colour}">{_mark(kind, style, across, down - 4)}</g>')
        parts.append(f'<text x="{across + 11}" y="{down}">{escape(text)}</text>')
        across += need
    parts.append(f'<text x="{across}" y="{down}">small: some attacks only; line: nothing lost</text>')
    return "".join(parts), down + LINE


def _reported(entry: LeaderboardEntry) -> tuple[float, float] | None:
    told = entry.data["reported"] or {}
    natural, worst = told.get("natural"), told.get("worst")
    return None if natural is None or worst is None else (natural, worst)


def _label(method: str) -> str:
    known = known_method(method)
    return known.label if known else method


def _rank(method: str) -> tuple[int, str]:
    known = known_method(method)
    return (-known.rank if known else 1, method)


def _colours() -> str:
    """The page's own colours, light and dark."""
    return files("wocar.report").joinpath("page.css").read_text(encoding="utf-8").partition("* {")[0]
