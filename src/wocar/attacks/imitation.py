"""Imitation of examples, to initialise a learned attacker or to copy a victim that can only be called."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.types import Array, Policy


def imitate(policy: Policy, obs: Array, wanted: Array, seed: int, steps: int = 4000, batch: int = 256) -> Any:
    """The policy after a fit to `wanted` at `obs`: least squares of its mode, of discrete actions cross-entropy."""
    adam, key = optax.adam(optax.linear_schedule(2e-3, 1e-4, steps)), jax.random.key(seed)
    arrays, static = eqx.partition(policy, eqx.is_array)

    @jax.jit
    def run(arrays: Any, obs: jax.Array, wanted: jax.Array) -> Any:
        def loss(arrays: Any, rows: jax.Array) -> jax.Array:
            policy = eqx.combine(arrays, static)
            if policy.discrete:
                errors = optax.softmax_cross_entropy_with_integer_labels(policy.head(obs[rows]), wanted[rows])
                return jnp.mean(errors)
            return jnp.mean(jnp.sum((policy.mode(obs[rows]) - wanted[rows]) ** 2, axis=-1))

        def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            arrays, state = carry
            rows = jax.random.randint(key, (batch,), 0, len(obs))
            updates, state = adam.update(jax.grad(loss)(arrays, rows), state)
            return (optax.apply_updates(arrays, updates), state), None

        return jax.lax.scan(step, (arrays, adam.init(arrays)), jax.random.split(key, steps))[0][0]

    return eqx.combine(run(arrays, jnp.asarray(obs), jnp.asarray(wanted)), static)
