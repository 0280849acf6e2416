"""Tables of one task: returns with intervals, the median agent as in the paper, and the runs."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wocar.evaluation.seed_statistics import Estimate, estimate, median, median_agent
from wocar.report.groups import Group, audit_commands
from wocar.report.labels import attack_label, number, plus_minus, radius_text, slug
from wocar.report.model import PaperNumber, Table, TableCell
from wocar.report.radius import Radius
from wocar.report.sources import Run


def attacks_of(groups: Sequence[Group], radius: Radius | None) -> list[str]:
    """Attacks of the audits at a radius, in their order; "none" first."""
    names = [attack for g in groups for m in g.members for attack in m.rows(radius)]
    return sorted(dict.fromkeys(names), key=lambda name: name != "none")


def main_radius(groups: Sequence[Group], published: Sequence[PaperNumber]) -> list[Radius]:
    """Radii of the audits of one task, the main one first: the paper's, else the most common."""
    counts = Counter(radius for g in groups for m in g.members for radius in m.radii())
    paper = {p.eps for p in published if p.label.startswith("tab:") and p.task == groups[0].task}
    main = {r for r in counts if r.as_in_paper and any(math.isclose(r.eps, e, rel_tol=1e-3) for e in paper)}
    return sorted(counts, key=lambda r: (r not in main, -counts[r]))


def results_table(
    groups: Sequence[Group],
    radius: Radius | None,
    published: Sequence[PaperNumber],
    missing: Sequence[dict[str, str]] = (),
) -> Table:
    """Median over seeds with its interval for each method and attack, the lowest marked, and the paper's number."""
    groups = [g for g in groups if g.values("worst", radius)]
    attacks = attacks_of(groups, radius)
    rows = []
    for group in groups:
        cells = {attack: _over_seeds(group, attack, radius, published) for attack in attacks}
        medians = {a: float(np.median(group.values(a, radius))) for a in attacks if group.values(a, radius)}
        lowest = min(medians, key=lambda a: medians[a])
        if len(medians) > 1:
            cells[lowest] = replace(cells[lowest], worst=True)
        worst = _over_seeds(group, "worst", radius, published)
        natural, attacked = group.values("none", radius), float(np.median(group.values("worst", radius)))
        kept = attacked / float(np.median(natural)) if natural and np.median(natural) > 0 else None
        share = TableCell("" if kept is None else f"{kept:.0%}", kept)
        n = len(group.values("worst", radius))
        rows.append([TableCell(group.label), worst, share, *cells.values(), TableCell(str(n), n)])
    for row in missing:
        absent = Group(row["env"], row["method"], row["variant"], [])
        paper = [
            TableCell("", None, "", paper_text(absent, attack, radius, published)) for attack in ("worst", *attacks)
        ]
        rows.append([TableCell(absent.label), paper[0], TableCell(""), *paper[1:], TableCell("none", 0, row["why"])])
    about = (
        f"Mean return of {_episodes(groups, radius)}, median over seeds; below it a 95 % interval, by bootstrap over "
        "seeds, or over episodes of a single seed. The lowest return of a row is marked. Worst: each agent under the "
        "attack with the lowest return on the selection episodes. Paper: mean ± standard deviation as printed there."
        f"{suites_note(groups, radius)}"
    )
    headings = ["method", "worst", "kept", *map(attack_label, attacks), "seeds"]
    env = groups[0].env if groups else ""
    return Table(
        f"results-{env}-{slug(radius)}", f"{env}, {radius_text(radius)}", about, headings, rows, audit_commands(groups)
    )


def suites_note(groups: Sequence[Group], radius: Radius | None) -> str:
    """A warning where agents were attacked by different suites: their worst returns say little side by side."""
    used = {group.label: sorted({suite for m in group.members for suite in m.suites(radius)}) for group in groups}
    if len({tuple(suites) for suites in used.values()}) < 2:
        return ""
    named = "; ".join(f"{label} by {' and '.join(suites)}" for label, suites in used.items())
    return f" Not comparable without care: the agents were attacked by different suites ({named})."


def _episodes(groups: Sequence[Group], radius: Radius | None) -> str:
    """The number of episodes behind the numbers of a table."""
    counts = sorted({row["episodes"] for g in groups for m in g.members for row in m.rows(radius).values()})
    count = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "no"
    return f"{count} episode{'' if counts == [1] else 's'}"


def _over_seeds(group: Group, attack: str, radius: Radius | None, published: Sequence[PaperNumber]) -> TableCell:
    if not group.values(attack, radius):
        return TableCell("", None, published=paper_text(group, attack, radius, published))
    value, low, high = median_interval(group, attack, radius)
    note = f"{number(low)} .. {number(high)}"
    concerned = [(m, chosen[0] if (chosen := m.worst(radius)) else "") for m in group.members]
    flags = [
        text if len(concerned) == 1 else f"{text} (seed {m.seed})"
        for m, worst in concerned
        for text in m.flags(worst if attack == "worst" else attack, radius)
    ]
    if attack == "worst":
        names = Counter(m_worst[0] for m in group.members if (m_worst := m.worst(radius)))
        note = f"{note}, {attack_label(names.most_common(1)[0][0])}"
    return TableCell(number(value), value, note, paper_text(group, attack, radius, published), flags=tuple(flags))


