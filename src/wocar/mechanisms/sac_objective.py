"""What SAC hands to an objective: its batch, its critics, and the signal that improves its actor."""

from collections.abc import Callable
from dataclasses import dataclass
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
    """Twin critics Q(s, a) of actions in [-1, 1], or Q(s, a, t) where an objective has contexts t (N, contexts)."""

    one: Any
    other: Any

    def values(self, obs: Array, actions: Array, context: Array | None = None) -> jax.Array:
        """Of each critic, (2, N)."""
        more = () if context is None else (context,)
        return jnp.stack([self.one(obs, actions, *more), self.other(obs, actions, *more)])

    def mean(self, obs: Array, actions: Array, context: Array | None = None) -> jax.Array:
        return self.values(obs, actions, context).mean(axis=0)

    def least(self, obs: Array, actions: Array, context: Array | None = None) -> jax.Array:
        more = () if context is None else (context,)
        return jnp.minimum(self.one(obs, actions, *more), self.other(obs, actions, *more))


class ActorSignal(NamedTuple):
    """What the policy is shown at s when it is improved, and what its action is worth at the true s.

    `policy` and `critics` are those that an adversary may look at while it chooses what is shown.
    """

    shown: Array
    value: Value
    policy: Any
    critics: Critics
    key: jax.Array
    noisy: Array | None = None
    """(N,): 1 where the action is sampled, 0 where it is the mean; None: sampled everywhere."""
    attacked: Array | None = None
    """The attacked state, which mechanism 3 compares with s."""
    importance: Array | None = None
    """w(s) for mechanism 3, (N,); None: 1."""


class SACNotes(NamedTuple):
    """How the critics' target is formed."""

    next_shown: Array | None = None
    """What the policy is shown at s'; None: s' itself."""
    context: Array | None = None
    """The context (N, contexts) that each transition is evaluated in; None: there are no contexts."""
    noisy: Array | None = None
    """(N,): 1 where a' is sampled, 0 where it is the mean; None: sampled everywhere."""
    chosen: tuple[Array, Array] | None = None
    """Rows (N,) where a' is given, and these actions (N, actions); None: it is always the policy's."""


@dataclass(frozen=True)
class SACLoss(BaseLoss):
    """The actor's loss on a batch, with what it was shown and what it answered: mean and log sigma (N, actions)."""

    signal: ActorSignal
    moments: tuple[Array, Array]


class SACObjective(Objective[SACBatch, ActorSignal, SACLoss, Any]):
    """SAC lends its target critics to `evaluate`, which returns SACNotes or None. All doors of this one are closed."""

    behaviour: Any = None
    """Perturbed acting while data is collected (`wocar.mechanisms.behaviour`); None: as SAC acts."""

    def contexts(self, actions: int) -> int:
        """Size of the critics' context; 0: critics Q(s, a)."""
        return 0

    def act(
        self, policy: Any, critics: Critics, obs: Array, noise: Array, attackers: Any, seed: Array, progress: Array
    ) -> jax.Array:
        """Actions in [-1, 1] while data is collected, (n, actions); `attackers` are those of `behaviour`, or None."""
        actions: jax.Array = policy.sample(obs, noise)[0]
        return actions

    def exported(self, critics: Critics) -> dict[str, Any]:
        """Critics Q(s, a) of the saved agent, by name."""
        return {"q": critics.one, "q-twin": critics.other}
