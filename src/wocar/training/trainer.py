"""Protocol of trainers, which collect and learn and are driven by the training loop."""

from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from wocar.agent import Agent
from wocar.types import VectorEnv


class Iteration(NamedTuple):
    """Result of one iteration: episodes that ended, numbers to log, and arrays that must be finite."""

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
        """The current agent."""

    def parts(self) -> dict[str, Any]:
        """Everything learned, by name; a checkpoint needs it to be finite."""

    def state(self) -> Any:
        """The arrays of a checkpoint beside the agent's; also the template that `restore`'s are read by."""

    def data(self) -> dict[str, Any]:
        """The numbers of a checkpoint."""

    def restore(self, agent: Agent, state: Any, data: dict[str, Any]) -> None:
        """Continue from a checkpoint."""

    def finish(self) -> None:
        """Clean up after the final agent was saved."""
