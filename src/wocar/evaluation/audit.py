"""An audit: the returns of one agent without attack and under attacks, as plain data."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wocar.agent import Agent
from wocar.attacks import Attack, MaxDiff, Random, perturbation
from wocar.bounds import Ball
from wocar.evaluation.episodes import run_episodes
from wocar.evaluation.statistics import summarise
from wocar.types import UserError

ATTACKS: dict[str, Attack | None] = {"none": None, "random": Random(), "maxdiff": MaxDiff()}


def audit(
    agent: Agent,
    attacks: list[str],
    eps: float,
    episodes: int,
    seed: int,
    env_id: str | None = None,
    on_row: Callable[[str, dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Mean, std and confidence interval of raw returns for each attack, then the worst attack."""
    unknown = [name for name in attacks if name not in ATTACKS]
    if unknown:
        raise UserError(f"unknown attack {unknown[0]!r}; attacks: {', '.join(ATTACKS)}")
    rows: dict[str, dict[str, Any]] = {}
    for name in attacks:
        rows[name] = audit_row(agent, ATTACKS[name], eps, episodes, seed, env_id)
        if on_row:
            on_row(name, rows[name])
    worst = min(rows, key=lambda name: rows[name]["mean"])
    return {"env": env_id or agent.spec.id, "meta": agent.meta, "attacks": rows, "worst": worst, "flags": []}


def audit_row(
    agent: Agent, attack: Attack | None, eps: float, episodes: int, seed: int, env_id: str | None
) -> dict[str, Any]:
    act = None
    if attack is not None:
        perturb = perturbation(attack, agent.policy, Ball(eps), seed)

        def act(z: np.ndarray) -> np.ndarray:
            return agent.act(perturb(z))

    done = run_episodes(agent, episodes, seed, act, env_id)
    summary = summarise(done.returns)
    return {
        "mean": summary.mean,
        "std": summary.std,
        "interval": [summary.low, summary.high],
        "episodes": episodes,
        "mean_length": float(done.lengths.mean()),
        "mean_discounted": float(done.discounted.mean()),
        "seed": seed,
        "eps": 0.0 if attack is None else eps,
        "eps_units": "l_inf, standard deviations of each observation (after the normaliser)",
        "settings": repr(attack),
    }
