"""Attacks that need nothing but the victim's policy."""

from dataclasses import dataclass
from typing import Any

import jax

from wocar.bounds import Ball, ascend_in_ball
from wocar.mechanisms.state_reg import policy_distance


@dataclass(frozen=True)
class Random:
    """A fresh point of the ball at every step: uniform, or an extreme one."""

    extreme: bool = False

    def perturb(self, policy: Any, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return ball.sample_extreme(key, obs) if self.extreme else ball.sample(key, obs)


@dataclass(frozen=True)
class MaxDiff:
    """Maximal action difference: Langevin ascent on ||μ(s~) - μ(s)||², or on KL where actions are discrete."""

    steps: int = 10
    noise: float = 1.0
    """Temperature of the Langevin noise; 0 is plain sign ascent."""

    def perturb(self, policy: Any, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        head = policy.head(obs)
        start_key, search_key = jax.random.split(key)
        return ascend_in_ball(
            lambda x: policy_distance(policy, head, policy.head(x), unit_std=True),
            ball,
            obs,
            ball.scaled(1 / self.steps).sample_extreme(start_key, obs),
            steps=self.steps,
            key=search_key,
            temperature=self.noise,
        )
