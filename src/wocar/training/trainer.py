"""What the loop asks of those who collect and learn; on_policy and off_policy answer."""

from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from wocar.agent import Agent
from wocar.types import VectorEnv


class Iteration(NamedTuple):
    """What one iteration brought: episodes that ended, numbers to log, and what must be finite for it to go on."""

    returns: list[float]
    lengths: list[int]
    info: dict[str, jax.Array]
    watched: dict[str, Any]


class Trainer(Protocol):
    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        """Fresh environments, at the start and after each checkpoint."""

    def iterate(self, iteration: int) -> Iteration:
        """Collect and learn once."""

    def agent(self) -> Agent:
        """The agent as it now is."""

    def parts(self) -> dict[str, Any]:
        """Everything learnt, by name: what a checkpoint must find finite."""

    def state(self) -> Any:
        """The arrays of a checkpoint beside the agent's; also the template that `restore`'s are read by."""

    def data(self) -> dict[str, Any]:
        """The numbers of a checkpoint."""

    def restore(self, agent: Agent, state: Any, data: dict[str, Any]) -> None:
        """Go on from a checkpoint."""

    def finish(self) -> None:
        """The training is done and its agent saved."""
