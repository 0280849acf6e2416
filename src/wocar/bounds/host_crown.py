"""CROWN on the host, in NumPy: bounds of a dense network around one state in a fraction of a millisecond.

The same bounds as `crown_bounds`, for control loops: dispatching a jitted function costs more than the products.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from equinox import nn

from wocar.bounds.host_ball import HostBall
from wocar.bounds.relaxation import _TOUCH

Vector: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

TOUCH = _TOUCH.astype(np.float64)
CELLS = np.arange(len(TOUCH), dtype=np.float64)
ROUNDING = 1e-5
"""Share by which bounds are widened: networks act in float32."""


class Lines(NamedTuple):
    """|f(x) - (slope x + offset)| <= slack x + gap on an interval."""

    slope: Vector
    offset: Vector
    slack: Vector
    gap: Vector


class Dense(NamedTuple):
    weight: Vector
    bias: Vector
    size: Vector
    """|weight|."""


class HostCrown:
    """Bounds of the network's outputs over a ball around a state; dense layers with tanh, ReLU or sigmoid between."""

    def __init__(self, network: nn.Sequential) -> None:
        self.parts: list[Dense | Relaxation] = []
        for layer in network.layers:
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                weight = np.asarray(layer.weight, np.float64)
                self.parts.append(Dense(weight, np.asarray(layer.bias, np.float64), np.abs(weight)))
            elif isinstance(layer, nn.Lambda) and layer.fn in RELAXATIONS:
                self.parts.append(RELAXATIONS[layer.fn])
            elif not isinstance(layer, nn.Identity) and not (isinstance(layer, nn.Lambda) and layer.fn is jnp.ravel):
                raise TypeError(f"no bounds on the host for {layer!r}")
        if not self.parts or not isinstance(self.parts[0], Dense):
            raise TypeError("bounds on the host begin with a dense layer")

    def __call__(self, ball: HostBall, state: Vector) -> tuple[Vector, Vector]:
        """Lower and upper bounds of the outputs around a normalised state (obs,)."""
        z = state.astype(np.float64)
        radius = np.asarray(ball.radius, np.float64)
        low, high = z - radius, z + radius
        if ball.low is not None or ball.high is not None:
            low, high = np.clip(low, ball.low, ball.high), np.clip(high, ball.low, ball.high)
        around = _Around(z, (low + high) / 2, (high - low) / 2, radius if ball.norm == "l2" else None)
        relaxed: list[Dense | Lines] = []
        for part in self.parts:
            if isinstance(part, Dense):
                middle, reach = part.weight @ ((low + high) / 2) + part.bias, part.size @ ((high - low) / 2)
                low, high = middle - reach, middle + reach
                relaxed.append(part)
                tight = around.bounds(relaxed)
                low, high = np.maximum(low, tight[0]), np.minimum(high, tight[1])
                high = np.maximum(low, high)
            else:
                relaxed.append(part.lines(low, high))
                low, high = part.value(low), part.value(high)
        if not isinstance(self.parts[-1], Dense):
            return low - ROUNDING, high + ROUNDING
        slack = ROUNDING * (1 + np.maximum(np.abs(low), np.abs(high)))
        return low - slack, high + slack


class _Around(NamedTuple):
    """The ball: its center, the middle and half width of its box, and for l_2 its radii."""

    center: Vector
    middle: Vector
    half: Vector
    radii: Vector | None

    def bounds(self, relaxed: list[Dense | Lines]) -> tuple[Vector, Vector]:
        """Bounds of the last dense layer: rows of it and of its negative go back to the input as lower planes."""
        last = relaxed[-1]
        assert isinstance(last, Dense)
        rows, offset = np.concatenate([last.weight, -last.weight]), np.concatenate([last.bias, -last.bias])
        for part in reversed(relaxed[:-1]):
            if isinstance(part, Dense):
                offset = offset + rows @ part.bias
                rows = rows @ part.weight
            else:
                size = np.abs(rows)
                offset = offset + rows @ part.offset - size @ part.gap
                rows = rows * part.slope - size * part.slack
        least = rows @ self.middle - np.abs(rows) @ self.half
        if self.radii is not None:
            least = np.maximum(least, rows @ self.center - np.sqrt((rows * self.radii) ** 2 @ np.ones(rows.shape[1])))
        lower, upper = np.split(least + offset, 2)
        return lower, -upper


class Relaxation(NamedTuple):
    value: Callable[[Vector], Vector]
    lines: Callable[[Vector, Vector], Lines]


def between(below: tuple[Vector, Vector], above: tuple[Vector, Vector]) -> Lines:
    slopes, offsets = (below[0] + above[0]) / 2, (below[1] + above[1]) / 2
    return Lines(slopes, offsets, (above[0] - below[0]) / 2, (above[1] - below[1]) / 2)


def relu_lines(low: Vector, high: Vector) -> Lines:
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    slope = high / np.maximum(high - low, 1e-6)
    return between(((high > -low).astype(np.float64), np.zeros_like(slope)), (slope, -slope * low))


def tanh_lines(low: Vector, high: Vector) -> Lines:
    middle, at_low, at_high = (low + high) / 2, np.tanh(low), np.tanh(high)
    width = high - low
    wide = width > 1e-3
    slope = np.where(wide, (at_high - at_low) / np.where(wide, width, 1.0), 1 - at_low * at_high)
    chord = slope, at_low - slope * low
    touch_low, touch_high = _touch(high), -_touch(-low)
    below, above = _tangent(np.minimum(middle, touch_low)), _tangent(np.maximum(middle, touch_high))
    under, over = low >= touch_low, high <= touch_high
    return between(
        (np.where(under, chord[0], below[0]), np.where(under, chord[1], below[1])),
        (np.where(over, chord[0], above[0]), np.where(over, chord[1], above[1])),
    )


def sigmoid_lines(low: Vector, high: Vector) -> Lines:
    """sigmoid(x) = (1 + tanh(x / 2)) / 2."""
    slope, offset, slack, gap = tanh_lines(low / 2, high / 2)
    return Lines(slope / 4, (1 + offset) / 2, slack / 4, gap / 2)


def _tangent(point: Vector) -> tuple[Vector, Vector]:
    value = np.tanh(point)
    slope = 1 - value**2
    return slope, value - slope * point


def _touch(x: Vector) -> Vector:
    """The point whose tangent runs through (x, tanh x), or a little left of it; x itself left of 0."""
    right = np.maximum(x, 0.0)
    found = np.interp(right / (1 + right) * (len(TOUCH) - 1), CELLS, TOUCH)
    return np.where(x > 0, found, x)


RELAXATIONS: dict[Any, Relaxation] = {
    jnp.tanh: Relaxation(np.tanh, tanh_lines),
    jax.nn.relu: Relaxation(lambda x: np.maximum(x, 0.0), relu_lines),
    jax.nn.sigmoid: Relaxation(lambda x: 0.5 * (1 + np.tanh(x / 2)), sigmoid_lines),
}
