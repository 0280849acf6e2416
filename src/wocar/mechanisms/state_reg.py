"""Mechanism 3: value-enhanced state regularisation."""

from typing import Any

import jax
import jax.numpy as jnp

from wocar.types import Array


def state_importance(best: Array, worst: Array, floor: float = 0.0) -> jax.Array:
    """Eq. (5): w(s) = max_a Q(s, a) - min_a Q(s, a), given both; PPO and A2C: V(s) and min over A_adv of Q_worst. (N,)

    Departs from the paper: divided by its batch mean and clipped to [floor, 5], so that kappa_reg keeps its meaning;
    detached.
    """
    w = jnp.maximum(best - worst, 0.0)
    return jax.lax.stop_gradient(jnp.clip(w / (w.mean() + 1e-8), floor, 5.0))


def gaussian_distance(mean: Array, other: Array, log_std: Array) -> jax.Array:
    """Σ_i ((μ_i(s) - μ_i(s~)) / σ_i)², twice the KL divergence of two Gaussians with one σ. (N,)"""
    return jnp.sum(((other - mean) * jnp.exp(-log_std)) ** 2, axis=-1)


def categorical_distance(logits: Array, other: Array) -> jax.Array:
    """KL(π(s) || π(s~)) of two categorical distributions. (N,)"""
    log_p, log_q = jax.nn.log_softmax(logits), jax.nn.log_softmax(other)
    return jnp.sum(jnp.exp(log_p) * (log_p - log_q), axis=-1)


def state_regularisation(distance: Array, importance: Array) -> jax.Array:
    """Eq. (6): L_reg = 1/N Σ w(s_t) max_{s~ ∈ B_eps(s_t)} Dist(π(s_t), π(s~)), given those maxima."""
    return jnp.mean(importance * distance)


def policy_distance(
    policy: Any, head: Array, other: Array, unit_std: bool = False, detach_std: bool = False
) -> jax.Array:
    """The distance of a policy's kind between two of its outputs; `unit_std` ignores a Gaussian's σ."""
    if policy.discrete:
        return categorical_distance(head, other)
    log_std = jnp.zeros(()) if unit_std else policy.log_std
    return gaussian_distance(head, other, jax.lax.stop_gradient(log_std) if detach_std else log_std)
