"""A_adv(s, pi): the set of actions an attacker can cause, as a box or a mask, and a critic's minimum over it."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from wocar.bounds.ball import Ball
from wocar.bounds.network import BoundMethod, Network, network_bounds
from wocar.bounds.search import ascend, outputs, shrinking
from wocar.types import Array, Interval


def action_box(
    mean: Network, ball: Ball, obs: Array, low: Array | None, high: Array | None, method: BoundMethod = "crown"
) -> Interval:
    """Eq. (2), continuous actions: bounds of the policy's mean over the ball, cut to the action range [low, high]."""
    return _cut(network_bounds(mean, ball, obs, method), low, high)


def action_mask(
    scores: Network, ball: Ball, obs: Array, method: BoundMethod = "crown", greedy: Array | None = None
) -> Array:
    """A_adv for discrete actions: (B, n), true where an action can have the highest logit or Q value in the ball.

    Action i is in if upper_i >= lower_j for all j != i; the greedy action (B,), computed if not given, always is.
    """
    lower, upper = network_bounds(scores, ball, obs, method)
    if greedy is None:
        greedy = jnp.argmax(outputs(scores, obs), axis=1)
    return (upper >= lower.max(axis=1, keepdims=True)) | jax.nn.one_hot(greedy, upper.shape[1], dtype=bool)


def action_ball(action: Array, eps: float | Array, low: Array | None, high: Array | None) -> Interval:
    """App. C.5, continuous actions: the attacker moves each coordinate of the action itself by at most eps."""
    return _cut(Interval(action - eps, action + eps), low, high)


def any_action(q_values: Array) -> Array:
    """App. C.5, discrete actions: any action may replace the chosen one; a mask (B, n) for q_values (B, n)."""
    return jnp.ones_like(q_values, dtype=bool)


def worst_action_in_box(q: Callable[[Array], Array], start: Array, box: Interval, steps: int = 10) -> Array:
    """The action (B, k) of the box with the least q(action) (B,): projected sign descent from `start`, the best kept.

    The first step reaches the corner in the gradient's direction; the steps then shrink to 1/50 of the box's width.
    """

    def project(action: Array) -> Array:
        return jnp.clip(action, box.lower, box.upper)

    sizes = shrinking(box.upper - box.lower, steps)
    return ascend(lambda a: -q(a), project(start), project, steps=steps, step_size=sizes, keep_best=True)


def worst_action_in_mask(q_values: Array, mask: Array) -> Array:
    """The action (B,) of the mask (B, n) with the least of q_values (B, n)."""
    return jnp.argmin(jnp.where(mask, q_values, jnp.inf), axis=1)


def taken(values: Array, actions: Array) -> Array:
    """Of the values of all actions (B, n) those of the actions taken (B,)."""
    return jnp.take_along_axis(values, actions[:, None], axis=-1)[:, 0]


def attacked_value(q_values: Array, worst: Array, greedy: Array, probability: float | Array = 1.0) -> Array:
    """App. C.5: (1 - p) Q(greedy) + p Q(worst), (B,): an attacker who succeeds with probability p."""
    chosen, least = taken(q_values, greedy), taken(q_values, worst)
    return (1 - probability) * chosen + probability * least


def _cut(box: Interval, low: Array | None, high: Array | None) -> Interval:
    return Interval(jnp.clip(box.lower, low, high), jnp.clip(box.upper, low, high))
