"""Linear relaxation of ELU, LeakyReLU, SiLU and GELU.

ELU and LeakyReLU are convex: below lies any tangent, above the chord. SiLU and GELU are convex between -b and b and
concave outside; both lines around them have the slope of the chord, and the offset is the largest and smallest
difference f(x) - slope x on the interval, which is at an end or where f'(x) = slope, once in each of the three parts.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from wocar.activations import LEAK, elu, gelu, silu
from wocar.bounds.band import Band, Line, between
from wocar.types import Array, Interval

NARROW = 1e-2
STEPS = 24
ROUNDING = 2e-6
"""Relative error of the lines in single precision."""


class Wave(NamedTuple):
    """A function that falls to one minimum and rises after it; f'' changes its sign at ±bend."""

    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    lowest: float
    """Where the minimum is."""
    bend: float


def _silu_slope(x: Array) -> Array:
    s = jax.nn.sigmoid(x)
    return s * (1 + x * (1 - s))


def _gelu_slope(x: Array) -> Array:
    density = jnp.exp(-(x**2) / 2) / jnp.sqrt(2 * jnp.pi)
    return (1 + jax.lax.erf(x / jnp.sqrt(2.0))) / 2 + x * density


SILU = Wave(silu, _silu_slope, -1.2784645, 2.3993573)
GELU = Wave(gelu, _gelu_slope, -0.7517916, 2**0.5)


def wave_interval(wave: Wave, box: Interval) -> Interval:
    """Largest at an end; smallest at the minimum, or at the end next to it."""
    f = wave.function
    return Interval(f(jnp.clip(wave.lowest, *box)), jnp.maximum(f(box.lower), f(box.upper)))


def wave_band(wave: Wave, box: Interval) -> Band:
    lower, upper = box
    f, slope = wave.function, _chord_slope(wave.function, wave.derivative, box)
    parts = [(lower, -wave.bend), (-wave.bend, wave.bend), (wave.bend, upper)]
    inner = [jnp.clip(_solve(wave.derivative, slope, _within(box, *part)), lower, upper) for part in parts]
    offsets = jnp.stack([f(x) - slope * x for x in (lower, upper, *inner)])
    slack = ROUNDING * (1 + jnp.maximum(jnp.abs(lower), jnp.abs(upper)))
    return between(Line(slope, offsets.min(axis=0) - slack), Line(slope, offsets.max(axis=0) + slack))


def elu_band(box: Interval) -> Band:
    lower, upper = box
    middle = (lower + upper) / 2
    tangent, chord = _elu_slope(middle), _chord_slope(elu, _elu_slope, box)
    above = jnp.maximum(elu(lower) - chord * lower, elu(upper) - chord * upper)
    return between(Line(tangent, elu(middle) - tangent * middle), Line(chord, above))


def leaky_relu_band(box: Interval) -> Band:
    """Above: the chord. Below: x or x / 100, whichever is nearer on average."""
    low, high = jnp.minimum(box.lower, 0.0), jnp.maximum(box.upper, 0.0)
    share = high / jnp.maximum(high - low, 1e-6)
    chord = LEAK + (1 - LEAK) * share
    below = jnp.where(high > -low, 1.0, LEAK)
    return between(Line(below, jnp.zeros_like(below)), Line(chord, -(1 - LEAK) * share * low))


def _elu_slope(x: Array) -> Array:
    return jnp.exp(jnp.minimum(x, 0.0))


def _chord_slope(f: Callable[[Array], Array], derivative: Callable[[Array], Array], box: Interval) -> Array:
    """The slope between both ends; where they are close, that in the middle."""
    lower, upper = box
    wide = upper - lower > NARROW
    return jnp.where(wide, (f(upper) - f(lower)) / jnp.where(wide, upper - lower, 1.0), derivative((lower + upper) / 2))


def _within(box: Interval, start: Array, end: Array) -> Interval:
    """The part of the box between two points; a point of it where there is none."""
    lower = jnp.clip(start, *box)
    return Interval(lower, jnp.maximum(jnp.clip(end, *box), lower))


def _solve(derivative: Callable[[Array], Array], slope: Array, box: Interval) -> Array:
    """Where the monotone derivative is nearest to a slope, by bisection. A constant for gradients, by the envelope
    theorem: the difference is flat there.
    """
    lower, upper, slope = (jax.lax.stop_gradient(x + jnp.zeros_like(slope)) for x in (*box, slope))
    rising = derivative(upper) > derivative(lower)

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        lower, upper = ends
        middle = (lower + upper) / 2
        left = (derivative(middle) < slope) != rising  # the solution is left of the middle
        return jnp.where(left, lower, middle), jnp.where(left, middle, upper)

    lower, upper = jax.lax.fori_loop(0, STEPS, halve, (lower, upper))
    return (lower + upper) / 2
