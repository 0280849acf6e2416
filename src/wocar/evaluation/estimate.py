"""Estimate of the worst-attack value of a fixed policy, beside its natural value, without an attacker."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np

from wocar import __version__
from wocar.agent import Agent
from wocar.bounds import BoundMethod
from wocar.envs import takes_raw_actions
from wocar.episodes import run_episodes
from wocar.evaluation.audit_file import AuditFolder
from wocar.evaluation.estimate_flags import EstimateFlag, estimate_flags
from wocar.evaluation.worst_case import calibrate, starting_states, worst_case_of
from wocar.evaluation.worst_critic import FIT, GAMMA, collect_rollout, fit_worst_value, return_scale
from wocar.mechanisms.policy_config import WocarConfig
from wocar.mechanisms.worst_value import WorstCritic
from wocar.runtime import fingerprint
from wocar.threat import Threat
from wocar.types import Transitions, UserError


class RelaxedAttack(TypedDict):
    """Of an attacker who replaces actions inside the sets: what the critic predicts, and what he achieves."""

    estimate: float
    achieved: float
    ratio: NotRequired[float]


class EstimateRow(TypedDict):
    eps: float
    value: float
    gap: float
    """By how much the value is below that without an attack."""
    set_size: float
    relaxed_attack: RelaxedAttack
    """Over the states he meets."""
    start: RelaxedAttack
    """From the start."""


class EstimateResult(TypedDict):
    agent: NotRequired[str]
    env: str
    meta: dict[str, Any]
    gamma: float
    threat: dict[str, Any]
    """At the first radius; `Threat.from_json` reads it."""
    units: str
    steps: int
    sweeps: int
    explorations: int
    bounds: BoundMethod
    seed: int
    natural_measured: float
    radii: list[EstimateRow]
    """Without an attack, then for each radius."""
    flags: NotRequired[list[EstimateFlag]]
    """Reasons to trust the numbers less."""
    command: NotRequired[str]
    versions: NotRequired[dict[str, str]]
    machine: NotRequired[dict[str, Any]]
    git: NotRequired[dict[str, Any]]


NATURAL_EXPLORATIONS = 3
"""Without an attack there is only the policy's own action to learn about."""
SETTLED_OVER, SETTLED_WITHIN = 3, 0.05
"""A value has settled once it moved by less than this share of the natural return over so many explorations."""

OnProgress = Callable[[float, int, int, float], None]
"""(eps, explorations done, of so many, the value so far)"""


def estimate(
    agent: Agent,
    threats: Sequence[Threat],
    steps: int,
    sweeps: int,
    explorations: int,
    seed: int,
    episodes: int = 50,
    bounds: BoundMethod = "crown",
    on_radius: Callable[[float], None] | None = None,
    on_progress: OnProgress | None = None,
    folder: AuditFolder | None = None,
    quick: bool = False,
) -> EstimateResult:
    """Discounted values of the deterministic policy from its starting states, in units of return.

    `quick` ends the explorations of a radius once the value has settled. `folder` keeps finished radii.

    A lower bound where the critic is exact and rewards see actions within their range only (finite tasks). With a
    network it is an estimate: it assumes that the critic generalises from the rollouts it was fitted to, the policy's
    own and those of its explorations, to the states an attacker would lead to. How far that holds, `relaxed_attack`
    and `flags` tell.
    """
    for name, count in (("steps", steps), ("sweeps", sweeps), ("episodes", episodes)):
        if count <= 0:
            raise UserError(f"--{name} must be positive, not {count}")
    if explorations < 0:
        raise UserError(f"--explorations must be 0 or more, not {explorations}")
    if agent.recurrent:
        raise UserError("estimates are for policies without memory: the sets of actions come from bounds of a network")
    rollout = collect_rollout(agent, steps, seed)
    scale = return_scale(rollout)
    config = dataclasses.replace(FIT, bounds=bounds)
    starts = starting_states(agent, seed, episodes)
    rows: list[EstimateRow] = []
    natural = float(run_episodes(agent, episodes, seed, gamma=GAMMA).discounted.mean())
    sizes = {"steps": steps, "sweeps": sweeps, "explorations": explorations, "episodes": episodes, "quick": quick}
    for threat in [threats[0].at(0.0), *threats]:
        key = _key(agent, threat, seed, bounds, sizes)
        row: Any = folder.read(key) if folder else None
        if row is None:
            times = explorations if threat.eps else min(explorations, NATURAL_EXPLORATIONS)
            seen, how = (rollout, scale, starts), (sweeps, times, seed)
            row = _radius(agent, threat, config, seen, how, natural if quick else None, on_progress)
            if folder:
                folder.write(key, row)
        rows.append(row)
        if on_radius:
            on_radius(threat.eps)
    for row in rows:
        row["gap"] = rows[0]["value"] - row["value"]
    result: EstimateResult = {
        "env": agent.spec.id,
        "meta": agent.meta,
        "gamma": GAMMA,
        "threat": threats[0].to_json(),
        "units": "discounted return from the starting states, raw reward",
        "steps": int(rollout.rewards.size),
        "sweeps": sweeps,
        "explorations": explorations,
        "bounds": bounds,
        "seed": seed,
        "natural_measured": natural,
        "radii": rows,
    }
    result["flags"] = estimate_flags(result, _raw_share(agent, np.asarray(rollout.actions)))
    return result


