"""Policies over normalised observations, batch first."""

import math
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.networks.layers import forward, mlp


class GaussianPolicy(eqx.Module):
    """N(mu(s), diag sigma^2) with a state-independent log sigma; actions are neither squashed nor clipped."""

    network: eqx.nn.Sequential
    log_std: jax.Array
    discrete: ClassVar[bool] = False
    stochastic: ClassVar[bool] = True

    @classmethod
    def create(
        cls, obs_size: int, action_size: int, key: jax.Array, hidden: tuple[int, ...] = (64, 64), init_std: float = 1.0
    ) -> "GaussianPolicy":
        network = mlp([obs_size, *hidden, action_size], key, head_gain=0.01)
        return cls(network, jnp.full(action_size, math.log(init_std), jnp.float32))

    def head(self, obs: jax.Array) -> jax.Array:
        return forward(self.network, obs)

    mode = head

    def log_prob(self, obs: jax.Array, actions: jax.Array) -> jax.Array:
        return self.log_prob_given(self.head(obs), actions)

    def log_prob_given(self, head: jax.Array, actions: jax.Array) -> jax.Array:
        return gaussian_log_prob(head, self.log_std, actions)

    def entropy(self, obs: jax.Array) -> jax.Array:
        return gaussian_entropy(self.log_std, len(obs))

    def held(self, state: Any) -> Self:
        return self

    def onward(self, obs: jax.Array, rows: jax.Array) -> Self:
        return self


class CategoricalPolicy(eqx.Module):
    """softmax(logits(s)) over discrete actions."""

    network: eqx.nn.Sequential
    discrete: ClassVar[bool] = True
    stochastic: ClassVar[bool] = True

    @classmethod
    def create(cls, obs_size: int, action_size: int, key: jax.Array, hidden: tuple[int, ...] = (64, 64)) -> Self:
        return cls(mlp([obs_size, *hidden, action_size], key, head_gain=0.01))

    def head(self, obs: jax.Array) -> jax.Array:
        return forward(self.network, obs)

    def mode(self, obs: jax.Array) -> jax.Array:
        return jnp.argmax(self.head(obs), axis=-1)

    def log_prob(self, obs: jax.Array, actions: jax.Array) -> jax.Array:
        return self.log_prob_given(self.head(obs), actions)

    def log_prob_given(self, head: jax.Array, actions: jax.Array) -> jax.Array:
        return categorical_log_prob(head, actions)

    def entropy(self, obs: jax.Array) -> jax.Array:
        return categorical_entropy(self.head(obs))

    def held(self, state: Any) -> Self:
        return self

    def onward(self, obs: jax.Array, rows: jax.Array) -> Self:
        return self


class GreedyPolicy(CategoricalPolicy):
    """argmax Q(s, .), deterministic; where probabilities are needed, softmax(Q(s, .))."""

    stochastic: ClassVar[bool] = False


def gaussian_log_prob(mean: jax.Array, log_std: jax.Array, actions: jax.Array) -> jax.Array:
    z = (actions - mean) * jnp.exp(-log_std)
    return -0.5 * jnp.sum(z**2, axis=-1) - jnp.sum(log_std) - 0.5 * math.log(2 * math.pi) * z.shape[-1]


def gaussian_entropy(log_std: jax.Array, n: int) -> jax.Array:
    value = jnp.sum(log_std) + 0.5 * math.log(2 * math.pi * math.e) * log_std.shape[0]
    return jnp.broadcast_to(value, (n,))


def categorical_log_prob(logits: jax.Array, actions: jax.Array) -> jax.Array:
    return jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]


def categorical_entropy(logits: jax.Array) -> jax.Array:
    log_p = jax.nn.log_softmax(logits)
    return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)
