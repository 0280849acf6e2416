"""Greedy worst case: episodes of the worst actions that bounds cannot exclude."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import Ball, BoundMethod, action_mask, worst_action_in_mask
from wocar.types import Policy


class GreedyWorstCase:
    """Replaces the victim's action by the one it values least among those that bounds cannot exclude.

    No attack inside the ball makes the victim choose outside these sets, so a step at which they hold one action is
    certified; the return is that of an attacker who is greedy by the victim's own values, not the least possible.
    """

    def __init__(self, ball: Ball) -> None:
        self.ball = ball

    def __call__(self, policy: Policy, z: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.asarray(_worst(policy, self.ball, jnp.asarray(z)))


@eqx.filter_jit
def _worst(policy: Policy, ball: Ball, obs: jax.Array) -> jax.Array:
    return worst_action_in_mask(policy.head(obs), action_mask(policy.network, ball, obs, usual_bounds(policy)))


def usual_bounds(policy: Policy) -> BoundMethod:
    """Intervals for convolutions, where linear bounds cost too much; else linear bounds, which are tighter."""
    convolves = any(isinstance(layer, eqx.nn.Conv2d) for layer in policy.network.layers)
    return "ibp" if convolves else "crown"
