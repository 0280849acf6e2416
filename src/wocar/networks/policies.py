"""Stochastic policies over normalised observations, batch first."""

import math
from typing import ClassVar, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.networks.layers import forward, mlp


class Policy(Protocol):
    """`head` is what bounds and distances look at: the Gaussian's mean or the logits."""

    network: eqx.nn.Sequential
    discrete: ClassVar[bool]

    def head(self, obs: jax.Array) -> jax.Array: ...

    def mode(self, obs: jax.Array) -> jax.Array: ...

    def log_prob(self, obs: jax.Array, actions: jax.Array) -> jax.Array: ...

    def entropy(self, obs: jax.Array) -> jax.Array: ...


class GaussianPolicy(eqx.Module):
    """N(mu(s), diag sigma^2) with a state-independent log sigma; actions are neither squashed nor clipped."""

    network: eqx.nn.Sequential
    log_std: jax.Array
    discrete: ClassVar[bool] = False

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
        z = (actions - self.head(obs)) * jnp.exp(-self.log_std)
        return -0.5 * jnp.sum(z**2, axis=-1) - jnp.sum(self.log_std) - 0.5 * math.log(2 * math.pi) * z.shape[-1]

    def entropy(self, obs: jax.Array) -> jax.Array:
        value = jnp.sum(self.log_std) + 0.5 * math.log(2 * math.pi * math.e) * self.log_std.shape[0]
        return jnp.broadcast_to(value, obs.shape[:1])


class CategoricalPolicy(eqx.Module):
    """softmax(logits(s)) over discrete actions."""

    network: eqx.nn.Sequential
    discrete: ClassVar[bool] = True

    @classmethod
    def create(
        cls, obs_size: int, action_size: int, key: jax.Array, hidden: tuple[int, ...] = (64, 64)
    ) -> "CategoricalPolicy":
        return cls(mlp([obs_size, *hidden, action_size], key, head_gain=0.01))

    def head(self, obs: jax.Array) -> jax.Array:
        return forward(self.network, obs)

    def mode(self, obs: jax.Array) -> jax.Array:
        return jnp.argmax(self.head(obs), axis=-1)

    def log_prob(self, obs: jax.Array, actions: jax.Array) -> jax.Array:
        log_p = jax.nn.log_softmax(self.head(obs))
        return jnp.take_along_axis(log_p, actions[:, None], axis=-1)[:, 0]

    def entropy(self, obs: jax.Array) -> jax.Array:
        log_p = jax.nn.log_softmax(self.head(obs))
        return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)
