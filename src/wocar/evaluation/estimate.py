"""`wocar estimate`: natural value, worst-attack value and the gap between them, without an attacker."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from wocar.agent import Agent
from wocar.bounds import BoundMethod
from wocar.evaluation.episodes import run_episodes
from wocar.evaluation.worst_case import calibrate, starting_states, worst_case
from wocar.evaluation.worst_critic import FIT, GAMMA, collect_rollout, fit_worst_value, return_scale
from wocar.threat import Threat
from wocar.types import UserError

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
) -> dict[str, Any]:
    """Discounted values of the deterministic policy from its starting states, in units of return.

    A lower bound where the critic is exact (finite tasks). With a network it is an estimate: it assumes that the critic
    generalises from the rollouts it was fitted to, the policy's own and those of its explorations, to the states an
    attacker would lead to. How far that holds, `relaxed_attack` tells.
    """
    if agent.recurrent:
        raise UserError("estimates are for policies without memory: the sets of actions come from bounds of a network")
    rollout = collect_rollout(agent, steps, seed)
    scale = return_scale(rollout)
    config = dataclasses.replace(FIT, bounds=bounds)
    starts = starting_states(agent, seed, episodes)
    rows: list[dict[str, Any]] = []
    for threat in [threats[0].at(0.0), *threats]:
        times = explorations if threat.eps else min(explorations, NATURAL_EXPLORATIONS)
        critic = fit_worst_value(agent, threat, rollout, scale, sweeps, seed, config, explorations=times).target
        found = worst_case(agent, critic, threat, config)(starts)
        check = calibrate(agent, critic, threat, scale, seed, config)
        rows.append(
            {
                "eps": threat.eps,
                "value": float(found.value.mean() * scale),
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
