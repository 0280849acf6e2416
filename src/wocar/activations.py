"""Activations in PyTorch's form, which JAX has not or has not exactly; keys of the tables of bounds and layers."""

import jax
import jax.numpy as jnp


def elu(x: jax.Array) -> jax.Array:
    """x above 0, exp(x) - 1 below."""
    return jnp.where(x > 0, x, jnp.expm1(jnp.minimum(x, 0.0)))


def leaky_relu(x: jax.Array) -> jax.Array:
    """x above 0, x / 100 below."""
    return jnp.where(x > 0, x, LEAK * x)


def silu(x: jax.Array) -> jax.Array:
    """x σ(x)."""
    return x * jax.nn.sigmoid(x)


def gelu(x: jax.Array) -> jax.Array:
    """x Φ(x), with the error function and not its approximation by tanh."""
    return x * (1 + jax.lax.erf(x / jnp.sqrt(2.0))) / 2


LEAK = 0.01
