"""Matrix of the evidence: for each task and method the seeds that are done, the median agent, statistics over seeds.

Agents are compared where the same suite attacked them at the same radius.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wocar.evaluation.seed_statistics import Estimate, episodes_estimate, median_agent, probability_of_improvement
from wocar.report.groups import Group, method_label
from wocar.report.labels import attack_label, number
from wocar.report.model import Table, TableCell
from wocar.report.variants import rounded_steps

BASELINE = "ppo"
Asked = Mapping[tuple[str, str, str], int]
"""Row (task, method, variant) to the number of its seeds."""


class AuditedAgent(NamedTuple):
    """What the matrix takes from an audit."""

    seed: int | None
    steps: int | None
    suite: str
    """Its name, or the attacks that were asked for by name."""
    eps: float
    natural: float
    worst: float
    attack: str
    """The worst one."""
    returns: np.ndarray
    """Of the episodes under it."""

    @property
    def attacked_by(self) -> tuple[str, float]:
        return self.suite, self.eps


def audited_agent(audit: Mapping[str, Any]) -> AuditedAgent:
    """The agent of an audit at its first radius."""
    rows, meta = audit["attacks"], audit.get("meta", {})
    worst, natural = rows[audit["worst"]], rows.get("none", rows[audit["worst"]])
    suite = audit.get("suite") or {"name": ", ".join(rows)}
    eps = max(row["eps"] for row in rows.values())
    returns = np.array(worst.get("returns") or [worst["mean"]], np.float64)
    found = (suite["name"], eps, natural["mean"], worst["mean"], audit["worst"], returns)
    return AuditedAgent(meta.get("seed"), meta.get("steps"), *found)


@dataclass(frozen=True)
class MatrixRow:
    """A method on a task."""

    env: str
    method: str
    variant: str
    asked: int
    """Number of seeds."""
    agents: Sequence[AuditedAgent]
    """Those that are done, by one suite."""

    @property
    def label(self) -> str:
        return method_label(self.method, self.variant)

    @property
    def median(self) -> AuditedAgent:
        """By worst return; of two in the middle the lower."""
        return self.agents[median_agent(self.worst)]

    @property
    def worst(self) -> np.ndarray:
        return np.array([agent.worst for agent in self.agents])

    @property
    def iqm(self) -> Estimate:
        """Interquartile mean of the returns under the worst attacks, over seeds and episodes."""
        return episodes_estimate([agent.returns for agent in self.agents])

    def improvement(self, other: "MatrixRow") -> Estimate | None:
        """Probability that a seed of this row has a higher worst return than one of the other; None without both."""
        if self is other or not self.agents or not other.agents or self.env != other.env:
            return None
        if {agent.attacked_by for agent in self.agents} != {agent.attacked_by for agent in other.agents}:
            return None
        return probability_of_improvement([self.worst], [other.worst])


def rows_of_groups(groups: Sequence[Group], asked: Asked) -> list[MatrixRow]:
    """The rows that a plan asks for, in its order."""
    found = {(group.env, group.method, group.variant): group for group in groups}
    return [
        MatrixRow(*key, seeds, [audited_agent(m.audits[0].data) for m in found[key].members if m.audits])
        if key in found
        else MatrixRow(*key, seeds, [])
        for key, seeds in asked.items()
    ]


def matrix_table(rows: Sequence[MatrixRow]) -> Table:
    """A line for each row, those that were not run too."""
    lines = []
    for row in rows:
        head = [TableCell(f"{row.env}: {row.label}"), TableCell(f"{len(row.agents)} of {row.asked}", len(row.agents))]
        lines.append([*head, *(_cells(row, rows) if row.agents else [TableCell("not run"), *[TableCell("")] * 5])])
    suites = "; ".join(dict.fromkeys(agent.suite for row in rows for agent in row.agents)) or "no suite yet"
    about = (
        "Seeds that are done of those asked for; the median agent by worst return (of two the lower), its return "
        "without attack and under its worst attack; interquartile mean (IQM) of the returns under the worst attacks "
        "over seeds and episodes, with a 95 % bootstrap interval over both, of a single seed over its episodes; "
        f"probability that a seed keeps more than one of PPO. Attacked by {suites}."
    )
    headings = ["task: method", "seeds", "natural", "worst", "worst: IQM", "better than PPO", "steps", "attacked by"]
    return Table("matrix", "Seeds, median agents, statistics", about, headings, lines, [])


def _cells(row: MatrixRow, rows: Sequence[MatrixRow]) -> list[TableCell]:
    agent, iqm = row.median, row.iqm
    return [
        TableCell(number(agent.natural), agent.natural),
        TableCell(number(agent.worst), agent.worst, attack_label(agent.attack)),
        TableCell(number(iqm.value), iqm.value, f"{number(iqm.low)} .. {number(iqm.high)}"),
        improvement_cell(row, baseline(row, rows)),
        TableCell(rounded_steps(agent.steps) if agent.steps else "", agent.steps),
        TableCell(agent.suite),
    ]


def baseline(row: MatrixRow, rows: Sequence[MatrixRow]) -> MatrixRow | None:
    """PPO on the same task."""
    return next((other for other in rows if (other.env, other.method, other.variant) == (row.env, BASELINE, "")), None)


def improvement_cell(row: MatrixRow, other: MatrixRow | None) -> TableCell:
    """Without an interval where a side has one seed: the bootstrap resamples seeds."""
    found = row.improvement(other) if other else None
    if found is None or other is None:
        return TableCell("")
    few = min(len(row.agents), len(other.agents)) < 2
    return TableCell(f"{found.value:.2f}", found.value, "" if few else f"{found.low:.2f} .. {found.high:.2f}")


def matrix_json(rows: Sequence[MatrixRow]) -> list[dict[str, Any]]:
    """The numbers of the table."""
    return [_json(row, rows) for row in rows]


def _json(row: MatrixRow, rows: Sequence[MatrixRow]) -> dict[str, Any]:
    found: dict[str, Any] = {"env": row.env, "method": row.method, "variant": row.variant, "asked": row.asked}
    found["seeds"] = [agent.seed for agent in row.agents]
    if row.agents:
        agent, other = row.median, baseline(row, rows)
        better = row.improvement(other) if other else None
        found |= {"suite": agent.suite, "eps": agent.eps, "steps": agent.steps}
        shown = ("seed", "natural", "worst", "attack")
        found["median"] = {name: value for name, value in agent._asdict().items() if name in shown}
        found |= {"worst": row.worst.tolist(), "iqm": row.iqm._asdict()}
        found["better than PPO"] = better and better._asdict()
    return found
