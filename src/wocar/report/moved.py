"""Moved dimensions: how the worst attack shifts each number that an agent sees, as bars."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wocar.evaluation.seed_statistics import median_agent
from wocar.report.groups import Group, Member
from wocar.report.labels import attack_label
from wocar.report.radius import Radius
from wocar.text import html_text as escape

MOST = 24
"""Dimensions that are shown: those which are moved most."""


class Shift(NamedTuple):
    name: str
    mean: float
    """Of s~ - s over all steps, in units of the radius."""
    size: float
    """Of |s~ - s|."""


class MovedBars(NamedTuple):
    label: str
    attack: str
    seed: int | None
    shifts: list[Shift]
    dimensions: int


def moved_bars(groups: Sequence[Group], radius: Radius) -> list[MovedBars]:
    """Of each method the median agent by worst return, where its audit says what was moved."""
    found = []
    for group in groups:
        told = [m for m in group.members if _moved(m, radius)]
        if not told:
            continue
        means = np.array([chosen[1]["mean"] for m in told if (chosen := m.worst(radius))])
        member = told[median_agent(means)]
        attack, shifts = _moved(member, radius) or ("", [])
        largest = sorted(shifts, key=lambda s: -s.size)[:MOST]
        shown = [s for s in shifts if s in largest]
        found.append(MovedBars(group.label, attack_label(attack), member.seed, shown, len(shifts)))
    return found


def _moved(member: Member, radius: Radius) -> tuple[str, list[Shift]] | None:
    chosen = member.worst(radius)
    moved = chosen[1].get("moved") if chosen else None
    if chosen is None or moved is None:
        return None
    named = next((audit.data["dimensions"] for audit in member.audits if audit.data.get("dimensions")), None)
    n = min(len(moved["mean"]), len(moved["size"]))
    names = named if named and len(named) == n else [f"dimension {i}" for i in range(n)]
    return chosen[0], [Shift(name, *pair) for name, *pair in zip(names, moved["mean"], moved["size"], strict=False)]


def moved_html(found: Sequence[MovedBars]) -> str:
    return "".join(map(_figure, found))


def _figure(bars: MovedBars) -> str:
    most = max(bars.shifts, key=lambda shift: shift.size)
    rows = "".join(_row(shift, shift is most) for shift in bars.shifts)
    left_out = bars.dimensions - len(bars.shifts)
    about = (
        "Pale: how far the attack moves a dimension, mean over all steps, in units of its radius. Solid: where to; "
        "without it the attack pushes both ways."
    )
    about += f" The {left_out} least moved are left out." if left_out > 0 else ""
    seed = "" if bars.seed is None else f", seed {bars.seed}"
    return (
        f'<figure class="moved"><h3>What {escape(bars.attack)} moves: {escape(bars.label)}{seed}</h3>'
        f"<ul>{rows}</ul><figcaption>{about}</figcaption></figure>"
    )


def _row(shift: Shift, most: bool) -> str:
    size = 50 * min(max(shift.size, 0.0), 1.0)
    mean = 50 * min(max(shift.mean, -1.0), 1.0)
    way = "up" if mean > 0 else "down"
    return (
        f'<li{" class=most" if most else ""}><span class="who">{escape(shift.name)}</span><span class="bars">'
        f'<span class="size" style="left:{50 - size:.1f}%;width:{2 * size:.1f}%"></span>'
        f'<span class="{way}" style="left:{50 + min(mean, 0.0):.1f}%;width:{abs(mean):.1f}%"></span></span>'
        f'<span class="result">{shift.size:.2f}<span class="soft"> {shift.mean:+.2f}</span></span></li>'
    )
