"""The contract of an attack: the constructor says how, the call says whom and how far."""

from collections.abc import Callable
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import Ball


class Attack(Protocol):
    """A frozen dataclass of settings. `perturb` is pure; what it returns need not lie in the ball."""

    def perturb(self, policy: Any, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array: ...


def perturbation(attack: Attack, policy: Any, ball: Ball, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """The attack on a victim's policy as a function of normalised observations (B, obs), projected onto the ball."""

    @eqx.filter_jit
    def inside(policy: Any, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return ball.project(obs, attack.perturb(policy, ball, obs, key))

    base, calls = jax.random.key(seed), 0

    def call(obs: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return np.asarray(inside(policy, ball, jnp.asarray(obs), jax.random.fold_in(base, calls)))

    return call
