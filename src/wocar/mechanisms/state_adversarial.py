"""Mechanism 3 as an objective of its own: the state-adversarial regulariser of SA-PPO and SA-A2C."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.bounds import ascend_in_ball
from wocar.mechanisms.distance_bounds import distance_over_ball
from wocar.mechanisms.objective import InBall, Info, PolicyLoss
from wocar.mechanisms.policy_config import RobustConfig
from wocar.mechanisms.state_reg import policy_distance, state_regularisation
from wocar.types import Array, Batch, Policy


class RegNotes(NamedTuple):
    """Of each state: the perturbed observation, where it was searched already, and w(s), where states differ in it."""

    perturbed: jax.Array | None = None
    importance: jax.Array | None = None


@dataclass(frozen=True)
class StateAdversarial(InBall[Batch, jax.Array, PolicyLoss, RegNotes]):
    """Mechanism 3 alone, every state of equal importance: SA-PPO, SA-A2C."""

    config: RobustConfig

    @property
    def regularises(self) -> bool:
        return self.config.reg and self.config.kappa_reg > 0 and self.config.threat.on == "observation"

    def evaluate(
        self, state: Any, policy: Policy, batch: Batch, base: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, RegNotes, Info]:
        notes, cfg = RegNotes(), self.config
        if self.regularises and cfg.reg_solver != "convex" and cfg.reg_search == "iteration":
            notes = RegNotes(self._search(policy, batch.obs, key, progress))
        return state, notes, {"eps": self.ball(progress).eps}

    def loss(
        self, base: PolicyLoss, policy: Policy, batch: Batch, notes: RegNotes, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        """L + κ_reg L_reg."""
        if not self.regularises:
            return base.value, base.info
        penalty = self.config.kappa_reg * self.regularisation(policy, batch.obs, notes, key, progress)
        return base.value + penalty, {**base.info, "penalty": penalty}

    def regularisation(
        self, policy: Policy, obs: Array, notes: RegNotes, key: jax.Array, progress: jax.Array
    ) -> jax.Array:
        """L_reg at searched perturbations, or bounded over the ball, more loosely as it grows."""
        if self.config.reg_solver == "convex":
            ball, whole = self.ball(progress), self.ball(jnp.ones(()))
            distance = distance_over_ball(policy, obs, ball, ball.eps / jnp.maximum(whole.eps, 1e-12))
        else:
            searched = notes.perturbed is None
            perturbed = self._search(policy, obs, key, progress) if searched else notes.perturbed
            still, other = jax.lax.stop_gradient(policy.head(obs)), policy.head(perturbed)
            distance = policy_distance(policy, still, other, detach_std=not self.config.reg_std)
        return state_regularisation(distance, jnp.ones(()) if notes.importance is None else notes.importance)

    def _search(self, policy: Policy, obs: Array, key: jax.Array, progress: jax.Array) -> Array:
        """The perturbed observations where the policy differs most, by ascent, with or without Langevin noise."""
        ball, steps = self.ball(progress), self.config.reg_steps
        head = policy.head(obs)
        start_key, search_key = jax.random.split(key)
        start = ball.scaled(1 / steps).sample_extreme(start_key, obs)

        def distance(x: Array) -> jax.Array:
            return policy_distance(policy, head, policy.head(x))

        noise = search_key if self.config.reg_solver == "sgld" else None
        return ascend_in_ball(distance, ball, obs, start, steps=steps, key=noise, temperature=1e-5)
