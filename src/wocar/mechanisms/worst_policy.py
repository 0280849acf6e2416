"""Mechanism 2: worst-case-aware policy optimisation."""

import jax
import jax.numpy as jnp

from wocar.types import Array

REACH = 0.2
"""How far, in standard deviations, an action may move before a slope taken once no longer pulls: PPO's clip."""


def worst_policy_loss(expected: Array) -> jax.Array:
    """Eq. (4): L_wst = -1/N Σ_t Σ_a π(a|s_t) Q_worst(s_t, a), given the sums over actions. (N,)"""
    return -jnp.mean(expected)


def categorical_expectation(logits: Array, q_worst: Array) -> jax.Array:
    """Σ_a π(a|s) Q_worst(s, a). Both (N, actions)."""
    return jnp.sum(jax.nn.softmax(logits) * q_worst, axis=-1)


def gaussian_expectation(mean: Array, log_std: Array, noise: Array, before: Array, slope: Array) -> jax.Array:
    """E Q_worst(s, μ + σξ) by one sample ξ a state, less its value at the action μ + σξ taken `before`. (N,)

    To first order in how far the action has moved since: its gradient there is that of the expectation. A move of more
    than REACH σ gains nothing more, as in PPO's surrogate.
    """
    move, reach = mean + jnp.exp(log_std) * noise - before, REACH * jax.lax.stop_gradient(jnp.exp(log_std))
    return jnp.sum(jnp.minimum(slope * move, slope * jnp.clip(move, -reach, reach)), axis=-1)


def robust_advantage(advantage: Array, worst: Array, kappa: Array | float, own_scale: bool) -> Array:
    """The policy-gradient form: what multiplies ∇log π, A + κ Q_worst, as standardised samples (N,).

    `own_scale`: the worst-attack term is standardised by its own spread (the released form); otherwise by the
    advantage's, which keeps the two in the same units when the term is itself an advantage.
    """
    spread = jnp.std(advantage) + 1e-8
    worst_spread = jnp.std(worst) + 1e-8 if own_scale else spread
    return (advantage - advantage.mean()) / spread + kappa * (worst - worst.mean()) / worst_spread


def mixed_values(q_natural: Array, q_worst: Array, kappa: Array | float) -> Array:
    """The greedy form: values whose argmax acts, (1 - κ) Q_v + κ Q_worst. (N, actions)"""
    return (1 - kappa) * q_natural + kappa * q_worst
