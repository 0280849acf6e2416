"""The paper's tables and figures as plans: which agents are trained, how they are measured, what is shown beside."""

from collections.abc import Sequence

from wocar.reproduce.plan import Plan, PlanBuilder, TableRow
from wocar.reproduce.scales import ANT, CHEETAH, HOPPER, MUJOCO, SCALES, WALKER, eps_of
from wocar.reproduce.tasks import Task
from wocar.types import UserError

PPO = ("ppo", "sa-ppo", "atla-ppo", "pa-atla-ppo", "radial-ppo", "wocar-ppo")
DQN = ("dqn", "sa-dqn", "radial-dqn", "wocar-dqn")
A2C = ("a2c", "sa-a2c", "pa-atla-a2c", "wocar-a2c")


def _tasks(plan: Plan, shown: Sequence[str]) -> list[str]:
    """Those that the paper shows, as far as the scale reaches; asked for by name, any of them; at least one."""
    if plan.envs is not None:
        return [env for env in MUJOCO if env in plan.envs]
    return [env for env in plan.scale.mujoco if env in shown] or [plan.scale.mujoco[0]]


def _table(plan: Plan, runs: Sequence[Task], env: str) -> None:
    for run in runs:
        plan.audit(run, plan.scale.audit, eps_of(env))


def table_mujoco(plan: Plan) -> None:
    for env in _tasks(plan, MUJOCO):
        for method in PPO:
            _table(plan, plan.agents(TableRow(method, env)), env)


def table_mujoco_same_steps(plan: Plan) -> None:
    for env in _tasks(plan, MUJOCO):
        for method in PPO[2:]:
            _table(plan, plan.agents(TableRow(method, env), steps=plan.scale.same_steps(method, env)), env)


def table_atari(plan: Plan) -> None:
    for env in plan.scale.atari:
        for method in DQN:
            for run in plan.agents(TableRow(method, env)):
                plan.audit(run, plan.scale.atari_audit, eps_of(env))


def table_a2c(plan: Plan) -> None:
    env = plan.scale.a2c
    for method in A2C:
        for run in plan.agents(TableRow(method, env)):
            plan.audit(run, plan.scale.atari_audit, eps_of(env))


def table_efficiency(plan: Plan) -> None:
    for env in _tasks(plan, (HOPPER, ANT)):
        for method in PPO[1:]:
            plan.agents(TableRow(method, env))


def fig_curves(plan: Plan) -> None:
    for env in _tasks(plan, MUJOCO):
        for method in PPO:
            for run in plan.agents(TableRow(method, env)):
                _at_checkpoints(plan, run, env)


def _at_checkpoints(plan: Plan, run: Task, env: str) -> None:
    for at in plan.checkpoints(run):
        plan.audit(run, plan.scale.curve, eps_of(env), at)


def fig_worst_value(plan: Plan) -> None:
    for env in _tasks(plan, (WALKER, ANT)):
        for method in ("ppo", "sa-ppo", "wocar-ppo"):
            for run in plan.agents(TableRow(method, env)):
                _at_checkpoints(plan, run, env)
                for at in plan.checkpoints(run):
                    plan.estimate(run, at)


def fig_eps(plan: Plan) -> None:
    for env in _tasks(plan, (HOPPER, WALKER)):
        for method in ("sa-ppo", "atla-ppo", "pa-atla-ppo", "wocar-ppo"):
            for run in plan.agents(TableRow(method, env)):
                plan.audit(run, plan.scale.sweep, plan.scale.sweep_radii(env))


def fig_tradeoff(plan: Plan) -> None:
    for env in _tasks(plan, (HOPPER, WALKER, CHEETAH)):
        for method in PPO[1:]:
            _table(plan, plan.agents(TableRow(method, env)), env)
        for kappa in plan.scale.kappas:
            row = TableRow("wocar-ppo", env, f"kappa_wst={kappa:g}")
            _table(plan, plan.agents(row, ("--kappa-wst", f"{kappa:g}")), env)


def fig_ablation_importance(plan: Plan) -> None:
    """SA-PPO with w(s) is WocaR-PPO whose worst-attack value does not count."""
    for env in _tasks(plan, (CHEETAH, HOPPER, ANT, WALKER)):
        _table(plan, plan.agents(TableRow("sa-ppo", env)), env)
        weighed = TableRow("sa-ppo", env, "importance=True")
        _table(plan, plan.agents(weighed, ("--kappa-wst", "0"), method="wocar-ppo"), env)
        _table(plan, plan.agents(TableRow("wocar-ppo", env, "importance=False"), ("--no-importance",)), env)
        _table(plan, plan.agents(TableRow("wocar-ppo", env)), env)


def fig_ablation_reg(plan: Plan) -> None:
    """The method `atla-ppo` has no regulariser to leave out."""
    for env in _tasks(plan, (HOPPER, CHEETAH, ANT, WALKER)):
        for method in ("atla-ppo", "pa-atla-ppo"):
            without = () if (method, plan.scale.atla) == ("atla-ppo", "atla-ppo") else ("--no-reg",)
            _table(plan, plan.agents(TableRow(method, env, "reg=False"), without), env)
        _table(plan, plan.agents(TableRow("wocar-ppo", env, "reg=False"), ("--no-reg",)), env)
        _table(plan, plan.agents(TableRow("wocar-ppo", env)), env)


def fig_importance_states(plan: Plan) -> None:
    games = [TableRow("dqn", plan.scale.atari[0])]
    others = [
        TableRow("wocar-ppo", HOPPER) if plan.scale.name != "smoke" else TableRow("wocar-a2c", plan.scale.atari[0])
    ]
    for row in games + others:
        for run in plan.agents(row)[:1]:
            plan.states(run)


TABLES = ("tab:mujoco_app",)
TARGETS: dict[str, tuple[str, PlanBuilder, tuple[str, ...]]] = {
    "table-mujoco": ("robust PPO on MuJoCo under six attacks", table_mujoco, TABLES),
    "table-mujoco-same-steps": ("the same with equal steps", table_mujoco_same_steps, ("tab:mujoco_app_less",)),
    "table-atari": ("robust DQN on Atari", table_atari, ("tab:atari_app",)),
    "table-a2c": ("robust A2C on BankHeist", table_a2c, ("tab:a2c_app",)),
    "table-efficiency": ("hours and steps of training", table_efficiency, ("efficiency",)),
    "fig-curves": ("return under each attack during training", fig_curves, TABLES),
    "fig-natural-vs-worst": ("natural return against worst return", table_mujoco, TABLES),
    "fig-eps": ("return against eps", fig_eps, ("fig:eps", *TABLES)),
    "fig-worst-value": ("estimated worst value beside the measured one", fig_worst_value, TABLES),
    "fig-tradeoff": ("weight of the worst-attack value", fig_tradeoff, ("app:fig:weight", *TABLES)),
    "fig-ablation-importance": ("with and without state importance", fig_ablation_importance, ("app:fig:abl",)),
    "fig-ablation-reg": ("with and without the regulariser", fig_ablation_reg, ("app:fig:reg",)),
    "fig-importance-states": ("states of high and of low importance", fig_importance_states, ("fig:pong",)),
}
"""Name to what it shows, its plan, and the labels of the paper's tables and figures."""


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
    _, build, labels = TARGETS[target]
    chosen = tuple(envs) if envs is not None else None
    plan = Plan(target, SCALES[scale], labels, chosen, tuple(methods) if methods is not None else None, seeds)
    build(plan)
    return plan
