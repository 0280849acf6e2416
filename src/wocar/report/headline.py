"""Headline of a task: natural and worst return of each method as bars, the best worst case first."""

from collections.abc import Sequence
from typing import NamedTuple

from wocar.evaluation.seed_statistics import Estimate
from wocar.report.groups import Group
from wocar.report.labels import number
from wocar.report.radius import Radius
from wocar.report.tables import median_interval
from wocar.text import html_text as escape


class HeadlineRow(NamedTuple):
    label: str
    natural: Estimate
    worst: Estimate
    agents: int
    flags: int
    """Reasons to trust the numbers less, in all of its audits."""
    suites: tuple[str, ...]
    """Sets of attacks behind the worst case."""

    @property
    def kept(self) -> float | None:
        """Share of the natural return that the worst attack leaves; None where that is not positive."""
        return self.worst[0] / self.natural[0] if self.natural[0] > 0 else None

    @property
    def text(self) -> str:
        kept = "" if self.kept is None else f", {100 * self.kept:.0f} % kept"
        return f"{number(self.worst[0])} of {number(self.natural[0])}{kept}"


def headline_rows(groups: Sequence[Group], radius: Radius) -> list[HeadlineRow]:
    """The methods with a natural and a worst return at a radius."""
    rows = []
    for group in groups:
        if not (group.values("none", radius) and group.values("worst", radius)):
            continue
        natural, worst = (median_interval(group, attack, radius) for attack in ("none", "worst"))
        audits = [(member.name, audit) for member in group.members for audit in member.audits]
        flags = {(name, flag["flag"], flag["text"]) for name, audit in audits for flag in audit.data.get("flags", [])}
        suites = tuple(sorted({suite for m in group.members for suite in m.suites(radius)}))
        agents = len(group.values("worst", radius))
        rows.append(HeadlineRow(group.label, natural, worst, agents, len(flags), suites))
    return sorted(rows, key=lambda row: -row.worst[0])


def headline_html(rows: Sequence[HeadlineRow], where: str) -> str:
    """The bars with their numbers as text; widths are shares of the largest end."""
    if not rows:
        return ""
    ends = [value for row in rows for value in (*row.natural, *row.worst)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    scale = _Scale(low, (high - low) or 1.0)
    items = "".join(_item(row, scale) for row in rows)
    about = "Pale: without attack. Solid: under the worst attack. Lines: 95 % intervals. Medians over agents."
    different = len({row.suites for row in rows}) > 1
    note = '<p class="about">The worst cases come from different sets of attacks: compare with care.</p>'
    return (
        f'<div class="headline"><h3>Return under the worst attack, {escape(where)}</h3><ul>{items}</ul>'
        f'<p class="about">{about}</p>{note if different else ""}</div>'
    )


class _Scale(NamedTuple):
    low: float
    size: float

    def at(self, value: float) -> float:
        """Per cent from the left."""
        return 100 * (value - self.low) / self.size


def _item(row: HeadlineRow, scale: _Scale) -> str:
    bars = _bar(row.natural, scale, "natural") + _bar(row.worst, scale, "solid")
    flags = f' <a class="flagged" href="#flags">{row.flags} flag{"s" * (row.flags > 1)}</a>' if row.flags else ""
    agents = f"{row.agents} agent{'s' * (row.agents > 1)}"
    suites = escape(", ".join(row.suites), quote=True)
    return (
        f'<li><span class="who">{escape(row.label)}</span><span class="bars" title="{suites}">{bars}</span>'
        f'<span class="result"><strong>{row.text}</strong>{flags} <span class="soft agents">{agents}</span></span></li>'
    )


def _bar(value: Estimate, scale: _Scale, kind: str) -> str:
    left, right = sorted((scale.at(0.0), scale.at(value[0])))
    low, high = scale.at(value[1]), scale.at(value[2])
    return (
        f'<span class="{kind}" style="left:{left:.2f}%;width:{right - left:.2f}%"></span>'
        f'<span class="interval {kind}-interval" style="left:{low:.2f}%;width:{max(high - low, 0.0):.2f}%"></span>'
    )
