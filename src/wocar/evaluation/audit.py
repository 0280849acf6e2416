"""Audit: the returns of one agent without attack and under attacks, as plain data.

The worst setting of each attack, and the worst attack, are selected on episodes of their own and reported on fresh
ones. Every finished cell (attack, settings, radius, episodes) is kept, so that a killed audit continues.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from wocar import __version__
from wocar.agent import Agent
from wocar.envs import env_spec
from wocar.envs.time_limit import with_time_limit, without_time_limit
from wocar.evaluation.attack_context import AttackContext, TrainAttacker, Trained
from wocar.evaluation.attack_registry import GREEDY_WORST_CASE, kind_of
from wocar.evaluation.audit_cell import AuditCell, run_cell
from wocar.evaluation.audit_file import AuditFolder
from wocar.evaluation.audit_result import AuditPoint, AuditResult, AuditRow, AuditSuite, CellResult, Selection
from wocar.evaluation.flags import distinct, flags_of
from wocar.evaluation.frozen_suites import AttackSettings
from wocar.evaluation.moved_dimensions import dimension_names
from wocar.evaluation.suites import AuditPlan, suite_digest
from wocar.runtime import fingerprint
from wocar.threat import Threat
from wocar.types import UserError, require_compatible

Try = tuple[AttackSettings, CellResult]
"""Settings, with the steps that a rung gave them, and what they did on the episodes of selection."""
ROWS = 2
"""Version of what a cell holds: those of another version are run again."""


class AuditObserver:
    """What an audit reports while it runs. This one ignores it."""

    def threat(self, source: str) -> None:
        """Where the radius comes from, in words."""

    def start(self, episodes: int, rows: int) -> None:
        """So many episodes will be run in all, for so many rows: attacks at a radius."""

    def stage(self, attack: str, eps: float, words: str) -> None:
        """An attack is being trained, selected or reported."""

    def episodes(self, n: int, kept: bool = False) -> None:
        """n more episodes have ended, or were found finished."""

    def row(self, attack: str, row: AuditRow) -> None:
        """An attack is done at one radius."""

    def parts(self, run: int, reused: int, refused: int) -> None:
        """At the end: parts that were run, that the folder held, and that it held without our signature."""


def audit(
    agent: Agent,
    plan: AuditPlan,
    folder: AuditFolder,
    train: TrainAttacker | None = None,
    given: Mapping[str, Any] | None = None,
    watch: AuditObserver | None = None,
    training_return: float | None = None,
    source: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> AuditResult:
    """Mean, std and confidence interval of raw returns for each attack and radius, the worst, and the flags.

    `train` trains learned attackers; `given` are trained ones, by the hash in the plan's settings of `trained:NAME`.
    `source` says where the agent lies, `provenance` how the result was made: both go into it as they are.
    """
    plan.check()
    context = AttackContext(_moved(agent, plan), plan.seed, train, given)
    result = _Audit(agent.digest(), context, plan, folder, watch or AuditObserver()).result(training_return)
    if watch:
        watch.parts(folder.made, folder.reused, folder.refused)
    where: Any = {} if source is None else {"agent": source}
    made: Any = provenance or {}
    return {**where, **result, **made}


class _Audit:
    def __init__(
        self, digest: str, context: AttackContext, plan: AuditPlan, folder: AuditFolder, watch: AuditObserver
    ) -> None:
        self.digest, self.context, self.plan, self.folder, self.watch = digest, context, plan, folder, watch
        self.agent = context.agent
        for threat in plan.threats:
            threat.check_dimensions(self.agent.spec)
        self.skipped = self._skipped()
        self.grids = {name: grid for name, grid in plan.attacks.items() if name not in self.skipped}
        if not self.grids:
            raise UserError(f"no attack of the suite applies: {'; '.join(self.skipped.values())}")
        self.certifying = _certifiable(self.agent) and any(
            kind_of(n).on == "observation" for n in self.grids if n != "none"
        )
        self.reported: dict[str, dict[int, Trained]] = {}
        """The attacks of the rows of one radius, as far as they had to be made."""
        self.selecting = sum(map(len, self.grids.values())) > 1

    def result(self, training_return: float | None) -> AuditResult:
        plan = self.plan
        tried = sum(map(self._tries, self.grids)) * plan.select_episodes if self.selecting else 0
        reported = len(self.grids) + self.certifying + min(plan.finalists, len(self.grids))
        rows = len(plan.threats) * (len(self.grids) + self.certifying)
        self.watch.start(len(plan.threats) * (tried + reported * plan.episodes), rows)
        curve = [self._radius(threat) for threat in plan.threats]
        flags = (flag for point in curve for flag in flags_of(point["attacks"], point["worst"], training_return))
        result: AuditResult = {
            "env": plan.env or without_time_limit(self.agent.spec.id)[0],
            "meta": self.agent.meta,
            "agent_sha256": self.digest,
            "suite": _suite(plan),
            "norm": plan.threats[0].norm,
            "threat": plan.threats[0].to_json(),
            "seeds": {"report": plan.seed, "select": plan.select_seed, "attackers": plan.seed},
            "attacks": curve[0]["attacks"],
            "worst": curve[0]["worst"],
            "skipped": self.skipped,
            "flags": distinct(flags),
        }
        if names := dimension_names(self.agent, result["env"]):
            result["dimensions"] = names
        if self.certifying:
            result["certified"] = curve[0]["certified"]
        if len(curve) > 1:
            result["curve"] = curve
        return result

    def _tries(self, name: str) -> int:
        """How often settings of an attack are tried in its selection."""
        count = tries = len(self.grids[name])
        for _, keep in self.plan.rungs if kind_of(name).needs == "trainer" else ():
            if count > keep:
                count = keep
                tries += keep
        return tries

    def _skipped(self) -> dict[str, str]:
        """Attacks of the suite that do not apply to this agent; asked for by name, they are a mistake."""
        reasons = {name: kind_of(name).lacking(self.context, self.plan.threats[0]) for name in self.plan.attacks}
        skipped = {name: reason for name, reason in reasons.items() if reason}
        if skipped and self.plan.suite is None:
            name, reason = next(iter(skipped.items()))
            raise UserError(f"{name} does not apply: {reason}")
        return skipped

    def _radius(self, threat: Threat) -> AuditPoint:
        rows: dict[str, AuditRow] = {}
        for name, grid in self.grids.items():
            rows[name] = self._row(name, grid, threat, rows)
            self.watch.row(name, rows[name])
        worst = self._final(rows, threat)
        point: AuditPoint = {"eps": threat.eps, "worst": worst, "attacks": rows}
        if self.certifying:
            point["certified"] = self._certified(threat)
            self.watch.row("gwc", point["certified"])
        return point

    def _certified(self, threat: Threat) -> AuditRow:
        """The greedy worst case by bounds, on the episodes of the report."""
        plan, kind = self.plan, GREEDY_WORST_CASE
        cell = AuditCell("gwc", kind, {}, threat, plan.episodes, plan.seed)
        return {**self._cell(cell, "bounding", {}, 0), "family": kind.family}

    def _row(self, name: str, grid: list[AttackSettings], asked: Threat, rows: dict[str, AuditRow]) -> AuditRow:
        """The attack's worst setting by selection, on fresh episodes."""
        plan, kind = self.plan, kind_of(name)
        threat = kind.threat(asked)
        taken_over = rows[kind.after]["parameters"] if kind.after in rows else {}
        grid = [{**taken_over, **settings} for settings in grid]
        made: dict[int, Trained] = {}
        tried = self._select(name, grid, threat, made) if self.selecting else {}
        chosen, best = min(((i, t) for i in tried for t in tried[i]), key=_strength, default=(0, None))
        settings = grid[0] if best is None else best[0]
        if best is not None and best is not tried[chosen][-1]:
            made.clear()  # more steps made it weaker: the attacker of an earlier rung is in its folder
        cell = AuditCell(name, kind, settings, threat, plan.episodes, plan.seed)
        reported = self._cell(cell, "reporting", made, chosen)
        self.reported[name] = {0: made[chosen]} if chosen in made else {}
        row: AuditRow = {**reported, "family": kind.family, "parameters": settings}
        if best is not None:
            row["select"] = _selection(best[1])
        if len(grid) > 1:
            row["grid"] = [{**asked, "mean": found["mean"]} for tries in tried.values() for asked, found in tries]
        if best is not None and len(tried[chosen]) > 1:
            row["budget_curve"] = [{**_selection(found), "steps": asked["steps"]} for asked, found in tried[chosen]]
        return row

    def _select(
        self, name: str, grid: list[AttackSettings], threat: Threat, made: dict[int, Trained]
    ) -> dict[int, list[Try]]:
        """Of each setting, how it was tried on the episodes of selection. `made` keeps the worst of the last rung.

        Learned attackers are halved: each rung of the plan trains them for a share of their steps.
        """
        plan, kind = self.plan, kind_of(name)
        tried: dict[int, list[Try]] = {}

        def strength(i: int) -> float:
            return tried[i][-1][1]["mean"]

        left = list(range(len(grid)))
        rungs = plan.rungs if kind.needs == "trainer" else ()
        for share, keep in (*rungs, (1.0, 1)):
            if len(left) <= keep and share < 1:
                continue
            made.clear()
            for k, i in enumerate(left):
                settings = grid[i] if share == 1 else {**grid[i], "steps": round(share * grid[i]["steps"])}
                cell = AuditCell(name, kind, settings, threat, plan.select_episodes, plan.select_seed)
                found = self._cell(cell, f"selecting {k + 1}/{len(left)}", made, i)
                tried.setdefault(i, []).append((settings, found))
                worst = min(left[: k + 1], key=strength)
                for other in made.keys() - {worst}:
                    del made[other]
            left = sorted(left, key=strength)[:keep]
        return tried

    def _final(self, rows: dict[str, AuditRow], threat: Threat) -> str:
        """The worst attack: of the finalists on episodes of their own, so that a large grid is no advantage."""
        plan = self.plan
        ranked = sorted(rows, key=lambda name: _selected(rows[name]))
        if not plan.finalists:
            return ranked[0]
        finalists = ranked[: plan.finalists]
        for name in finalists:
            kind, settings = kind_of(name), rows[name]["parameters"]
            cell = AuditCell(name, kind, settings, kind.threat(threat), plan.episodes, plan.final_seed)
            rows[name]["final"] = _selection(self._cell(cell, "comparing", self.reported[name], 0))
        return min(finalists, key=lambda name: rows[name]["final"]["mean"])

    def _cell(self, cell: AuditCell, words: str, made: dict[int, Trained], at: int) -> CellResult:
        """The cell from the folder, or run and kept there. An attack once made is in `made`."""
        attack = {"attack": cell.name, "settings": cell.settings, **_key(cell.threat)}
        common = {"wocar": __version__, "agent": self.digest, "env": self.agent.spec.id, "seed": self.plan.seed}
        common |= {"numerics": fingerprint()}
        key = {**common, **attack, "episodes": cell.episodes, "episode_seed": cell.seed, "rows": ROWS}
        found = self.folder.read(key)
        if found is not None:
            self.watch.episodes(cell.episodes, kept=True)
            return found
        if at not in made:
            self.watch.stage(cell.name, cell.threat.eps, "training" if cell.kind.needs == "trainer" else "preparing")
            made[at] = cell.kind.made(
                self.context, cell.threat, self.folder.folder({**common, **attack}), cell.settings
            )
        self.watch.stage(cell.name, cell.threat.eps, words)
        result = run_cell(self.agent, cell, made[at], self.watch.episodes)
        self.folder.write(key, result)
        return result


