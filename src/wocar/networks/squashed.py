"""Squashed policies: tanh of a network, scaled to the action range."""

from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.networks.layers import ACTIVATIONS, forward, linear, mlp, uniform_weights
from wocar.types import Array

LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0


class SquashedPolicy(eqx.Module):
    """low + (tanh(body(s)) + 1) / 2 * (high - low): the actor of TD3, or the mean of SAC's."""

    body: eqx.nn.Sequential
    low: jax.Array
    high: jax.Array
    discrete: ClassVar[bool] = False
    stochastic: ClassVar[bool] = False

    @property
    def network(self) -> eqx.nn.Sequential:
        """The body and the squash as layers, so that bounds of the network are bounds of the actions."""
        return squashed(self.body, self.low, self.high)

    def head(self, obs: jax.Array) -> jax.Array:
        return forward(self.network, obs)

    mode = head

    def held(self, state: Any) -> Self:
        return self

    def onward(self, obs: jax.Array, rows: jax.Array) -> Self:
        return self


class SquashedGaussianPolicy(eqx.Module):
    """SAC's actor: tanh(u) scaled to the action range, u ~ N(mu(s), diag sigma(s)^2); its mode is at tanh(mu).

    The body's outputs are mu and log sigma, one after the other.
    """

    body: eqx.nn.Sequential
    low: jax.Array
    high: jax.Array
    discrete: ClassVar[bool] = False
    stochastic: ClassVar[bool] = True

    @classmethod
    def create(cls, obs_size: int, low: Array, high: Array, key: jax.Array, hidden: tuple[int, ...]) -> Self:
        body = uniform_weights(mlp([obs_size, *hidden, 2 * len(low)], key, activation="relu"), key)
        return cls(body, jnp.asarray(low, jnp.float32), jnp.asarray(high, jnp.float32))

    @property
    def mean_network(self) -> eqx.nn.Sequential:
        """mu(s), before the squash."""
        *layers, last = self.body.layers
        size = len(self.low)
        return eqx.nn.Sequential([*layers, linear(last.weight[:size], last.bias[:size])])

    @property
    def network(self) -> eqx.nn.Sequential:
        """The mode as layers, so that bounds of the network are bounds of the actions."""
        return squashed(self.mean_network, self.low, self.high)

    def head(self, obs: jax.Array) -> jax.Array:
        return forward(self.network, obs)

    mode = head

    def moments(self, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """mu(s) and log sigma(s), (B, actions) each."""
        mean, log_std = jnp.split(forward(self.body, obs), 2, axis=-1)
        return mean, jnp.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)

    @property
    def unit(self) -> SquashedPolicy:
        """The mode in [-1, 1], as a policy of its own."""
        size = len(self.low)
        return SquashedPolicy(self.mean_network, -jnp.ones(size), jnp.ones(size))

    def unit_mode(self, obs: jax.Array) -> jax.Array:
        """tanh(mu(s)), in [-1, 1]."""
        return jnp.tanh(self.moments(obs)[0])

    def sample(self, obs: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
        """tanh(mu + sigma * noise) in [-1, 1], (B, actions), and its log-probability, (B,)."""
        return self.sample_at(self.moments(obs), noise)

    def sample_at(self, moments: tuple[jax.Array, jax.Array], noise: jax.Array) -> tuple[jax.Array, jax.Array]:
        mean, log_std = moments
        u = mean + jnp.exp(log_std) * noise
        return jnp.tanh(u), squashed_log_prob(u, noise, log_std)

    def scaled(self, unit_actions: jax.Array) -> jax.Array:
        """Actions in [-1, 1] as the environment takes them."""
        return self.low + (unit_actions + 1) / 2 * (self.high - self.low)

    def held(self, state: Any) -> Self:
        return self

    def onward(self, obs: jax.Array, rows: jax.Array) -> Self:
        return self


def squashed_log_prob(u: jax.Array, noise: jax.Array, log_std: jax.Array) -> jax.Array:
    """log p(tanh(u)) = log N(u) - Σ log(1 - tanh(u)²), the last in a form that does not overflow. (B,)"""
    gaussian = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
    return jnp.sum(gaussian - 2 * (jnp.log(2.0) - u - jax.nn.softplus(-2 * u)), axis=-1)


def squashed(body: eqx.nn.Sequential, low: jax.Array, high: jax.Array) -> eqx.nn.Sequential:
    """low + (tanh(body) + 1) / 2 * (high - low) as layers."""
    middle, reach = (high + low) / 2, (high - low) / 2
    return eqx.nn.Sequential([*body.layers, eqx.nn.Lambda(ACTIVATIONS["tanh"]), linear(jnp.diag(reach), middle)])
