"""Matrix of the evidence in docs/results.md, from every committed audit of our agents by `fast-v2` or `mujoco-v2`.

Rows, seeds and steps are those of `wocar reproduce evidence --scale paper`. A file called as `--collect` calls it,
METHOD[-VARIANT]-TASK-sSEED.json, says its row; `OLDER` says it of the rest. `--check` fails where the page has drifted.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from wocar.report.matrix import AuditedAgent, MatrixRow, audited_agent, improvement_cell
from wocar.report.variants import rounded_steps
from wocar.reproduce.collect import asked_seeds, row_name
from wocar.reproduce.commands import TrainTask
from wocar.reproduce.plan import TableRow
from wocar.reproduce.scales import MUJOCO
from wocar.reproduce.targets import make_plan

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "results", ROOT / "docs" / "results.md"
SUITES = ("mujoco-v2", "fast-v2")
"""The stronger first."""
TASKS = ("Hopper-v4", "HalfCheetah-v4", "Walker2d-v4", "Ant-v4")
OTHER = "other settings"
CHOSEN_ON = 100
"""Settings were chosen on this seed and those after it."""
OURS = ("wocar-ppo", "wocar-sac")
OLDER = {
    "robust-sac/*/*": OTHER,
    "robust-sac/*": "",
    "what-works/Hopper-wocar-ppo-long-s*": "preset=robust",
    "what-works/Walker2d-wocar-ppo-hunts-s*": "preset=robust",
    "what-works/*-wocar-ppo-4M-s*": "preset=robust",
    "what-works/Ant-wocar-ppo-s*": "preset=robust",
    "what-works/*": OTHER,
    "strongest/wocar-ppo-*": OTHER,
}
"""Files whose names do not say the variant; the first pattern that fits counts."""
Key = tuple[str, str, str]
"""Of a row: task, method, variant."""
MARKS = "<!-- matrix -->\n", "<!-- /matrix -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check, old = parser.parse_args().check, PAGE.read_text()
    new = filled(old, matrix(RESULTS))
    if check and new != old:
        sys.exit(f"{PAGE.relative_to(ROOT)} differs from the committed results: make tables")
    if new != old:
        PAGE.write_text(new)


def filled(page: str, text: str) -> str:
    """The page with this text between its marks."""
    before, rest = page.split(MARKS[0])
    return f"{before}{MARKS[0]}{text}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def matrix(results: Path) -> str:
    rows, steps = asked()
    found = audits(results, rows)
    done = [filled_row(row, found.get(_key(row), [])) for row in rows]
    parts = [grid(done, steps), details(done), improvements(done)]
    return "\n\n".join(parts)


def asked() -> tuple[list[MatrixRow], dict[Key, int]]:
    """The rows of the plan without its ablations, and the steps that each asks for."""
    plan = make_plan("evidence", "paper", envs=MUJOCO)
    rows = [
        MatrixRow(row.env, row.method, row.variant, seeds, [])
        for row, seeds in asked_seeds(plan).items()
        if row.variant in ("", "preset=robust", "preset=small")
    ]
    trained = [task for task in plan.tasks if isinstance(task, TrainTask) and task.key in plan.rows]
    return rows, {_key(plan.rows[task.key]): task.steps for task in trained}


def _key(row: TableRow | MatrixRow) -> Key:
    return row.env, row.method, row.variant


def audits(results: Path, rows: Sequence[MatrixRow]) -> dict[Key, list[AuditedAgent]]:
    """Row to its audits; agents of others have no seed."""
    found: dict[Key, list[AuditedAgent]] = {}
    for file in sorted(results.glob("**/*.json")):
        data = json.loads(file.read_text())
        ours = isinstance(data, dict) and "attacks" in data and data.get("meta", {}).get("seed") is not None
        if ours and (data.get("suite") or {}).get("name") in SUITES:
            found.setdefault(row_of(file.relative_to(results), data, rows), []).append(audited_agent(data))
    return found


def row_of(file: Path, audit: dict[str, Any], rows: Sequence[MatrixRow]) -> Key:
    """The row that a file belongs to; one with other settings belongs to none that is asked for."""
    env, meta = audit["env"], audit["meta"]
    for pattern, variant in OLDER.items():
        if fnmatch(str(file), pattern):
            return env, meta["method"], variant
    end = f"-{env}-s{meta['seed']}"
    if not file.stem.endswith(end):
        sys.exit(f"results/{file}: name it METHOD[-VARIANT]-TASK-sSEED.json, or add it to OLDER of scripts/matrix.py")
    names = {row_name(row.method, row.variant): _key(row) for row in rows if row.env == env}
    return names.get(file.stem.removesuffix(end), (env, meta["method"], OTHER))


def filled_row(row: MatrixRow, agents: Sequence[AuditedAgent]) -> MatrixRow:
    """The row with its seeds under one suite: that of most seeds, of as many the stronger."""
    by_suite = []
    for suite in SUITES:
        seeds: dict[int, AuditedAgent] = {}
        for agent in agents:
            if agent.suite == suite and agent.seed in range(CHOSEN_ON):
                seeds[agent.seed] = max(seeds.get(agent.seed, agent), agent, key=lambda one: len(one.returns))
        by_suite.append(dict(sorted(seeds.items())[: row.asked]))
    best = max(by_suite, key=len)
    return MatrixRow(*_key(row), row.asked, [best[seed] for seed in sorted(best)])


def grid(rows: Sequence[MatrixRow], steps: dict[Key, int]) -> str:
    """Methods and tasks: seeds done of those asked for, natural / worst return of the median agent, the suite."""
    cells = {_key(row): cell(row, steps[_key(row)]) for row in rows}
    lines = [f"| method | {' | '.join(TASKS)} |", f"|---|{'---|' * len(TASKS)}"]
    for method, variant, label in dict.fromkeys((row.method, row.variant, row.label) for row in rows):
        lines.append(f"| {label} | {' | '.join(cells[env, method, variant] for env in TASKS)} |")
    return "\n".join(lines)


def cell(row: MatrixRow, steps: int) -> str:
    if not row.agents:
        return f"not run (0 of {row.asked})"
    agent = row.median
    short = min(one.steps or steps for one in row.agents) < 0.95 * steps
    note = f", {taken(row)} of {rounded_steps(steps)} steps" if short else ""
    return f"{len(row.agents)} of {row.asked}: {agent.natural:.0f} / **{agent.worst:.0f}**, {agent.suite}{note}"


def taken(row: MatrixRow) -> str:
    """The steps of its agents."""
    return ", ".join(rounded_steps(steps) for steps in sorted({agent.steps or 0 for agent in row.agents}))


def details(rows: Sequence[MatrixRow]) -> str:
    """Of each row that has seeds: statistics of the returns under the worst attacks."""
    lines = ["| task, eps | method | steps | worst of every seed | IQM of worst | 95 % interval | episodes | suite |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---|")
    for row in rows:
        if row.agents:
            agent, iqm = row.median, row.iqm
            seeds = ", ".join(f"{worst:.0f}" for worst in row.worst)
            episodes = ", ".join(sorted({str(len(one.returns)) for one in row.agents}))
            cells = (f"{row.env}, {agent.eps:g}", row.label, taken(row), seeds)
            cells = (*cells, f"{iqm.value:.0f}", f"{iqm.low:.0f} to {iqm.high:.0f}", episodes, agent.suite)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def improvements(rows: Sequence[MatrixRow]) -> str:
    """WocaR over each baseline on the same task under the same suite, where both have seeds."""
    found = list(_pairs(rows))
    if not found:
        return "Probability of improvement of WocaR over a baseline: no baseline has an audit by these suites yet."
    lines = ["| task | WocaR | over | probability that a seed keeps more | 95 % interval |", "|---|---|---|---:|---:|"]
    return "\n".join(lines + [f"| {' | '.join(pair)} |" for pair in found])


def _pairs(rows: Sequence[MatrixRow]) -> Iterator[tuple[str, ...]]:
    for ours in rows:
        for theirs in rows:
            if ours.method in OURS and theirs.method not in OURS:
                chance = improvement_cell(ours, theirs)
                if chance.value is not None:
                    yield ours.env, ours.label, theirs.label, chance.text, chance.note or "one seed"


if __name__ == "__main__":
    main()