def settled(values: Sequence[float], natural: float) -> bool:
    """Whether the last explorations moved the value by little, measured by the natural return."""
    last = values[-SETTLED_OVER:]
    return len(values) > SETTLED_OVER and max(last) - min(last) <= SETTLED_WITHIN * abs(natural)


def _radius(
    agent: Agent,
    threat: Threat,
    config: WocarConfig,
    seen: tuple[Transitions, float, np.ndarray],
    how: tuple[int, int, int],
    settles: float | None,
    on_progress: OnProgress | None,
) -> EstimateRow:
    """The worst-attack value at one radius. `seen`: rollout, its scale, starts; `how`: sweeps, explorations, seed.

    `settles`: the natural return, where explorations end once the value has settled.
    """
    (rollout, scale, starts), (sweeps, explorations, seed) = seen, how
    minimum, values = worst_case_of(agent, threat, config), list[float]()

    def enough(done: int, critic: WorstCritic) -> bool:
        if on_progress is None and settles is None:
            return False
        values.append(float(minimum(critic.target, starts).value.mean() * scale))
        if on_progress:
            on_progress(threat.eps, done, explorations, values[-1])
        return settles is not None and settled(values, settles)

    fitted = fit_worst_value(
        agent, threat, rollout, scale, sweeps, seed, config, explorations=explorations, enough=enough
    )
    found, check = minimum(fitted.target, starts), calibrate(agent, fitted.target, threat, scale, seed, config)
    return {
        "eps": threat.eps,
        "value": float(found.value.mean() * scale),
        "gap": 0.0,
        "set_size": float(found.size.mean()),
        "relaxed_attack": {"estimate": check.estimate, "achieved": check.achieved, "ratio": check.ratio},
        "start": {"estimate": check.start_estimate, "achieved": check.start_achieved},
    }


def _key(agent: Agent, threat: Threat, seed: int, bounds: BoundMethod, sizes: dict[str, Any]) -> dict[str, Any]:
    """All that the numbers of a radius depend on."""
    made = {"wocar": __version__, "agent": agent.digest(), "env": agent.spec.id, "numerics": fingerprint()}
    return {"attack": "estimate", **made, **threat.to_json(), "seed": seed, "bounds": bounds, **sizes}


def _raw_share(agent: Agent, actions: np.ndarray) -> float:
    """Of the policy's actions that lie outside their range though the environment takes them as they are."""
    space = agent.spec.actions
    if space.low is None or space.high is None or not takes_raw_actions(agent.spec.id):
        return 0.0
    return float(np.mean(np.any((actions < space.low) | (actions > space.high), axis=-1)))
