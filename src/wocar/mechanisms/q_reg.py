"""Mechanism 3 for Q networks: margin by which another action can exceed the greedy one."""

import jax
import jax.numpy as jnp
from equinox import nn

from wocar.bounds import Ball, network_bounds
from wocar.types import Array


def margin(q_values: Array, label: Array) -> jax.Array:
    """max_{a ≠ label} Q(s, a) - Q(s, label), (N,): above 0 another action is taken."""
    chosen = jax.nn.one_hot(label, q_values.shape[-1], dtype=bool)
    return jnp.max(jnp.where(chosen, -jnp.inf, q_values), axis=-1) - jnp.sum(jnp.where(chosen, q_values, 0.0), axis=-1)


def hinge(margins: Array, lead: float) -> jax.Array:
    """max(margin, -lead): nothing is gained by a greedy action that leads by more than this. (N,)"""
    return jnp.maximum(margins, -lead)


def margin_bound(network: nn.Sequential, ball: Ball, obs: Array, label: Array) -> jax.Array:
    """An upper bound of the margin over the ball, by intervals. (N,)

    The last layer is bounded as the differences Q(., a) - Q(., label) of its outputs: tighter than both apart.
    """
    *body, head = network.layers
    lower, upper = network_bounds(nn.Sequential(body), ball, obs, "ibp")
    middle, radius = (lower + upper) / 2, (upper - lower) / 2
    difference = head.weight - head.weight[label][:, None]
    offset = head.bias - head.bias[label][:, None]
    highest = jnp.einsum("nah,nh->na", difference, middle) + jnp.einsum("nah,nh->na", jnp.abs(difference), radius)
    return margin(highest + offset, label)
