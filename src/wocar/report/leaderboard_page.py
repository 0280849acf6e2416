"""Leaderboard page: per task and threat a table, reported beside audited, and natural against worst return."""

from collections.abc import Sequence
from typing import Any

from wocar.report.charts import REPORTED
from wocar.report.contents import Contents, ReportFlag, Section
from wocar.report.labels import attack_label, number
from wocar.report.leaderboard import LeaderboardEntry
from wocar.report.model import Chart, Series, Table, TableCell


def leaderboard_contents(entries: Sequence[LeaderboardEntry]) -> Contents:
    places = list(dict.fromkeys((entry.env, entry.threat) for entry in entries))
    sections = [_section([e for e in entries if (e.env, e.threat) == place]) for place in places]
    flags = [ReportFlag(f"{e.name}, {e.env}", "audit", text) for e in entries for text in e.data["flags"]]
    counts = {"agents": len(entries), "tasks": len({entry.env for entry in entries})}
    return Contents(sections, flags, _sources_table(entries), [], counts)


def _section(entries: Sequence[LeaderboardEntry]) -> Section:
    env, threat = entries[0].env, entries[0].threat
    return Section(f"{env}, {threat}", tables=[_table(entries)], charts=[scatter(entries)])


def _table(entries: Sequence[LeaderboardEntry]) -> Table:
    env, threat = entries[0].env, entries[0].threat
    headings = ["agent", "by", "worst", "natural", "kept", "reported worst", "reported natural", "attack", "suite"]
    rows = []
    for entry in entries:
        worst, natural, reported = entry.worst, entry.natural, entry.data["reported"] or {}
        kept = worst["mean"] / natural["mean"] if natural["mean"] > 0 else None
        rows.append(
            [
                TableCell(entry.name),
                TableCell(entry.data["origin"]),
                _returns(worst),
                _returns(natural),
                TableCell("" if kept is None else f"{kept:.0%}", kept),
                _reported(reported.get("worst")),
                _reported(reported.get("natural")),
                TableCell(attack_label(worst["attack"])),
                _suite(entry.data["suite"]),
            ]
        )
    about = (
        "Mean return over episodes under the worst attack found and without one, with 95 % intervals; reported: the "
        "authors' own numbers for the agent or its table's row. Agents that met some attacks only, no whole suite, "
        "stand below: their worst return says less. Press a heading to sort."
    )
    return Table(f"leaderboard-{env}-{threat}", f"{env}, {threat}", about, headings, rows, _commands(entries))


def scatter(entries: Sequence[LeaderboardEntry]) -> Chart:
    """Natural return (x) against worst return (y); hollow what the authors report."""
    env, threat = entries[0].env, entries[0].threat
    series = []
    for entry in entries:
        x, y, reported = entry.natural, entry.worst, entry.data["reported"] or {}
        low, high = y["interval"]
        x_low, x_high = x["interval"]
        names = [f"{entry.name}, worst attack: {attack_label(y['attack'])}"]
        series.append(
            Series(entry.name, [x["mean"]], [y["mean"]], [low], [high], x_low=[x_low], x_high=[x_high], names=names)
        )
        if reported.get("natural") is not None and reported.get("worst") is not None:
            point = ([reported["natural"]], [reported["worst"]])
            names = [f"{entry.name}, as reported: {reported['source']}"]
            series.append(Series(entry.name + REPORTED, *point, published=True, names=names))
    about = (
        f"{env}, {threat}: return without attack (x) against return under the worst attack found (y), 95 % intervals "
        "over episodes. Up and to the right is better; on the diagonal nothing is lost. Hollow: as its authors report."
    )
    axes = ("natural return", "worst return")
    name = f"natural-worst-{env}-{threat}"
    return Chart(
        name, "Natural against worst return", about, *axes, "points", series, _commands(entries), diagonal=True
    )


def _sources_table(entries: Sequence[LeaderboardEntry]) -> Table:
    headings = ["agent", "task", "steps", "seed", "agent's digest", "attackers' digests", "suite's hash", "link"]
    rows = []
    for entry in entries:
        data = entry.data
        attackers = ", ".join(f"{attack} {digest[:12]}" for attack, digest in data["attackers"].items())
        cells = [
            f"{data['steps']:,}" if data.get("steps") else "",
            "" if data.get("seed") is None else str(data["seed"]),
            data["agent_sha256"][:12],
            attackers,
            data["suite"]["sha256"][:12] if data["suite"] else "",
            data["link"],
        ]
        rows.append([TableCell(entry.name), TableCell(entry.env), *map(TableCell, cells)])
    about = "Where each entry comes from; its file in leaderboard/ has the whole digests, seeds and commands."
    return Table("leaderboard-sources", "Agents", about, headings, rows, [])


def _returns(row: dict[str, Any]) -> TableCell:
    low, high = row["interval"]
    return TableCell(number(row["mean"]), row["mean"], f"{number(low)} .. {number(high)}")


def _suite(suite: dict[str, Any] | None) -> TableCell:
    return TableCell("some attacks") if suite is None else TableCell(suite["name"], note=", ".join(suite["changes"]))


def _reported(value: float | None) -> TableCell:
    return TableCell("" if value is None else number(value), value)


def _commands(entries: Sequence[LeaderboardEntry]) -> list[str]:
    return list(dict.fromkeys(audit["command"] for e in entries for audit in e.data["audits"] if audit["command"]))