def _strength(tried: tuple[int, Try]) -> float:
    return tried[1][1]["mean"]


def _selection(cell: CellResult) -> Selection:
    return {"mean": cell["mean"], "std": cell["std"], "episodes": cell["episodes"], "seed": cell["seed"]}


def _selected(row: AuditRow) -> float:
    """The mean by which attacks are compared: on episodes of selection, where there were any."""
    return row["select"]["mean"] if "select" in row else row["mean"]


def _key(threat: Threat) -> dict[str, Any]:
    """What of a threat tells cells apart; an attack's name says what it moves."""
    data = threat.to_json()
    usual = {"on": threat.on, "units": "normalised", "radii": None}
    return {name: value for name, value in data.items() if name not in usual or value != usual[name]}


def _moved(agent: Agent, plan: AuditPlan) -> Agent:
    """The agent in the environment of the audit, which ends every episode at some time."""
    env = plan.env or agent.spec.id
    require_compatible(agent.spec, env_spec(env))
    return dataclasses.replace(agent, spec=agent.spec._replace(id=with_time_limit(env, plan.max_steps)))


def _certifiable(agent: Agent) -> bool:
    """Whether bounds of the policy tell which of its actions an attacker can cause."""
    return agent.spec.actions.discrete and not agent.recurrent and not agent.black_box


def _suite(plan: AuditPlan) -> AuditSuite | None:
    if plan.suite is None:
        return None
    return {"name": plan.suite, "sha256": suite_digest(plan.suite), "changes": list(plan.changes)}
