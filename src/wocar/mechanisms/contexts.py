"""Contexts of SAC's critics: which attack goes on, as a vector that critics see and the policy never does."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from wocar.types import Array

FLAGS = 3
"""Of the worst critic's attack, of the short-sighted critic's, and of acting without noise."""


class Context(NamedTuple):
    """The parts of t (N, actions + 3); all zeros: no attack, sampled actions."""

    director: Array
    """The action direction in {-1, 0, 1}^actions that a constant director pushes in, (N, actions)."""
    worst: Array
    """1 where the attacker minimises this context's own value: here the critic is the worst critic. (N,)"""
    short: Array
    """1 where the attacker minimises the short-sighted critic. (N,)"""
    mean: Array
    """1 where the policy acts with its mean. (N,)"""

    @property
    def vector(self) -> jax.Array:
        return jnp.concatenate([self.director, jnp.stack([self.worst, self.short, self.mean], axis=-1)], axis=-1)

    @property
    def attacked(self) -> jax.Array:
        """(N,)"""
        return (self.worst > 0) | (self.short > 0) | jnp.any(self.director != 0, axis=-1)


class Shares(NamedTuple):
    """How often each context is drawn."""

    worst: Array | float
    director: Array | float
    short: Array | float
    mean: Array | float


def draw_contexts(key: jax.Array, count: int, actions: int, shares: Shares) -> Context:
    """A context for each sample, independent of how its transition came about: any transition serves all of them."""
    u = jax.random.uniform(key, (count, actions + 2))
    first, second = u[:, 0], u[:, 1]
    worst = first < shares.worst
    short = (first >= shares.worst) & (first < shares.worst + shares.short)
    directed = (first >= shares.worst + shares.short) & (first < shares.worst + shares.short + shares.director)
    director = jnp.where(directed[:, None], jnp.floor(3 * u[:, 2:]) - 1, 0.0)
    flags = (x.astype(jnp.float32) for x in (worst, short, second < shares.mean))
    return Context(director, *flags)


def worst_context(actions: int) -> jax.Array:
    """t of the worst critic, of the sampled policy. (contexts,)"""
    return jnp.zeros(actions + FLAGS).at[actions].set(1.0)
