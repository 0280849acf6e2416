"""The ball on the host, in NumPy: for environments that step in Python."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from wocar.bounds.ball import Ball, Norm

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.floating[Any]]]


@dataclass(frozen=True)
class HostBall:
    """`Ball` with one radius for all states, for moves that start at the center."""

    eps: float
    norm: Norm
    low: Any = None
    high: Any = None
    scale: Numbers | None = None

    @classmethod
    def of(cls, ball: Ball) -> "HostBall":
        scale = None if ball.scale is None else np.asarray(ball.scale)
        low, high = (x if x is None else np.asarray(x, np.float32) for x in (ball.low, ball.high))
        return cls(float(ball.eps), ball.norm, low, high, scale)

    def moved(self, center: Numbers, u: Numbers) -> Numbers:
        """center + radius * u, u being in the unit ball; cut to the limits."""
        x = center + self.radius * u
        return x if self.low is None and self.high is None else np.clip(x, self.low, self.high)

    def direction(self, gradient: Numbers) -> Numbers:
        """The steepest step in units of the radius, as `Ball.direction`."""
        if self.norm == "linf":
            return np.sign(gradient)
        if self.scale is not None:
            gradient = gradient * self.scale
        return gradient / np.maximum(_length(gradient), 1e-12)

    @property
    def radius(self) -> float | Numbers:
        return self.eps if self.scale is None else np.float32(self.eps) * self.scale

    def in_unit_ball(self, u: Numbers) -> Numbers:
        """u cut to the unit ball, so that `moved` does what `Ball.project` does of center + radius * u."""
        if self.norm == "linf":
            return np.clip(u, -1, 1)
        movable = u if self.scale is None else np.where(self.scale > 0, u, np.float32(0))
        return movable / np.maximum(_length(movable), 1)


def _length(x: Numbers) -> Numbers:
    length: Numbers = np.sqrt(np.sum(x * x, axis=tuple(range(1, x.ndim)), keepdims=True))
    return length
