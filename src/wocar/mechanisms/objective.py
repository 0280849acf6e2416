"""Objectives: what is added to a base algorithm, through three doors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import jax

from wocar.bounds import Ball
from wocar.types import Array, Batch, Limits, Policy

Info = dict[str, jax.Array]


@dataclass(frozen=True)
class BaseLoss:
    """The policy loss of a base algorithm on one minibatch."""

    value: jax.Array
    info: Info


@dataclass(frozen=True)
class PolicyLoss(BaseLoss):
    """That of PPO and A2C: a mean over samples, each of which can be asked at other probabilities."""

    log_prob: jax.Array
    """log π(a|s), (N,)."""
    advantages: jax.Array
    """What `improve` returned, (N,)."""
    at: Callable[[Array, Array], jax.Array]
    """The losses (N,) if the actions had these log-probabilities and these advantages."""
    head: jax.Array
    """The policy's output at the minibatch; what uses it too is differentiated in one pass."""


Data = TypeVar("Data")
Signal = TypeVar("Signal")
Loss = TypeVar("Loss", bound=BaseLoss)
Notes = TypeVar("Notes")


class Objective(Generic[Data, Signal, Loss, Notes]):
    """L_π = L_RL + κ_wst L_wst + κ_reg L_reg: the base algorithm is L_RL, an objective the rest.

    All doors of this one are closed. A base algorithm has its own batch (Data), Signal that improves its policy, and
    policy Loss; Notes are the objective's own, arrays with one row per row of the batch (PPO cuts both to minibatches).
    """

    @property
    def critics(self) -> int:
        """How many critics `init` is to be given."""
        return 0

    @property
    def lagged(self) -> bool:
        """Whether the notes of `evaluate` do not depend on the state that it returns: PPO then finds both at once."""
        return False

    def init(self, critics: Any, obs_shape: tuple[int, ...]) -> Any:
        """The objective's own training state."""
        return ()

    def evaluate(
        self, state: Any, policy: Policy, batch: Data, base: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Notes | None, Info]:
        """Mechanism 1: the worst-attack value of what was seen. `base` is what the base algorithm lends for it."""
        return state, None, {}

    def improve(self, signal: Signal, batch: Data, notes: Notes, progress: jax.Array) -> Signal:
        """Mechanism 2: what multiplies the policy gradient (PPO, A2C), or in what the best action is sought (DQN)."""
        return signal

    def loss(
        self, base: Loss, policy: Policy, batch: Data, notes: Notes, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        """Mechanism 3: the policy's loss, made of the base algorithm's own: a sum, a mixture, another in its place."""
        return base.value, base.info


Vanilla = Objective
"""The base algorithm itself."""
PolicyObjective = Objective[Batch, jax.Array, PolicyLoss, Any]
"""For PPO and A2C, which lend their settings (AlgorithmConfig) and are improved by advantages (N,)."""


@dataclass(frozen=True)
class InBall(Objective[Data, Signal, Loss, Notes]):
    """What objectives share that look at a ball around each observation."""

    config: Any
    """Makes the ball; each objective has its own."""
    limits: Limits = None

    def ball(self, progress: jax.Array) -> Ball:
        ball: Ball = self.config.ball(progress, self.limits)
        return ball

    def evaluate(
        self, state: Any, policy: Policy, batch: Data, base: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Notes | None, Info]:
        return state, None, {"eps": self.ball(progress).eps}


def standardise(x: jax.Array) -> jax.Array:
    return (x - x.mean()) / (x.std() + 1e-8)
