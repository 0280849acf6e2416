"""Bounds of a policy's distance over a ball: the convex solver of mechanism 3."""

from typing import Any

import jax
import jax.numpy as jnp

from wocar.bounds import Ball, network_bounds
from wocar.types import Array


def distance_over_ball(policy: Any, obs: Array, ball: Ball, mix: Array) -> jax.Array:
    """An upper bound of the policy's distance in the ball: `mix` of it by intervals, the rest by linear bounds. (N,)"""
    head = policy.head(obs)
    loose = network_bounds(policy.network, ball, obs, "ibp")
    tight = network_bounds(policy.network, ball, obs, "crown-ibp")
    lower, upper = (mix * a + (1 - mix) * b for a, b in zip(loose, tight, strict=True))
    if policy.discrete:
        return categorical_distance_bound(head, lower, upper)
    return gaussian_distance_bound(head, lower, upper, policy.log_std)


def gaussian_distance_bound(mean: Array, lower: Array, upper: Array, log_std: Array) -> jax.Array:
    """The largest Gaussian distance from the mean to any point of [lower, upper]. (N,)"""
    reach = jnp.maximum(jnp.abs(lower - mean), jnp.abs(upper - mean))
    return jnp.sum((reach * jnp.exp(-log_std)) ** 2, axis=-1)


def categorical_distance_bound(logits: Array, lower: Array, upper: Array) -> jax.Array:
    """An upper bound of KL(π(s) || π(s~)) over logits within [lower, upper]: each log-probability at its least. (N,)"""
    log_p = jax.nn.log_softmax(logits)
    return jnp.sum(jnp.exp(log_p) * (log_p - extreme_log_probs(lower, upper)), axis=-1)


def extreme_log_probs(own: Array, others: Array) -> Array:
    """Each action's log-probability with its own logit from `own` and every other's from `others`. (N, actions)

    own = lower, others = upper: the least within the bounds; the other way round: the greatest.
    """
    logits = jnp.where(jnp.eye(own.shape[-1], dtype=bool), own[..., None], others[..., None, :])
    return own - jax.nn.logsumexp(logits, axis=-1)
