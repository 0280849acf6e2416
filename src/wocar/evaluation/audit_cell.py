"""Audit cell: one attack with its settings at one radius on one set of episodes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks import Disturbance, Perturbation, zero_gradient_share
from wocar.bounds import Ball
from wocar.envs.time_limit import without_time_limit
from wocar.episodes import run_episodes
from wocar.evaluation.attack_context import Trained
from wocar.evaluation.attack_registry import AttackKind
from wocar.evaluation.audit_result import CellResult
from wocar.evaluation.certified import GreedyWorstCase
from wocar.evaluation.lookahead import Lookahead, LookaheadPerturbation
from wocar.evaluation.moved_dimensions import MovedDimensions
from wocar.evaluation.statistics import summarise
from wocar.files import checksum, tree_arrays
from wocar.networks.normaliser import changes_nothing
from wocar.threat import Threat
from wocar.types import Policy, VectorEnv

N_ENVS = 25
"""Environments stepped together: the usual 50 episodes are two rounds of them."""
PROBES = (1, 10, 40, 160)
"""Calls of an attack at which its gradients are checked."""


class AuditCell(NamedTuple):
    name: str
    kind: AttackKind
    settings: dict[str, Any]
    threat: Threat
    episodes: int
    seed: int


def run_cell(agent: Agent, cell: AuditCell, made: Trained, on_episodes: Callable[[int], None]) -> CellResult:
    """Raw returns of the agent under the attack, and what the self-checks need."""
    perturb, disturb = applied(agent, cell, made.attack)
    done = run_episodes(
        agent, cell.episodes, cell.seed, n_envs=N_ENVS, perturb=perturb, disturb=disturb, on_episodes=on_episodes
    )
    summary = summarise(done.returns)
    row: CellResult = {
        "mean": summary.mean,
        "std": summary.std,
        "interval": [summary.low, summary.high],
        "returns": [float(x) for x in done.returns],
        "episodes": cell.episodes,
        "mean_length": float(done.lengths.mean()),
        "mean_discounted": float(done.discounted.mean()),
        "seed": cell.seed,
        "eps": cell.threat.eps,
        "eps_units": units(agent, cell),
        "settings": words(made.attack, cell.settings),
        "budget_used": perturb.attack.used if perturb else getattr(disturb, "used", None),
        "zero_gradients": perturb.zero_gradients if perturb else None,
    }
    if digest := attacker_digest(made.attack):
        row["attacker_sha256"] = digest
    if done.flips is not None:
        row["flips"] = done.flips
    _, limit = without_time_limit(agent.spec.id)
    if limit is not None:
        row["cut_episodes"], row["max_steps"] = int(np.sum(done.lengths >= limit)), limit
    if made.curve:
        row["training_curve"] = made.curve
    if made.predicted is not None:
        row["predicted"] = made.predicted
    if perturb and cell.kind.family != "fault" and (moved := perturb.moved.result(perturb.attack.ball)):
        row["moved"] = moved
    return row


def applied(agent: Agent, cell: AuditCell, attack: Any) -> tuple["ProbedPerturbation | None", Any]:
    """The attack on what the agent sees, and the one on what it does; a fault knows no radius."""
    if cell.kind.family == "bound":
        return None, GreedyWorstCase(cell.threat.ball_for(agent))
    if cell.kind.on == "action":
        return None, Disturbance(attack, cell.threat.eps, agent.spec.actions, cell.seed)
    if attack is None:
        return None, None
    ball = ball_of(agent, cell)
    if isinstance(attack, Lookahead):
        return ProbedPerturbation(LookaheadPerturbation(attack, agent, ball, cell.seed)), None
    return ProbedPerturbation(Perturbation(attack, ball, cell.seed)), None


def attacker_digest(attack: Any) -> str | None:
    """Hash of what an attack has learned or searched; None where it holds no arrays."""
    arrays = tree_arrays(attack)
    if not arrays:
        return None
    parts = (f"{name}{array.shape}{array.dtype}".encode() + array.tobytes() for name, array in arrays.items())
    return checksum(b"".join(parts))


def ball_of(agent: Agent, cell: AuditCell) -> Ball:
    """That of the threat; faults of sensors have none."""
    if cell.kind.family == "fault":
        return Ball.within(agent.normaliser.limits, np.inf)
    return cell.threat.ball_for(agent)


class ProbedPerturbation:
    """A perturbation that checks now and then whether gradients vanish, and sums up what it moves."""

    def __init__(self, attack: "Perturbation | LookaheadPerturbation") -> None:
        self.attack = attack
        self.shares: list[float] = []
        self.moved = MovedDimensions()

    def __call__(self, policy: Policy, z: np.ndarray) -> np.ndarray:
        shown = self.attack(policy, z)
        self.moved.add(z, shown)
        if self.attack.calls in PROBES and hasattr(self.attack.attack, "objective"):
            self.shares.append(zero_gradient_share(self.attack.attack, policy, self.attack.ball, jnp.asarray(z)))
        return shown

    def begin(self, env: VectorEnv) -> None:
        self.attack.begin(env)

    def reset(self, rows: np.ndarray, n: int) -> None:
        self.attack.reset(rows, n)

    @property
    def zero_gradients(self) -> float | None:
        return float(np.mean(self.shares)) if self.shares else None


def units(agent: Agent, cell: AuditCell) -> str:
    """What eps is measured in."""
    norm = {"linf": "l_inf", "l2": "l_2"}[cell.threat.norm]
    if cell.kind.on == "action":
        return "probability that an action is replaced" if agent.spec.actions.discrete else "l_inf, units of actions"
    where = "" if cell.threat.radii is None else ", times a factor for each dimension"
    if agent.normaliser.limits:
        return f"{norm}, brightness from 0 to {'255' if cell.threat.units == 'raw' else '1'}{where}"
    if cell.threat.units == "raw" or changes_nothing(agent.normaliser):
        return f"{norm}, units of the observation{where}"
    return f"{norm}, standard deviations of each observation (after the normaliser){where}"


def words(attack: Any, settings: dict[str, Any]) -> str:
    """How the attack was set, in one line; networks are left out."""
    if attack is None:
        return "None"
    text = repr(attack)
    inside = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return text if "\n" not in text and len(text) < 200 else f"{type(attack).__name__}({inside})"
