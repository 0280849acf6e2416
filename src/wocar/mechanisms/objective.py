"""Objectives: what is added to a base algorithm, through three doors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import jax

from wocar.bounds import Ball
from wocar.types import Array, Batch, Limits

Info = dict[str, jax.Array]
Base = TypeVar("Base", contravariant=True)
Data = TypeVar("Data", contravariant=True)
Loss = TypeVar("Loss", contravariant=True)
Signal = TypeVar("Signal")


class Objective(Protocol[Base, Data, Signal, Loss]):
    """L_π = L_RL + κ_wst L_wst + κ_reg L_reg: the base algorithm is L_RL, an objective the rest.

    Each door is open or closed. What a base algorithm brings has its own types: a Base that helps with mechanism 1, a
    batch (Data), the Signal that improves its policy, and its policy Loss. Notes go from the first door to the others:
    a NamedTuple of the objective's own, whose arrays have one row per row of the batch.
    """

    @property
    def critics(self) -> int:
        """How many critics `init` is to be given."""

    def init(self, critics: Any, obs_shape: tuple[int, ...]) -> Any:
        """The objective's own training state."""

    def evaluate(
        self, state: Any, policy: Any, batch: Data, base: Base, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Any, Info]:
        """Mechanism 1: the worst-attack value of what was seen. Returns the next state and the notes."""

    def improve(self, signal: Signal, batch: Data, notes: Any, progress: jax.Array) -> Signal:
        """Mechanism 2: what multiplies the policy gradient (PPO, A2C), or in what the best action is sought (DQN)."""

    def loss(
        self, base: Loss, policy: Any, batch: Data, notes: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        """Mechanism 3: the policy's loss, given the base algorithm's own, which it adds to, mixes or replaces."""


@dataclass(frozen=True)
class BaseLoss:
    """The policy loss of a base algorithm on one minibatch."""

    value: jax.Array
    info: Info


@dataclass(frozen=True)
class PolicyLoss(BaseLoss):
    """That of a stochastic policy: a mean over samples, each of which can be asked at other probabilities."""

    log_prob: jax.Array
    """log π(a|s), (N,)."""
    advantages: jax.Array
    """What `improve` returned, (N,)."""
    at: Callable[[Array, Array], jax.Array]
    """The losses (N,) if the actions had these log-probabilities and these advantages."""


class Discounted(Protocol):
    @property
    def gamma(self) -> float: ...


PolicyObjective = Objective[Discounted, Batch, jax.Array, PolicyLoss]
"""For PPO and A2C: advantages (N,) improve the policy."""


class Vanilla:
    """All doors closed: the base algorithm itself."""

    critics = 0

    def init(self, critics: Any, obs_shape: tuple[int, ...]) -> Any:
        return ()

    def evaluate(
        self, state: Any, policy: Any, batch: Any, base: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Any, Info]:
        return state, None, {}

    def improve(self, signal: Signal, batch: Any, notes: Any, progress: jax.Array) -> Signal:
        return signal

    def loss(
        self, base: Any, policy: Any, batch: Any, notes: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        return base.value, base.info


class BallConfig(Protocol):
    def ball(self, progress: jax.Array, limits: Limits) -> Ball: ...


@dataclass(frozen=True)
class InBall(Vanilla):
    """What objectives share whose loss looks at a ball around each observation."""

    config: BallConfig
    limits: Limits = None

    def ball(self, progress: jax.Array) -> Ball:
        return self.config.ball(progress, self.limits)

    def evaluate(
        self, state: Any, policy: Any, batch: Any, base: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Any, Info]:
        return state, None, {"eps": self.ball(progress).eps}


def standardise(x: jax.Array) -> jax.Array:
    return (x - x.mean()) / (x.std() + 1e-8)
