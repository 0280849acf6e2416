"""Critic that also knows which attack goes on: Q(s, a, t)."""

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.networks.critics import ActionCritic
from wocar.networks.layers import forward, linear
from wocar.types import Array


class ContextCritic(eqx.Module):
    """Q(s, a, t): the context t (B, contexts) is added to the first layer, so that at one t it is a plain critic."""

    network: eqx.nn.Sequential
    context: jax.Array
    """(hidden, contexts); zeros at first: then no context differs from another."""

    @classmethod
    def create(cls, critic: ActionCritic, contexts: int) -> "ContextCritic":
        hidden = critic.network.layers[0].weight.shape[0]
        return cls(critic.network, jnp.zeros((hidden, contexts), jnp.float32))

    def __call__(self, obs: Array, actions: Array, context: Array | None = None) -> jax.Array:
        first, *rest = self.network.layers
        x = jnp.concatenate([obs, actions], axis=-1) @ first.weight.T + first.bias
        if context is not None:
            x = x + context @ self.context.T
        return forward(eqx.nn.Sequential(rest), x)[:, 0]

    def at(self, context: Array | None = None) -> ActionCritic:
        """The critic of one context (contexts,), folded into the bias of the first layer; None: all zeros."""
        first, *rest = self.network.layers
        bias = first.bias if context is None else first.bias + self.context @ context
        return ActionCritic(eqx.nn.Sequential([linear(first.weight, bias), *rest]))
