"""Targets: the paper's tables and figures as plans, one function each with `@target` above it.

A target says which agents are trained, how they are measured and which of the paper's numbers are shown beside.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from wocar.methods.registry import find_method
from wocar.methods.tasks import table_radii
from wocar.reproduce.commands import TrainTask
from wocar.reproduce.plan import Plan, TableRow
from wocar.reproduce.scales import ANT, CHEETAH, HOPPER, MUJOCO, SCALES, WALKER
from wocar.types import UserError

PlanBuilder = Callable[[Plan], None]


class Target(NamedTuple):
    about: str
    build: PlanBuilder
    labels: tuple[str, ...]
    """Of the paper's tables and figures whose numbers are shown beside ours."""


TARGETS: dict[str, Target] = {}


def target(name: str, about: str, *labels: str) -> Callable[[PlanBuilder], PlanBuilder]:
    """Make `wocar reproduce NAME` known; the function adds the tasks to a plan."""

    def register(build: PlanBuilder) -> PlanBuilder:
        TARGETS[name] = Target(about, build, labels)
        return build

    return register


PPO = ("ppo", "sa-ppo", "atla-ppo", "pa-atla-ppo", "radial-ppo", "wocar-ppo")
DQN = ("dqn", "sa-dqn", "radial-dqn", "wocar-dqn")
A2C = ("a2c", "sa-a2c", "pa-atla-a2c", "wocar-a2c")
TABLE = "tab:mujoco_app"
"""The paper's large table, whose numbers several figures draw."""


def _tasks(plan: Plan, shown: Sequence[str]) -> list[str]:
    """Those that the paper shows and the scale has, at least one; all those chosen by name."""
    if plan.envs is not None:
        return [env for env in MUJOCO if env in plan.envs]
    return [env for env in plan.scale.mujoco if env in shown] or [plan.scale.mujoco[0]]


def _table(plan: Plan, runs: Sequence[TrainTask], env: str) -> None:
    for run in runs:
        plan.audit(run, plan.scale.audit, table_radii(env))


@target("fig-natural-vs-worst", "natural return against worst return", TABLE)
@target("table-mujoco", "robust PPO on MuJoCo under six attacks", TABLE)
def table_mujoco(plan: Plan) -> None:
    for env in _tasks(plan, MUJOCO):
        for method in PPO:
            _table(plan, plan.agents(TableRow(method, env)), env)


@target("table-mujoco-same-steps", "the same with equal steps", "tab:mujoco_app_less")
def table_mujoco_same_steps(plan: Plan) -> None:
    for env in _tasks(plan, MUJOCO):
        for method in PPO[2:]:
            _table(plan, plan.agents(TableRow(method, env), steps=plan.scale.same_steps(method, env)), env)


@target("table-atari", "robust DQN on Atari", "tab:atari_app")
def table_atari(plan: Plan) -> None:
    for env in plan.scale.atari:
        for method in DQN:
            for run in plan.agents(TableRow(method, env)):
                plan.audit(run, plan.scale.atari_audit, table_radii(env))


@target("table-a2c", "robust A2C on BankHeist", "tab:a2c_app")
def table_a2c(plan: Plan) -> None:
    env = plan.scale.a2c
    for method in A2C:
        for run in plan.agents(TableRow(method, env)):
            plan.audit(run, plan.scale.atari_audit, table_radii(env))


@target("table-efficiency", "hours and steps of training", "efficiency")
def table_efficiency(plan: Plan) -> None:
    for env in _tasks(plan, (HOPPER, ANT)):
        for method in PPO[1:]:
            plan.agents(TableRow(method, env))


@target("fig-curves", "return under each attack during training", TABLE)
def fig_curves(plan: Plan) -> None:
    for env in _tasks(plan, MUJOCO):
        for method in PPO:
            for run in plan.agents(TableRow(method, env)):
                _at_checkpoints(plan, run, env)


def _at_checkpoints(plan: Plan, run: TrainTask, env: str) -> None:
    for at in plan.checkpoints(run):
        plan.audit(run, plan.scale.curve, table_radii(env), at)


@target("fig-worst-value", "estimated worst value beside the measured one", TABLE)
def fig_worst_value(plan: Plan) -> None:
    for env in _tasks(plan, (WALKER, ANT)):
        for method in ("ppo", "sa-ppo", "wocar-ppo"):
            for run in plan.agents(TableRow(method, env)):
                _at_checkpoints(plan, run, env)
                for at in plan.checkpoints(run):
                    plan.estimate(run, at)


@target("fig-eps", "return against eps", "fig:eps", TABLE)
def fig_eps(plan: Plan) -> None:
    for env in _tasks(plan, (HOPPER, WALKER)):
        for method in ("sa-ppo", "atla-ppo", "pa-atla-ppo", "wocar-ppo"):
            for run in plan.agents(TableRow(method, env)):
                plan.audit(run, plan.scale.sweep, plan.scale.sweep_radii(env))


@target("fig-tradeoff", "weight of the worst-attack value", "app:fig:weight", TABLE)
def fig_tradeoff(plan: Plan) -> None:
    for env in _tasks(plan, (HOPPER, WALKER, CHEETAH)):
        for method in PPO[1:]:
            _table(plan, plan.agents(TableRow(method, env)), env)
        for kappa in plan.scale.kappas:
            row = TableRow("wocar-ppo", env, f"kappa_wst={kappa:g}")
            _table(plan, plan.agents(row, {"kappa_wst": kappa}), env)


