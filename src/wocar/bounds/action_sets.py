"""A_adv(s, pi): the set of actions an attacker can cause, as a box or a mask, and a critic's minimum over it."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from wocar.bounds.ball import Ball
from wocar.bounds.network import BoundMethod, Network, network_bounds
from wocar.bounds.search import ascend, ascend_in_ball, outputs, shrinking
from wocar.types import Array, Interval

SEARCH_STARTS = 8
"""Random points from which a search towards an action starts as well, half of them extreme; none among pixels."""
SET_STARTS, SET_STEPS = 2, 5
"""Of the searches that make a set: nearly all that more would find, in a fifth of the time (results/strength)."""


def action_box(
    mean: Network, ball: Ball, obs: Array, low: Array | None, high: Array | None, method: BoundMethod = "crown"
) -> Interval:
    """Eq. (2), continuous actions: bounds of the policy's mean over the ball, cut to the action range [low, high]."""
    return _cut(network_bounds(mean, ball, obs, method), low, high)


def action_mask(
    scores: Network, ball: Ball, obs: Array, method: BoundMethod = "crown", greedy: Array | None = None
) -> Array:
    """A_adv for discrete actions: (B, n), true where an action can have the highest logit or Q value in the ball.

    Action i is in if upper_i >= lower_j for all j != i; the greedy action (B,), computed if not given, always is. With
    "pgd" it is in if a search has made it the highest: a set without doubt, but perhaps not all of it.
    """
    if greedy is None:
        greedy = jnp.argmax(outputs(scores, obs), axis=1)
    if method == "pgd":
        count = jax.eval_shape(lambda x: outputs(scores, x), obs).shape[-1]
        others = (greedy + jnp.arange(1, count)[:, None]) % count
        starts = 0 if obs.ndim > 2 else SET_STARTS
        shown = search_actions(lambda x: outputs(scores, x), ball, obs, others, SET_STEPS, starts)
        found = jax.vmap(lambda x: jnp.argmax(outputs(scores, x), axis=1))(shown)
        return jax.nn.one_hot(jnp.concatenate([greedy[None], found]), count, dtype=bool).any(axis=0)
    lower, upper = network_bounds(scores, ball, obs, method)
    return (upper >= lower.max(axis=1, keepdims=True)) | jax.nn.one_hot(greedy, upper.shape[1], dtype=bool)


def search_each_action(
    scores: Callable[[Array], Array], ball: Ball, obs: Array, steps: int = 10, starts: int | None = None
) -> Array:
    """Points of the ball, (n, B, ...): of each of the n actions that which a search found where it leads by most."""
    count = jax.eval_shape(scores, obs).shape[-1]
    return search_actions(scores, ball, obs, jnp.arange(count)[:, None].repeat(len(obs), axis=1), steps, starts)


def search_actions(
    scores: Callable[[Array], Array],
    ball: Ball,
    obs: Array,
    actions: Array,
    steps: int = 10,
    starts: int | None = None,
) -> Array:
    """Points of the ball, (k, B, ...), for actions (k, B) of each state: where a search found that each leads by most.

    The searches start at the true state and at random points, the same ones in every call. Where actions are an argmax,
    the gradient of its softmax says little about which of them an attacker can cause.
    """
    starts = (0 if obs.ndim > 2 else SEARCH_STARTS) if starts is None else starts
    keys = jax.random.split(jax.random.key(0), max(starts, 1))
    samples = [(ball.sample, ball.sample_extreme)[k % 2](keys[k], obs) for k in range(starts)]
    begin = jnp.stack([jnp.asarray(obs), *samples])
    sizes, rows = shrinking(2 * ball.radius(obs), steps), jnp.arange(len(obs))

    def towards(action: Array) -> Array:
        def lead(x: Array) -> Array:
            return -margin(scores(x), action)

        def search(start: Array) -> Array:
            return ascend_in_ball(lead, ball, obs, start, steps=steps, step_size=sizes, keep_best=True)

        ends = jax.vmap(search)(begin)
        return ends[jnp.argmax(jax.vmap(lead)(ends), axis=0), rows]

    return jax.vmap(towards)(actions)


def margin(scores: Array, label: Array) -> jax.Array:
    """max_{a ≠ label} Q(s, a) - Q(s, label), (N,): above 0 another action is taken."""
    chosen = jax.nn.one_hot(label, scores.shape[-1], dtype=bool)
    return jnp.max(jnp.where(chosen, -jnp.inf, scores), axis=-1) - jnp.sum(jnp.where(chosen, scores, 0.0), axis=-1)


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
