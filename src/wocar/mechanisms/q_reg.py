"""Mechanism 3 for Q networks: margin by which another action can exceed the greedy one."""

import jax
import jax.numpy as jnp
from equinox import nn

from wocar.bounds import Ball, margin, network_bounds
from wocar.types import Array


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