def median_interval(group: Group, attack: str, radius: Radius | None) -> Estimate:
    """Median over seeds and its 95 % interval; of a single seed the interval over its episodes."""
    rows = group.rows(attack, radius)
    if len(rows) == 1:
        return Estimate(rows[0]["mean"], *rows[0]["interval"])
    return estimate([np.array([row["mean"] for row in rows])], median)


def paper_numbers(
    published: Sequence[PaperNumber], task: str, method: str, variant: str, radius: Radius | None
) -> dict[str, PaperNumber]:
    """Attack to the paper's number for this method at this radius; the first of several tables counts."""
    found: dict[str, PaperNumber] = {}
    for p in published:
        if p.label == "efficiency":
            continue
        same = (p.task, p.method, p.variant) == (task, method, variant)
        near = p.eps == 0 or (
            radius is not None and radius.as_in_paper and math.isclose(p.eps, radius.eps, rel_tol=1e-3)
        )
        if same and near:
            found.setdefault(p.attack, p)
    return found


def paper_text(group: Group, attack: str, radius: Radius | None, published: Sequence[PaperNumber]) -> str:
    tables = [p for p in published if not p.label.startswith("fig:")]
    found = paper_numbers(tables, group.task, group.method, group.variant, radius)
    if attack == "worst" and len(found) > 1:
        lowest = min(found.values(), key=lambda p: p.mean)
        return f"{plus_minus(lowest.mean, lowest.std)}, {attack_label(lowest.attack)}"
    return plus_minus(found[attack].mean, found[attack].std) if attack in found else ""


def median_agents_table(groups: Sequence[Group], radius: Radius | None, published: Sequence[PaperNumber]) -> Table:
    """As in the paper: of N agents the median one under its worst attack, mean ± std over its episodes."""
    groups = [g for g in groups if g.values("worst", radius)]
    attacks = attacks_of(groups, radius)
    rows = []
    for group in groups:
        audited = [m for m in group.members if m.worst(radius)]
        chosen = audited[median_agent(np.array(group.values("worst", radius)))]
        found, worst = chosen.rows(radius), chosen.worst(radius)
        cells = []
        for attack in attacks:
            row = found.get(attack)
            text = plus_minus(row["mean"], row["std"]) if row else ""
            paper = paper_text(group, attack, radius, published)
            cells.append(
                TableCell(text, row["mean"] if row else None, "", paper, bool(row and worst and attack == worst[0]))
            )
        seed = "" if chosen.seed is None else str(chosen.seed)
        rows.append(
            [TableCell(group.label), *cells, TableCell(seed, chosen.seed), TableCell(str(len(audited)), len(audited))]
        )
    about = (
        "As the paper reports: of N agents the one whose return under its worst attack is the median (of two the "
        "lower), mean ± standard deviation over its episodes."
    )
    headings = ["method", *map(attack_label, attacks), "seed", "of N"]
    env = groups[0].env if groups else ""
    title = f"{env}, {radius_text(radius)}: the median agent"
    return Table(f"median-agent-{env}-{slug(radius)}", title, about, headings, rows, audit_commands(groups))


def runs_table(groups: Sequence[Group], attackers: Sequence[Run]) -> Table:
    """Every training: command, versions and machine."""
    setups: dict[str, str] = {}
    rows = []
    for g in groups:
        for m in g.members:
            data = m.run.data if m.run else (m.audits or m.estimates)[0].data
            rows.append(_run_row(g.label, m.env, m.seed, m.settings.get("steps", ""), m.run, m.command, data, setups))
    for run in attackers:
        label, steps = f"{run.config['method']} (attacker)", f"{run.config.get('steps', 0):g}"
        command = str(run.data.get("command", ""))
        rows.append(_run_row(label, run.config["env"], run.config.get("seed"), steps, run, command, run.data, setups))
    about = "; ".join([f"made with {letter}: {setup}" for setup, letter in setups.items()])
    headings = ["method", "task", "seed", "steps", "hours", "made with", "command"]
    return Table("runs", "Agents", f"{about}.", headings, rows, [])


def _run_row(
    label: str,
    env: str,
    seed: int | None,
    steps: str,
    run: Run | None,
    command: str,
    data: dict[str, Any],
    setups: dict[str, str],
) -> list[TableCell]:
    """`setups` collects versions and machines under the letters A, B, ..."""
    parts = [f"{k} {v}" for part in ("versions", "machine") for k, v in data.get(part, {}).items()]
    if git := data.get("git"):
        parts.append(f"commit {git['commit'][:10]}{' with changes' if git['dirty'] else ''}")
    letter = setups.setdefault(", ".join(parts) or "unknown", f"{chr(65 + len(setups) % 26)}{len(setups) // 26 or ''}")
    hours = run.hours if run else None
    return [
        TableCell(label),
        TableCell(env),
        TableCell("" if seed is None else str(seed), seed),
        TableCell(steps),
        TableCell("" if hours is None else f"{hours:.2f}", hours),
        TableCell(letter),
        TableCell(command or "trained elsewhere"),
    ]
