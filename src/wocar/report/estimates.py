"""Table and chart of estimated worst-attack values against measured attacks."""

from collections.abc import Sequence

from wocar.report.groups import Group, Member, Radius
from wocar.report.labels import eps_text, number
from wocar.report.model import Chart, Series, Table, TableCell


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


def estimate_points(member: Member) -> list[tuple[float, float, float, float | None]]:
    """(eps, estimate, relaxed attack, worst attack of the audit) for each radius."""
    points = []
    for estimated in member.estimates:
        for row in estimated.data["radii"]:
            if row["eps"] > 0:
                points.append((row["eps"], row["value"], row["start"]["achieved"]))
    calibrations = [m.calibration for m in (member.run, *member.audits) if m is not None and m.calibration]
    known = {eps for eps, _, _ in points}
    points += [
        (c["eps"], c["start_estimate"], c["start_achieved"]) for c in calibrations[:1] if c.get("eps") not in known
    ]
    return [(*point, _worst_discounted(member, point[0])) for point in points]


def _worst_discounted(member: Member, eps: float) -> float | None:
    rows = member.rows(Radius("linf", eps))
    values = [row["mean_discounted"] for row in rows.values() if row["eps"] > 0 and "mean_discounted" in row]
    return min(values) if values else None


def _estimate_rows(member: Member) -> list[list[TableCell]]:
    natural = member.rows(None).get("none", {}).get("mean_discounted")
    rows = []
    for eps, value, relaxed, worst in estimate_points(member):
        holds = "" if worst is None else "yes" if value <= worst else "no"
        numbers = [TableCell("" if x is None else number(x), x) for x in (value, relaxed, worst, natural)]
        rows.append([TableCell(eps_text(eps), eps), *numbers, TableCell(holds)])
    return rows


def estimates_chart(groups: Sequence[Group]) -> Chart:
    """Of one task, one point for each agent and radius: the estimate against the worst attack of the audit."""
    series = []
    for g in groups:
        rows = [(m.seed, *point) for m in g.members for point in estimate_points(m) if point[3] is not None]
        names = [f"{g.label}, seed {seed}, eps {eps_text(eps)}" for seed, eps, *_ in rows]
        if rows:
            series.append(Series(g.label, [float(row[4] or 0) for row in rows], [row[2] for row in rows], names=names))
    about = (
        "Each point is an agent at a radius: across, the discounted return under the worst attack of its audit; up, "
        "the worst-attack value estimated without an attacker. Below the diagonal the estimate is on the safe side."
    )
    x, y = "worst attack, discounted return", "estimated worst value"
    env = groups[0].env
    title = f"Estimates against attacks, {env}"
    return Chart(f"estimates-{env}", title, about, x, y, "points", series, _estimate_commands(groups), diagonal=True)


def _estimate_commands(groups: Sequence[Group]) -> list[str]:
    found = [e.command for g in groups for m in g.members for e in m.estimates]
    found += [m.command for g in groups for m in g.members if m.run and m.run.calibration]
    return list(dict.fromkeys(found))