@target("fig-ablation-importance", "with and without state importance", "app:fig:abl")
def fig_ablation_importance(plan: Plan) -> None:
    """SA-PPO with w(s) is WocaR-PPO whose worst-attack value does not count."""
    for env in _tasks(plan, (CHEETAH, HOPPER, ANT, WALKER)):
        _table(plan, plan.agents(TableRow("sa-ppo", env)), env)
        weighed = TableRow("sa-ppo", env, "importance=True")
        _table(plan, plan.agents(weighed, {"kappa_wst": 0.0}, method="wocar-ppo"), env)
        _table(plan, plan.agents(TableRow("wocar-ppo", env, "importance=False"), {"importance": False}), env)
        _table(plan, plan.agents(TableRow("wocar-ppo", env)), env)


@target("fig-ablation-reg", "with and without the regulariser", "app:fig:reg")
def fig_ablation_reg(plan: Plan) -> None:
    """The method `atla-ppo` has no regulariser to leave out."""
    for env in _tasks(plan, (HOPPER, CHEETAH, ANT, WALKER)):
        for method in ("atla-ppo", "pa-atla-ppo"):
            without = {"reg": False} if find_method(plan.scale.trained_by(method)).objective else {}
            _table(plan, plan.agents(TableRow(method, env, "reg=False"), without), env)
        _table(plan, plan.agents(TableRow("wocar-ppo", env, "reg=False"), {"reg": False}), env)
        _table(plan, plan.agents(TableRow("wocar-ppo", env)), env)


@target("fig-importance-states", "states of high and of low importance", "fig:pong")
def fig_importance_states(plan: Plan) -> None:
    games = [TableRow("dqn", plan.scale.atari[0])]
    others = [
        TableRow("wocar-ppo", HOPPER) if plan.scale.name != "smoke" else TableRow("wocar-a2c", plan.scale.atari[0])
    ]
    for row in games + others:
        for run in plan.agents(row)[:1]:
            plan.states(run)


FIRST = ("ppo", "sa-ppo", "wocar-ppo", "wocar-ppo preset=robust", "sac preset=small", "wocar-sac")
THEN = ("atla-ppo", "pa-atla-ppo", "radial-ppo", "sa-sac preset=small", "valt-eps-sac preset=small")
"""Rows of the evidence by priority: a method, perhaps with a preset other than the paper's.

`small` gives SAC's methods the networks, updates and steps of WocaR-SAC.
"""
BLOCKS = ((HOPPER, CHEETAH), (WALKER, ANT))
"""Tasks of the evidence by priority; those of a block grow together."""
ABLATIONS: dict[str, dict[str, Any]] = {
    "importance=False": {"importance": False},
    "reg=False": {"reg": False},
    "kappa_wst=0": {"kappa_wst": 0.0},
    "min_std=0": {"min_std": 0.0},
    "bounds=ibp": {"bounds": "ibp"},
}


@target("evidence", "every method with seeds under one frozen suite, most important first", TABLE, "tab:atari_app")
def evidence(plan: Plan) -> None:
    """Tasks are run in the plan's order: the rows of two tasks grow by one seed at a time, each agent audited at once.

    Wherever it is stopped, the rows of a block that are still to grow differ by one seed at most.
    """
    how = plan.scale.evidence
    asked = {env: plan.seeds or seeds for env, seeds in how.tasks.items() if plan.envs is None or env in plan.envs}
    for rows, block in product((FIRST, THEN), BLOCKS):
        for seed, env, row in product(range(max(asked.values(), default=0)), block, rows):
            if seed < asked.get(env, 0):
                _evidence_row(plan, row, env, seed)
    for seed in range(plan.seeds or how.tasks[HOPPER]) if how.ablations else ():
        for variant, settings in ABLATIONS.items():
            _evidence_row(plan, "wocar-ppo preset=robust", HOPPER, seed, variant, settings)
    for env, seeds in how.games.items():
        for method in ("dqn", "sa-dqn", "wocar-dqn"):
            for run in plan.agents(TableRow(method, env), seeds=range(plan.seeds or seeds)):
                plan.audit(run, plan.scale.atari_audit, table_radii(env))


def _evidence_row(
    plan: Plan, name: str, env: str, seed: int, variant: str = "", settings: dict[str, Any] | None = None
) -> None:
    method, _, preset = name.partition(" preset=")
    row = TableRow(method, env, ", ".join(filter(None, (f"preset={preset}" if preset else "", variant))))
    steps = plan.scale.evidence_steps(method, env, preset)
    for run in plan.agents(row, settings, steps=steps, preset=preset, seeds=[seed]):
        plan.audit(run, plan.scale.evidence.audit, table_radii(env))


def make_plan(
    target: str,
    scale: str,
    envs: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
) -> Plan:
    if target not in TARGETS:
        raise UserError(f"unknown target {target!r}; targets: {', '.join(TARGETS)}")
    if scale not in SCALES:
        raise UserError(f"unknown scale {scale!r}; scales: {', '.join(SCALES)}")
    if seeds is not None and seeds <= 0:
        raise UserError(f"--seeds must be positive, not {seeds}")
    plan = Plan(target, SCALES[scale], TARGETS[target].labels, _chosen(envs), _chosen(methods), seeds)
    TARGETS[target].build(plan)
    return plan


def _chosen(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return tuple(names) if names is not None else None
