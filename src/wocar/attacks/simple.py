"""Attacks that need only the victim's policy: random noise and the maximal action difference."""

from dataclasses import dataclass

import jax

from wocar.attacks.base import InputObjective
from wocar.bounds import Ball, ascend_in_ball
from wocar.mechanisms.state_reg import policy_distance
from wocar.types import Policy


@dataclass(frozen=True)
class Random:
    """A fresh point of the ball at every step: uniform, or an extreme one (for l_inf a corner)."""

    extreme: bool = False

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return ball.sample_extreme(key, obs) if self.extreme else ball.sample(key, obs)


@dataclass(frozen=True)
class MaxDiff:
    """Maximal action difference: Langevin ascent on ||μ(s~) - μ(s)||².

    Where actions are discrete, on KL(π(s) || π(s~)) with π = softmax of the logits or Q values.
    """

    steps: int = 10
    noise: float = 1.0
    """Temperature of the Langevin noise; 0 is plain sign ascent."""
    wide_start: bool = False
    """Start anywhere in the ball, not one step from its center (where the gradient is zero)."""

    def objective(self, policy: Policy, obs: jax.Array) -> InputObjective:
        head = policy.head(obs)
        return lambda x: policy_distance(policy, head, policy.head(x), unit_std=True)

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        start_key, search_key = jax.random.split(key)
        beside = ball.scaled(1 / self.steps).sample_extreme(start_key, obs)
        return ascend_in_ball(
            self.objective(policy, obs),
            ball,
            obs,
            ball.sample(start_key, obs) if self.wide_start else beside,
            steps=self.steps,
            key=search_key if self.noise else None,
            temperature=self.noise,
        )
