"""What SAC hands to an objective: its batch, its critics, and the signal that improves its actor."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.mechanisms.objective import BaseLoss, Objective
from wocar.types import Array

Value = Callable[[Array, Array], jax.Array]
"""Observations and actions in [-1, 1] to values (N,)."""


class SACBatch(NamedTuple):
    """Transitions (N, ...) as the networks see them, actions in [-1, 1]; `discounts` multiply the value of next_obs."""

    obs: Array
    actions: Array
    rewards: Array
    next_obs: Array
    discounts: Array
    weights: Array


class Critics(NamedTuple):
    """Twin critics Q(s, a) of actions in [-1, 1]."""

    one: Any
    other: Any

    def values(self, obs: Array, actions: Array) -> jax.Array:
        """Of each critic, (2, N)."""
        return jnp.stack([self.one(obs, actions), self.other(obs, actions)])

    def mean(self, obs: Array, actions: Array) -> jax.Array:
        return self.values(obs, actions).mean(axis=0)

    def least(self, obs: Array, actions: Array) -> jax.Array:
        return jnp.minimum(self.one(obs, actions), self.other(obs, actions))


class ActorSignal(NamedTuple):
    """What the policy is shown at s when it is improved, and what its action is worth at the true s.

    `policy` and `critics` are those that an adversary may look at while it chooses what is shown.
    """

    shown: Array
    value: Value
    policy: Any
    critics: Critics
    key: jax.Array


class SACNotes(NamedTuple):
    """What the policy is shown at s' when the critics' target is formed; None: s' itself."""

    next_shown: Array | None = None


SACObjective = Objective[SACBatch, ActorSignal, BaseLoss, Any]
"""SAC lends its target critics; notes are SACNotes or have their field."""
