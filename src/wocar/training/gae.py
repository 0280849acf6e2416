"""Generalised advantage estimation with truncation kept apart from termination."""

import jax
import jax.numpy as jnp

from wocar.types import Array


def gae(
    rewards: Array, values: Array, next_values: Array, terminated: Array, truncated: Array, gamma: float, lam: float
) -> jax.Array:
    """A_t = δ_t + γλ A_{t+1} within an episode, δ_t = r_t + γ (1 - terminated_t) V(s'_t) - V(s_t). All (n, T).

    A truncated episode bootstraps from its true last observation; the trace stops at either kind of end.
    """
    delta = rewards + gamma * jnp.where(terminated, 0.0, next_values) - values
    carry_on = jnp.where(terminated | truncated, 0.0, gamma * lam)

    def back(trace: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        d, c = step
        trace = d + c * trace
        return trace, trace

    _, advantages = jax.lax.scan(back, jnp.zeros(delta.shape[0]), (delta.T, carry_on.T), reverse=True)
    return advantages.T
