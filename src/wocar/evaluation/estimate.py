"""Estimate of the worst-attack value of a fixed policy, beside its natural value, without an attacker."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NotRequired, TypedDict

from wocar.agent import Agent
from wocar.bounds import BoundMethod
from wocar.episodes import run_episodes
from wocar.evaluation.worst_case import calibrate, starting_states, worst_case
from wocar.evaluation.worst_critic import FIT, GAMMA, collect_rollout, fit_worst_value, return_scale
from wocar.threat import Threat
from wocar.types import UserError


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
    command: NotRequired[str]
    versions: NotRequired[dict[str, str]]
    machine: NotRequired[dict[str, Any]]
    git: NotRequired[dict[str, Any]]


NATURAL_EXPLORATIONS = 3
"""Without an attack there is only the policy's own action to learn about."""


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
) -> EstimateResult:
    """Discounted values of the deterministic policy from its starting states, in units of return.

    A lower bound where the critic is exact (finite tasks). With a network it is an estimate: it assumes that the critic
    generalises from the rollouts it was fitted to, the policy's own and those of its explorations, to the states an
    attacker would lead to. How far that holds, `relaxed_attack` tells.
    """
    for name, count in (("steps", steps), ("sweeps", sweeps), ("episodes", episodes)):
        if count <= 0:
            raise UserError(f"--{name} must be positive, not {count}")
    if explorations < 0:
        raise UserError(f"--explorations must not be negative, not {explorations}")
    if agent.recurrent:
        raise UserError("estimates are for policies without memory: the sets of actions come from bounds of a network")
    rollout = collect_rollout(agent, steps, seed)
    scale = return_scale(rollout)
    config = dataclasses.replace(FIT, bounds=bounds)
    starts = starting_states(agent, seed, episodes)
    rows: list[EstimateRow] = []
    for threat in [threats[0].at(0.0), *threats]:
        times = explorations if threat.eps else min(explorations, NATURAL_EXPLORATIONS)
        critic = fit_worst_value(agent, threat, rollout, scale, sweeps, seed, config, explorations=times).target
        found = worst_case(agent, critic, threat, config)(starts)
        check = calibrate(agent, critic, threat, scale, seed, config)
        rows.append(
            {
                "eps": threat.eps,
                "value": float(found.value.mean() * scale),
                "gap": 0.0,
                "set_size": float(found.size.mean()),
                "relaxed_attack": {"estimate": check.estimate, "achieved": check.achieved, "ratio": check.ratio},
                "start": {"estimate": check.start_estimate, "achieved": check.start_achieved},
            }
        )
        if on_radius:
            on_radius(threat.eps)
    natural = rows[0]["value"]
    for row in rows:
        row["gap"] = natural - row["value"]
    measured = run_episodes(agent, episodes, seed, gamma=GAMMA)
    return {
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
        "natural_measured": float(measured.discounted.mean()),
        "radii": rows,
    }
