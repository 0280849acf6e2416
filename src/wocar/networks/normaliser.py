"""Observation normalisers: part of the agent, because eps is measured after them."""

from typing import NamedTuple

import numpy as np

from wocar.types import Limits


class RunningNormaliser(NamedTuple):
    """z = clip((o - mean) / (std + 1e-8), -clip, clip) with running mean and sample standard deviation.

    float64 in NumPy: a constant dimension has std 0 and must give exactly 0, which float32 would not.
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
        z = obs - self.mean
        z /= self.std + 1e-8
        return _cut(z, self.clip)

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

    @property
    def limits(self) -> Limits:
        """None: the clip is applied before the attack, and not again after it."""
        return None

    def fits(self, shape: tuple[int, ...]) -> bool:
        return self.mean.shape == self.square.shape == shape and self.count >= 0 and self.clip > 0


class ScaledNormaliser(NamedTuple):
    """z = clip((o - mean) / scale, -clip, clip) with constants, as from another library's statistics."""

    mean: np.ndarray
    scale: np.ndarray
    clip: float = 10.0

    @classmethod
    def identity(cls, shape: tuple[int, ...]) -> "ScaledNormaliser":
        return cls(np.zeros(shape), np.ones(shape), np.inf)

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        z = obs - self.mean
        z /= self.scale
        return _cut(z, self.clip)

    @property
    def limits(self) -> Limits:
        return None

    def fits(self, shape: tuple[int, ...]) -> bool:
        return self.mean.shape == self.scale.shape == shape and bool(np.all(self.scale > 0)) and self.clip > 0


class PixelNormaliser(NamedTuple):
    """z = o / 255, which stays in [0, 1] also under attack."""

    brightest: float = 255.0

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        return np.asarray(obs, np.float32) / np.float32(self.brightest)

    @property
    def limits(self) -> Limits:
        return 0.0, 1.0

    def fits(self, shape: tuple[int, ...]) -> bool:
        return self.brightest > 0


def affine(normaliser: "Normaliser") -> tuple[np.ndarray, np.ndarray]:
    """Mean and scale of z = (o - mean) / scale, before the clip."""
    if isinstance(normaliser, PixelNormaliser):
        return np.zeros(()), np.asarray(normaliser.brightest, np.float64)
    if isinstance(normaliser, RunningNormaliser):
        return normaliser.mean, normaliser.std + 1e-8
    return normaliser.mean, normaliser.scale


def changes_nothing(normaliser: "Normaliser") -> bool:
    """Whether what it returns is the observation, but for the clip."""
    mean, scale = affine(normaliser)
    return not np.any(mean) and bool(np.all(np.abs(scale - 1) < 1e-7))


def as_is(obs: np.ndarray) -> np.ndarray:
    """A copy, for observations that are not normalised here."""
    return np.array(obs, np.float32)


def _cut(z: np.ndarray, clip: float) -> np.ndarray:
    """Within ±clip; overwrites z. On small arrays `np.clip` takes several times as long."""
    np.minimum(z, clip, out=z)
    return np.maximum(z, -clip, out=z).astype(np.float32)


Normaliser = RunningNormaliser | ScaledNormaliser | PixelNormaliser
