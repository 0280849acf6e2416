"""Diagnostics of attacks: how often a gradient vanishes."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.bounds import Ball
from wocar.types import Policy


def zero_gradient_share(attack: Any, policy: Policy, ball: Ball, obs: jax.Array, seed: int = 0) -> float:
    """Share of states (B, *obs_shape) where the attack's gradient is exactly zero at a random point of their ball.

    There a gradient attack has no direction, and a high return is no evidence. 0 for attacks without an objective.
    """
    if not hasattr(attack, "objective"):
        return 0.0
    return float(_zero_share(attack, policy, ball, jnp.asarray(obs), jax.random.key(seed)))


@eqx.filter_jit
def _zero_share(attack: Any, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
    objective = attack.objective(policy, obs)
    gradient = jax.grad(lambda x: jnp.sum(objective(x)))(ball.sample(key, obs))
    return jnp.mean(jnp.all(gradient.reshape(len(obs), -1) == 0, axis=1))
