"""An audit: the returns of one agent without attack and under attacks, as plain data."""

from typing import Any

from wocar.agent import Agent
from wocar.evaluation.episodes import run_episodes
from wocar.evaluation.statistics import summarise
from wocar.types import UserError

ATTACKS = ("none",)


def audit(agent: Agent, attacks: list[str], episodes: int, seed: int, env_id: str | None = None) -> dict[str, Any]:
    """Mean, std and confidence interval of raw returns for each attack, then the worst attack."""
    unknown = [name for name in attacks if name not in ATTACKS]
    if unknown:
        raise UserError(f"unknown attack {unknown[0]!r}; attacks: {', '.join(ATTACKS)}")
    rows = {}
    for name in attacks:
        done = run_episodes(agent, episodes, seed, env_id=env_id)
        summary = summarise(done.returns)
        rows[name] = {
            "mean": summary.mean,
            "std": summary.std,
            "interval": [summary.low, summary.high],
            "episodes": episodes,
            "mean_length": float(done.lengths.mean()),
            "seed": seed,
            "eps": 0.0,
            "eps_units": "none",
        }
    worst = min(rows, key=lambda name: rows[name]["mean"])
    return {"env": env_id or agent.spec.id, "meta": agent.meta, "attacks": rows, "worst": worst, "flags": []}
