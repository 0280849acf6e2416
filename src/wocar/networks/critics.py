"""Critics over normalised observations, batch first."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.networks.layers import forward, linear, mlp


class ValueCritic(eqx.Module):
    """V(s): (B, obs) -> (B,)."""

    network: eqx.nn.Sequential

    @classmethod
    def create(cls, obs_size: int, key: jax.Array, hidden: tuple[int, ...] = (64, 64)) -> "ValueCritic":
        return cls(mlp([obs_size, *hidden, 1], key))

    def __call__(self, obs: jax.Array) -> jax.Array:
        return forward(self.network, obs)[:, 0]


class ActionCritic(eqx.Module):
    """Q(s, a) for continuous actions: (B, obs), (B, actions) -> (B,)."""

    network: eqx.nn.Sequential

    @classmethod
    def create(
        cls, obs_size: int, action_size: int, key: jax.Array, hidden: tuple[int, ...] = (64, 64)
    ) -> "ActionCritic":
        return cls(mlp([obs_size + action_size, *hidden, 1], key))

    def __call__(self, obs: jax.Array, actions: jax.Array) -> jax.Array:
        return forward(self.network, jnp.concatenate([obs, actions], axis=-1))[:, 0]

    def in_units(self, low: jax.Array, high: jax.Array) -> "ActionCritic":
        """Of a critic of actions in [-1, 1]: that of actions in [low, high]; the first layer takes the scale."""
        first, *rest = self.network.layers
        middle, reach = (high + low) / 2, (high - low) / 2
        of_state, of_action = first.weight[:, : -len(reach)], first.weight[:, -len(reach) :] / reach
        scaled = linear(jnp.concatenate([of_state, of_action], axis=1), first.bias - of_action @ middle)
        return ActionCritic(eqx.nn.Sequential([scaled, *rest]))


class DiscreteCritic(eqx.Module):
    """Q(s, .) for discrete actions: (B, obs) -> (B, actions)."""

    network: eqx.nn.Sequential

    @classmethod
    def create(
        cls, obs_size: int, action_size: int, key: jax.Array, hidden: tuple[int, ...] = (64, 64)
    ) -> "DiscreteCritic":
        return cls(mlp([obs_size, *hidden, action_size], key))

    def __call__(self, obs: jax.Array) -> jax.Array:
        return forward(self.network, obs)


class DuelingActionCritic(eqx.Module):
    """Q(s, a) = V(s) + A(s, a) with a network each: the small effect of an action is not hidden by the error of V."""

    state: eqx.nn.Sequential
    action: eqx.nn.Sequential

    @classmethod
    def create(
        cls, obs_size: int, action_size: int, key: jax.Array, hidden: tuple[int, ...] = (64, 64)
    ) -> "DuelingActionCritic":
        state_key, action_key = jax.random.split(key)
        return cls(mlp([obs_size, *hidden, 1], state_key), mlp([obs_size + action_size, *hidden, 1], action_key, 0.1))

    def __call__(self, obs: jax.Array, actions: jax.Array) -> jax.Array:
        return forward(self.state, obs)[:, 0] + forward(self.action, jnp.concatenate([obs, actions], axis=-1))[:, 0]


class TwinCritic(eqx.Module):
    """Two critics of one kind; the value is the larger of the two, so that a minimum over actions is low for both.

    The minimum of a single critic is found where it errs most, and bootstrapping from it makes the error grow.
    """

    one: Any
    other: Any

    @property
    def members(self) -> tuple[Any, Any]:
        return self.one, self.other

    def __call__(self, *inputs: jax.Array) -> jax.Array:
        return jnp.maximum(self.one(*inputs), self.other(*inputs))
