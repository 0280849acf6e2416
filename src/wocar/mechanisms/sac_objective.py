"""Objectives of SAC: the three doors, with what the policy is shown in the place of advantages."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from wocar.mechanisms.objective import Info
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

    def least(self, obs: Array, actions: Array) -> jax.Array:
        return jnp.minimum(self.one(obs, actions), self.other(obs, actions))


class Evaluation(NamedTuple):
    """What the policy is shown at s' when the critics' target is formed."""

    next_shown: Array


class Improvement(NamedTuple):
    """What the policy is shown at s when it is improved, what its action is worth at the true s, and for mechanism 3
    the observations where its output is to stay still, with each state's weight."""

    shown: Array
    value: Value
    still: Array | None = None
    importance: Array | None = None


class SACObjective(Protocol):
    @property
    def critics(self) -> int:
        """How many worst critics `init` is to be given."""

    def init(self, critics: list[Any]) -> Any:
        """The objective's own training state."""

    def evaluate(
        self, extra: Any, policy: Any, target: Critics, batch: SACBatch, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Evaluation, Info]:
        """Mechanism 1: the worst-attack value of what was seen."""

    def improve(
        self, extra: Any, policy: Any, critics: Critics, batch: SACBatch, key: jax.Array, progress: jax.Array
    ) -> Improvement:
        """Mechanism 2: where and by which value the actor is improved."""

    def loss(
        self, base: jax.Array, policy: Any, batch: SACBatch, better: Improvement, key: jax.Array, progress: jax.Array
    ) -> jax.Array:
        """Mechanism 3: the actor's loss around the base's."""


class VanillaSAC(NamedTuple):
    """All doors closed: SAC itself."""

    critics: int = 0

    def init(self, critics: list[Any]) -> Any:
        return ()

    def evaluate(
        self, extra: Any, policy: Any, target: Critics, batch: SACBatch, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Evaluation, Info]:
        return extra, Evaluation(batch.next_obs), {}

    def improve(
        self, extra: Any, policy: Any, critics: Critics, batch: SACBatch, key: jax.Array, progress: jax.Array
    ) -> Improvement:
        return Improvement(batch.obs, critics.least)

    def loss(
        self, base: jax.Array, policy: Any, batch: SACBatch, better: Improvement, key: jax.Array, progress: jax.Array
    ) -> jax.Array:
        return base
