"""Table and chart of estimated worst-attack values against measured attacks."""

from collections.abc import Sequence
from typing import NamedTuple

from wocar.report.groups import Group, Member
from wocar.report.labels import number, radius_text
from wocar.report.model import Chart, Series, Table, TableCell
from wocar.report.radius import Radius, radius_of


def estimates_table(groups: Sequence[Group]) -> Table:
    """Estimated worst-attack values and returns under attacks, both discounted, from the starting states."""
    rows = []
    for g in groups:
        for m in g.members:
            rows += [[TableCell(f"{g.label}, {g.env}, seed {m.seed}"), *cells] for cells in _estimate_rows(m)]
    about = (
        "Discounted return from the starting states, γ = 0.99: the worst-attack value that the critic estimates, the "
        "return under the attack that follows the critic in the relaxed game (it may pick any action within the "
        "bounds), and under the worst attack of the audit. An estimate above an attack's return is too high."
    )
    headings = ["agent", "eps", "estimate", "relaxed attack", "worst attack", "no attack", "below worst attack"]
    return Table("estimates", "Estimates against attacks", about, headings, rows, _estimate_commands(groups))


class EstimatePoint(NamedTuple):
    radius: Radius
    value: float
    """The estimated worst-attack value."""
    relaxed: float
    """Return under the attack that follows the critic in the relaxed game."""
    worst: float | None
    """Discounted return under the worst attack of the audit, where there is one."""


def estimate_points(member: Member) -> list[EstimatePoint]:
    """One for each radius; those of `wocar estimate` before the one that a training ends with."""
    found: dict[Radius, tuple[float, float]] = {}
    for estimated in member.estimates:
        for row in estimated.data["radii"]:
            if row["eps"] > 0:
                found[radius_of(estimated.data, row["eps"])] = row["value"], row["start"]["achieved"]
    calibrations = [m.calibration for m in (member.run, *member.audits) if m is not None and m.calibration]
    for c in calibrations[:1]:
        found.setdefault(radius_of(c, c.get("eps", 0.0)), (c["start_estimate"], c["start_achieved"]))
    return [EstimatePoint(radius, *values, _worst_discounted(member, radius)) for radius, values in found.items()]


def _worst_discounted(member: Member, radius: Radius) -> float | None:
    rows = member.rows(radius)
    values = [row["mean_discounted"] for row in rows.values() if row["eps"] > 0 and "mean_discounted" in row]
    return min(values) if values else None


def _estimate_rows(member: Member) -> list[list[TableCell]]:
    unattacked = member.rows(None).get("none")
    natural = unattacked.get("mean_discounted") if unattacked else None
    rows = []
    for point in estimate_points(member):
        holds = "" if point.worst is None else "yes" if point.value <= point.worst else "no"
        values = (point.value, point.relaxed, point.worst, natural)
        numbers = [TableCell("" if x is None else number(x), x) for x in values]
        eps = TableCell(radius_text(point.radius).removeprefix("eps "), point.radius.eps)
        rows.append([eps, *numbers, TableCell(holds)])
    return rows


def estimates_chart(groups: Sequence[Group]) -> Chart:
    """Of one task, one point for each agent and radius: the estimate against the worst attack of the audit."""
    series = []
    for g in groups:
        points = [(m.seed, point) for m in g.members for point in estimate_points(m)]
        names = [f"{g.label}, seed {seed}, {radius_text(p.radius)}" for seed, p in points if p.worst is not None]
        x = [p.worst for _, p in points if p.worst is not None]
        y = [p.value for _, p in points if p.worst is not None]
        if x:
            series.append(Series(g.label, x, y, names=names))
    about = (
        "Each point is an agent at a radius: across, the discounted return under the worst attack of its audit; up, "
        "the worst-attack value estimated without an attacker. Below the diagonal the estimate is on the safe side."
    )
    axes = ("worst attack, discounted return", "estimated worst value")
    env = groups[0].env
    title = f"Estimates against attacks, {env}"
    return Chart(f"estimates-{env}", title, about, *axes, "points", series, _estimate_commands(groups), diagonal=True)


def _estimate_commands(groups: Sequence[Group]) -> list[str]:
    found = [e.command for g in groups for m in g.members for e in m.estimates]
    found += [m.command for g in groups for m in g.members if m.run and m.run.calibration]
    return list(dict.fromkeys(found))
