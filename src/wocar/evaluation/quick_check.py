"""Quick check of an agent in training: its return without attack and under a few attacks, on episodes of their own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wocar.agent import Agent
from wocar.evaluation.attack_context import AttackContext
from wocar.evaluation.attack_registry import kind_of
from wocar.evaluation.audit_cell import AuditCell, run_cell
from wocar.threat import Threat

NATURAL_EPISODES = 40
"""Episodes without attack, which cost little: a share of the mean return of ten is mostly luck."""
SEED_OFFSET = 300_000
"""Episodes of checks are none of those that an audit selects or reports on."""


class QuickCheck(NamedTuple):
    natural: float
    worst: float
    """Least mean return under an attack that applies."""
    returns: dict[str, float]
    """Mean return under each attack."""


def quick_check(
    agent: Agent, attacks: Sequence[tuple[str, dict[str, Any]]], threat: Threat, episodes: int, seed: int
) -> QuickCheck:
    """Mean returns without attack and under attacks with their settings; those that do not apply are left out.

    `episodes` are those of each attack.
    """
    context, returns = AttackContext(agent, seed + SEED_OFFSET), {}
    for name, settings in (("none", {}), *attacks):
        kind = kind_of(name)
        if kind.lacking(context, threat) is None:
            count = max(episodes, NATURAL_EPISODES) if name == "none" else episodes
            cell = AuditCell(name, kind, settings, kind.threat(threat), count, seed + SEED_OFFSET)
            made = kind.made(context, cell.threat, Path(), settings)
            returns[name] = run_cell(agent, cell, made, lambda n: None)["mean"]
    natural = returns.pop("none")
    return QuickCheck(natural, min(returns.values(), default=natural), returns)
