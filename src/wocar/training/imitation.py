"""Imitation of examples, to initialise a policy."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.types import Array, Policy


def imitate(policy: Policy, obs: Array, wanted: Array, seed: int, steps: int = 4000, batch: int = 256) -> Any:
    """The policy after a least-squares fit of its mode at `obs` to `wanted`."""
    adam, key = optax.adam(optax.linear_schedule(2e-3, 1e-4, steps)), jax.random.key(seed)
    arrays, static = eqx.partition(policy, eqx.is_array)

    @jax.jit
    def run(arrays: Any, obs: jax.Array, wanted: jax.Array) -> Any:
        def loss(arrays: Any, rows: jax.Array) -> jax.Array:
            return jnp.mean(jnp.sum((eqx.combine(arrays, static).mode(obs[rows]) - wanted[rows]) ** 2, axis=-1))

        def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            arrays, state = carry
            rows = jax.random.randint(key, (batch,), 0, len(obs))
            updates, state = adam.update(jax.grad(loss)(arrays, rows), state)
            return (optax.apply_updates(arrays, updates), state), None

        return jax.lax.scan(step, (arrays, adam.init(arrays)), jax.random.split(key, steps))[0][0]

    return eqx.combine(run(arrays, jnp.asarray(obs), jnp.asarray(wanted)), static)
