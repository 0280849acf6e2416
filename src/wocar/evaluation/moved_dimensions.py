"""Moved dimensions: where an attack moves the numbers of an observation, on average over the steps of an audit."""

import numpy as np

from wocar.agent import Agent
from wocar.bounds import Ball
from wocar.envs.names import observation_names
from wocar.evaluation.audit_result import Moved

MOST = 64
"""Vectors of more numbers, and images, are not taken apart."""


class MovedDimensions:
    """Sums of s~ - s and of its size in each dimension."""

    def __init__(self) -> None:
        self.steps, self._sum, self._size = 0, np.zeros(1), np.zeros(1)

    def add(self, z: np.ndarray, shown: np.ndarray) -> None:
        """A batch (B, *obs_shape) of true and of shown observations."""
        if z.ndim == 2 and z.shape[1] <= MOST:
            offset = np.asarray(shown, np.float64) - z
            self.steps += len(z)
            self._sum = self._sum + offset.sum(axis=0)
            self._size = self._size + np.abs(offset).sum(axis=0)

    def result(self, ball: Ball) -> Moved | None:
        """Means in units of the radius; None where nothing was added."""
        if not self.steps:
            return None
        zero = np.zeros((1, len(self._sum)))
        mean, size = (np.asarray(ball.offset(zero, x[None] / self.steps))[0] for x in (self._sum, self._size))
        return {"mean": [round(float(x), 4) for x in mean], "size": [round(float(x), 4) for x in size]}


def dimension_names(agent: Agent, env: str) -> list[str] | None:
    """One for each number of a vector that is taken apart."""
    shape = agent.spec.obs_shape
    return observation_names(env, shape[0]) if len(shape) == 1 and shape[0] <= MOST else None
