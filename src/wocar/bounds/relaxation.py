"""Linear relaxation of activations: a band between two lines. Smooth ReLUs are in `smooth_relaxation`.

tanh is convex left of 0 and concave right of it. Let touch(u) be the point whose tangent runs through (u, tanh u); for
u <= 0 that is u itself. Below tanh, on [l, u], lies
- the chord from l to u, if l >= touch(u);
- else every tangent at a point d <= touch(u); the one closest to tanh on average has d = (l + u) / 2, if allowed.
The line above follows by symmetry: tanh(-x) = -tanh(x).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wocar.activations import elu, gelu, leaky_relu, silu
from wocar.bounds.band import Band, Line, between
from wocar.bounds.smooth_relaxation import GELU, SILU, elu_band, leaky_relu_band, wave_band
from wocar.types import Array, Interval


def relu_band(box: Interval) -> Band:
    """Above: the chord. Below: x or 0, whichever is nearer on average."""
    low, high = jnp.minimum(box.lower, 0.0), jnp.maximum(box.upper, 0.0)
    slope = high / jnp.maximum(high - low, 1e-6)
    mostly_on = (high > -low).astype(slope.dtype)
    return between(Line(mostly_on, jnp.zeros_like(slope)), Line(slope, -slope * low))


def tanh_band(box: Interval) -> Band:
    lower, upper = box
    middle = (lower + upper) / 2
    touch_below, touch_above = _touch(upper), -_touch(-lower)
    chord = _chord(lower, upper)
    below = _choose(lower >= touch_below, chord, _tangent(jnp.minimum(middle, touch_below)))
    above = _choose(upper <= touch_above, chord, _tangent(jnp.maximum(middle, touch_above)))
    return between(below, above)


def sigmoid_band(box: Interval) -> Band:
    """sigmoid(x) = (1 + tanh(x / 2)) / 2."""
    center, margin = tanh_band(Interval(box.lower / 2, box.upper / 2))
    return Band(Line(center.slope / 4, (1 + center.offset) / 2), Line(margin.slope / 4, margin.offset / 2))


RELAXATIONS: dict[Any, Callable[[Interval], Band]] = {
    jnp.tanh: tanh_band,
    jax.nn.sigmoid: sigmoid_band,
    jax.nn.relu: relu_band,
    elu: elu_band,
    leaky_relu: leaky_relu_band,
    silu: lambda box: wave_band(SILU, box),
    gelu: lambda box: wave_band(GELU, box),
}


def _tangent(point: Array) -> Line:
    value = jnp.tanh(point)
    slope = 1 - value**2
    return Line(slope, value - slope * point)


def _chord(lower: Array, upper: Array) -> Line:
    """Through both ends; its slope tends to 1 - tanh(lower) tanh(upper) as they meet."""
    at_lower, at_upper = jnp.tanh(lower), jnp.tanh(upper)
    wide = upper - lower > 1e-3
    slope = jnp.where(wide, (at_upper - at_lower) / jnp.where(wide, upper - lower, 1.0), 1 - at_lower * at_upper)
    return Line(slope, at_lower - slope * lower)


def _choose(condition: Array, one: Line, other: Line) -> Line:
    return Line(jnp.where(condition, one.slope, other.slope), jnp.where(condition, one.offset, other.offset))


def _touch(x: Array) -> Array:
    """touch(x), or a little left of it."""
    position = jnp.maximum(x, 0.0)
    position = position / (1 + position) * (len(_TOUCH) - 1)
    left = jnp.minimum(position.astype(jnp.int32), len(_TOUCH) - 2)
    table = jnp.asarray(_TOUCH)
    touch = table[left] + (position - left) * (table[left + 1] - table[left])
    return jnp.where(x > 0, touch, x)


def _touch_table(size: int) -> np.ndarray:
    """touch(x) on a grid of x / (1 + x) in [0, 1], by bisection.

    It is concave in x / (1 + x): between grid points linear interpolation stays left of it, where tangents are valid.
    At infinity the tangent is the constant -1.
    """
    grid = np.arange(size) / size
    x = grid / (1 - grid)
    left, right = np.full(size, -20.0), np.zeros(size)
    for _ in range(60):
        point = (left + right) / 2
        valid = np.tanh(point) + (x - point) / np.cosh(point) ** 2 <= np.tanh(x)
        left, right = np.where(valid, point, left), np.where(valid, right, point)
    return np.append(left, -20.0).astype(np.float32)


_TOUCH = _touch_table(1024)
