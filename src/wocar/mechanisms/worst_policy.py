"""Mechanism 2: worst-case-aware policy optimisation."""

import jax
import jax.numpy as jnp

from wocar.types import Array


def worst_policy_loss(probabilities: Array, q_worst: Array) -> jax.Array:
    """Eq. (4): L_wst = -1/N Σ_t Σ_a π(a|s_t) Q_worst(s_t, a). Both (N, actions)."""
    return -jnp.mean(jnp.sum(probabilities * q_worst, axis=-1))


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
