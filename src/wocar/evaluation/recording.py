"""One episode to look at: every step with its picture, what is true and what the victim is shown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.attacks import Perturbation
from wocar.bounds import Ball
from wocar.bounds.ball import Norm
from wocar.envs.render import RenderedEnv
from wocar.evaluation.attack_registry import KINDS, AttackContext
from wocar.evaluation.attacked_observation import raw
from wocar.evaluation.suites import ALIASES
from wocar.types import UserError


class Moment(NamedTuple):
    """`frame` is None where the observation itself is the picture."""

    step: int
    frame: np.ndarray | None
    z: np.ndarray
    shown: np.ndarray
    """z~, inside the ball around z."""
    total: float
    """Return until here."""


def attack_by_name(name: str, agent: Agent, eps: float, norm: Norm, seed: int) -> Any:
    """An attack on observations that needs no training of its own; None for no attack."""
    name = ALIASES.get(name, name)
    if name not in KINDS:
        raise UserError(f"unknown attack {name!r}; attacks: {', '.join(KINDS)}, or the folder of a trained attacker")
    kind, context = KINDS[name], AttackContext(agent, norm, seed)
    if kind.on_actions:
        raise UserError(f"{name} does not change what the agent sees")
    if kind.wants in ("trainer", "given attacker"):
        raise UserError(f"{name} must be trained first: wocar train sa-rl --victim AGENT, then --attack ITS_FOLDER")
    reason = kind.lacking(context)
    if reason:
        raise UserError(f"{name} does not apply: {reason}")
    return kind.make(context, eps, Path(), {}).attack


def episode(
    agent: Agent, rendered: RenderedEnv, attack: Any, eps: float, norm: Norm, seed: int, steps: int
) -> Iterator[Moment]:
    """The first steps of an episode of the deterministic agent, its last moment included."""
    env, total = rendered.env, 0.0
    ball = Ball.within(agent.normaliser.limits, eps, norm)
    perturb = Perturbation(attack, ball, seed) if attack is not None else None
    memory, obs = agent.start(1), env.reset()
    for step in range(steps + 1):
        z = agent.normaliser(obs)
        shown = perturb(agent.held(memory), z) if perturb else z
        seen = raw(agent.normaliser, obs[0], z[0], shown[0])
        yield Moment(step, rendered.frame(seen), z[0], shown[0], total)
        action, memory = agent.step(shown, memory)
        after = env.step(action)
        if after.is_reset[0]:
            return
        total += float(after.rewards[0])
        obs = after.obs
