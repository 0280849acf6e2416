"""The observation normaliser: part of the agent, because eps is measured after it."""

from typing import NamedTuple

import numpy as np


class RunningNormaliser(NamedTuple):
    """z = clip((o - mean) / (std + 1e-8), -clip, clip) with running mean and sample standard deviation.

    float64 on the host: a dimension that never changes has std 0 and must give exactly 0, which float32 would not.
    """

    mean: np.ndarray
    square: np.ndarray
    """Sum of squared deviations from the mean."""
    count: float  # type: ignore[assignment]
    clip: float = 10.0

    @classmethod
    def create(cls, shape: tuple[int, ...], clip: float = 10.0) -> "RunningNormaliser":
        return cls(np.zeros(shape), np.zeros(shape), 0.0, clip)

    @property
    def std(self) -> np.ndarray:
        if self.count < 2:
            return np.ones_like(self.mean)
        return np.sqrt(self.square / (self.count - 1))

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        z = (obs - self.mean) / (self.std + 1e-8)
        return np.clip(z, -self.clip, self.clip).astype(np.float32)

    def update(self, obs: np.ndarray) -> "RunningNormaliser":
        """Merge a batch (..., *shape) into the statistics (Chan's parallel form of Welford's recursion)."""
        batch = np.asarray(obs, dtype=np.float64).reshape(-1, *self.mean.shape)
        n = len(batch)
        mean = batch[0] + (batch - batch[0]).mean(axis=0)  # exact where a dimension is constant
        square = ((batch - mean) ** 2).sum(axis=0)
        delta, total = mean - self.mean, self.count + n
        return self._replace(
            mean=self.mean + delta * (n / total),
            square=self.square + square + delta**2 * (self.count * n / total),
            count=total,
        )
