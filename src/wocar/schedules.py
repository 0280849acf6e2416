"""Schedules over training progress in [0, 1], for the radius eps(t), the weight kappa_wst(t) and others."""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

ScheduleKind = Literal["constant", "linear", "cubic", "exponential", "smoothed", "stage"]


@dataclass(frozen=True)
class Schedule:
    """From 0 at `begin` to `value` at `end` (fractions of training), then constant."""

    value: float
    kind: ScheduleKind = "linear"
    begin: float = 0.0
    end: float = 1.0

    def __call__(self, progress: jax.Array | float) -> jax.Array:
        x = jnp.clip((progress - self.begin) / max(self.end - self.begin, 1e-9), 0.0, 1.0)
        return self.value * _SHAPES[self.kind](x)


def _exponential(x: jax.Array) -> jax.Array:
    """Exponential from 1e-10 to the line's value at a quarter of the way, then the line: slow, then steady."""
    quarter = 0.25
    return jnp.where(x < quarter, quarter * (1e-10 / quarter) ** (1 - x / quarter) * (x > 0), x)


def _smoothed(x: jax.Array) -> jax.Array:
    """A quartic start over the first quarter that meets a line with the same slope; ends at 1."""
    quarter = 0.25
    slope = 1 / (quarter / 4 + (1 - quarter))  # quartic reaches slope * quarter / 4 at the seam
    quartic = slope * quarter / 4 * (x / quarter) ** 4
    line = slope * (quarter / 4 + x - quarter)
    return jnp.where(x < quarter, quartic, line)


_SHAPES = {
    "constant": jnp.ones_like,
    "linear": lambda x: x,
    "cubic": lambda x: x**3,
    "exponential": _exponential,
    "smoothed": _smoothed,
    "stage": lambda x: (x >= 1.0).astype(jnp.float32),
}
