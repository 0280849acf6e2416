"""Adam over all weights of a network as one vector: one pass instead of one per array."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

Loss = Callable[[Any], tuple[jax.Array, Any]]
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class AdamState(NamedTuple):
    mean: jax.Array
    square: jax.Array
    steps: jax.Array


class FlatAdam:
    def init(self, thing: Any) -> AdamState:
        flat, _ = ravel_pytree(eqx.filter(thing, eqx.is_array))
        return AdamState(jnp.zeros_like(flat), jnp.zeros_like(flat), jnp.zeros((), jnp.int32))

    def descend(
        self, objective: Loss, thing: Any, state: AdamState, lr: float
    ) -> tuple[Any, AdamState, tuple[jax.Array, Any]]:
        """One step on objective(thing) -> (loss, more)."""
        params, static = eqx.partition(thing, eqx.is_array)
        (loss, more), grads = jax.value_and_grad(lambda p: objective(eqx.combine(p, static)), has_aux=True)(params)
        flat, unravel = ravel_pytree(params)
        gradient, _ = ravel_pytree(grads)
        steps = state.steps + 1
        mean = BETA1 * state.mean + (1 - BETA1) * gradient
        square = BETA2 * state.square + (1 - BETA2) * gradient**2
        size = lr / (1 - BETA1**steps)
        flat = flat - size * mean / (jnp.sqrt(square / (1 - BETA2**steps)) + EPSILON)
        return eqx.combine(unravel(flat), static), AdamState(mean, square, steps), (loss, more)
