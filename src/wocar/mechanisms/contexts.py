"""Contexts of SAC's critics: which attack goes on, as a vector that critics see and the policy never does."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from wocar.types import Array

FLAGS = 3
"""Of the worst critic's attack, of the natural critic's, and of acting without noise."""


class Context(NamedTuple):
    """The parts of t (N, actions + 3); all zeros: no attack, sampled actions."""

    director: Array
    """The action direction in {-1, 0, 1}^actions that a constant director pushes in, (N, actions)."""
    worst: Array
    """1 where the attacker minimises this context's own value: here the critic is the worst critic. (N,)"""
    natural: Array
    """1 where the attacker minimises the value of the unattacked policy. (N,)"""
    mean: Array
    """1 where the policy acts with its mean. (N,)"""

    @property
    def vector(self) -> jax.Array:
        flags = jnp.stack([self.worst, self.natural, self.mean], axis=-1)
        return jnp.concatenate([self.director, flags], axis=-1)

    @property
    def attacked(self) -> jax.Array:
        """(N,)"""
        return jnp.any(self.vector[:, :-1] != 0, axis=-1)


class Shares(NamedTuple):
    """How often each context is drawn."""

    worst: Array | float
    director: Array | float
    natural: Array | float
    mean: Array | float


def draw_contexts(key: jax.Array, count: int, actions: int, shares: Shares) -> Context:
    """A context for each sample, independent of how its transition came about: any transition serves all of them."""
    u = jax.random.uniform(key, (count, actions + 2))
    first, second = u[:, 0], u[:, 1]
    worst = first < shares.worst
    by_critic = shares.worst + shares.natural
    natural = (first >= shares.worst) & (first < by_critic)
    directed = (first >= by_critic) & (first < by_critic + shares.director)
    director = jnp.where(directed[:, None], jnp.floor(3 * u[:, 2:]) - 1, 0.0)
    return Context(director, _float(worst), _float(natural), _float(second < shares.mean))


def _float(flag: jax.Array) -> jax.Array:
    return flag.astype(jnp.float32)


def worst_context(actions: int) -> jax.Array:
    """t of the worst critic, of the sampled policy. (contexts,)"""
    return jnp.zeros(actions + FLAGS).at[actions].set(1.0)
