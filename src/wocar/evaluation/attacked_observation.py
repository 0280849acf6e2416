"""`AttackedObservation`: any attack on any Gymnasium environment, for loops that are not ours."""

from pathlib import Path
from typing import Any

import numpy as np

from wocar.agent import Agent
from wocar.attacks import Perturbation
from wocar.bounds import Ball
from wocar.envs.shown_observation import ShownObservation
from wocar.evaluation.attack_registry import AttackContext, kind_of
from wocar.networks import Normaliser, PixelNormaliser, RunningNormaliser
from wocar.types import UserError


class AttackedObservation(ShownObservation):
    """Perturbs raw observations so that what the victim's normaliser makes of them is the attacked z~.

    `attack` is an attack, or the name of one that is not trained. z~ is inside the ball of radius eps around z; it is
    mapped back as o~ = o + (z~ - z) · scale, unrounded, also for pixels. The victim's own normaliser clips what it is
    shown: beyond its clip an attack reaches less far here than in an audit. A recurrent victim's memory is followed by
    what it is shown.
    """

    def __init__(self, env: Any, victim: Agent, attack: Any, eps: float, seed: int = 0, norm: Any = "linf") -> None:
        if env.observation_space.shape != victim.spec.obs_shape:
            shapes = f"{env.observation_space.shape}, the victim takes {victim.spec.obs_shape}"
            raise UserError(f"the environment shows observations of shape {shapes}")
        limits = victim.normaliser.limits
        ball = Ball.within(limits, eps, norm)
        self.victim, self.perturb = victim, Perturbation(_made(attack, victim, norm, seed), ball, seed)
        _, scale = affine(victim.normaliser)
        low, high = (0.0, float(np.max(scale))) if limits else (-np.inf, np.inf)
        super().__init__(env, self.shown, low, high)

    def shown(self, observation: np.ndarray, starts: bool) -> np.ndarray:
        """The true observation to what the victim gets to see, in the units of the environment."""
        if starts:
            self._memory = self.victim.start(1)
            self.perturb.reset(np.array([0]), 1)
        z = self.victim.normaliser(np.asarray(observation)[None])
        attacked = self.perturb(self.victim.held(self._memory), z)
        _, self._memory = self.victim.step(attacked, self._memory)
        return raw(self.victim.normaliser, np.asarray(observation), z[0], attacked[0])


def raw(normaliser: Normaliser, observation: np.ndarray, z: np.ndarray, attacked: np.ndarray) -> np.ndarray:
    """o~ whose normalised form is z~: o + (z~ - z) · scale, from z instead of o where the normaliser had clipped o."""
    mean, scale = affine(normaliser)
    observation, z, attacked = (np.asarray(x, np.float64) for x in (observation, z, attacked))
    clipped = np.abs(z) >= getattr(normaliser, "clip", np.inf)
    return np.where(clipped, mean + attacked * scale, observation + (attacked - z) * scale)


def affine(normaliser: Normaliser) -> tuple[np.ndarray, np.ndarray]:
    """Mean and scale of z = (o - mean) / scale, before the clip."""
    if isinstance(normaliser, PixelNormaliser):
        return np.zeros(()), np.asarray(normaliser.brightest, np.float64)
    if isinstance(normaliser, RunningNormaliser):
        return normaliser.mean, normaliser.std + 1e-8
    return normaliser.mean, normaliser.scale


def _made(attack: Any, victim: Agent, norm: Any, seed: int) -> Any:
    if not isinstance(attack, str):
        return attack
    try:
        kind = kind_of(attack)
    except KeyError:
        raise UserError(f"unknown attack {attack!r}") from None
    reason = kind.lacking(AttackContext(victim, norm, seed))
    if reason or kind.on_actions or kind.family == "natural":
        raise UserError(f"{attack} does not apply: {reason or 'it does not change observations'}")
    return kind.make(AttackContext(victim, norm, seed), 0.0, Path(), {}).attack
