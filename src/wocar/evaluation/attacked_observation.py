"""Gymnasium wrapper that applies an attack to the observations of any environment."""

from typing import Any

import numpy as np

from wocar.agent import Agent
from wocar.attacks import Perturbation
from wocar.bounds.ball import Norm
from wocar.envs.shown_observation import ShownObservation
from wocar.evaluation.attack_registry import attack_by_name
from wocar.networks import Normaliser
from wocar.networks.normaliser import affine
from wocar.threat import Threat
from wocar.types import UserError


class AttackedObservation(ShownObservation):
    """Perturbs raw observations so that the victim's normaliser maps them to the attacked z~.

    `attack` is an attack, or the name of one that is not trained. z~ is inside the ball of radius eps around z; it is
    mapped back as o~ = o + (z~ - z) · scale, unrounded, also for pixels. The victim's own normaliser clips what it is
    shown: beyond its clip an attack reaches less far here than in an audit. A recurrent victim's memory is followed by
    what it is shown.
    """

    def __init__(
        self, env: Any, victim: Agent, attack: Any, threat: Threat | float, seed: int = 0, norm: Norm = "linf"
    ) -> None:
        """`threat` may be its radius alone, in the norm given."""
        if env.observation_space.shape != victim.spec.obs_shape:
            shapes = f"{env.observation_space.shape}, the victim takes {victim.spec.obs_shape}"
            raise UserError(f"the environment shows observations of shape {shapes}")
        limits, threat = victim.normaliser.limits, threat if isinstance(threat, Threat) else Threat(threat, norm)
        made = attack_by_name(attack, victim, threat, seed) if isinstance(attack, str) else attack
        if made is None:
            raise UserError(f"{attack} does not apply: it does not change observations")
        self.victim, self.perturb = victim, Perturbation(made, threat.ball_for(victim), seed)
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
