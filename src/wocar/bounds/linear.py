"""Linear bound propagation: CROWN (Zhang et al. 2018) and CROWN-IBP (Zhang et al. 2020).

Activations are replaced by bands of two lines, and the output is propagated back to the input.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from equinox import nn

from wocar.bounds.ball import Ball, for_each_state
from wocar.bounds.band import Band
from wocar.bounds.interval import first_step, intersect, kind, step
from wocar.bounds.relaxation import RELAXATIONS
from wocar.types import Array, Interval

CACHED_FLOATS = 2**18


def crown_bounds(network: nn.Sequential, ball: Ball, center: Array) -> Interval:
    """Bounds of the network over the ball around each state of (B, *obs_shape); intermediate bounds are CROWN's too.

    Every neuron is propagated back to the input: for large convolutions prefer `crown_ibp_bounds`.
    """
    return _bounds(network, ball, center, follow_neurons=True)


def crown_ibp_bounds(network: nn.Sequential, ball: Ball, center: Array) -> Interval:
    """Bounds of the network over the ball around each state of (B, *obs_shape); intermediate bounds are IBP's."""
    return _bounds(network, ball, center, follow_neurons=False)


class Affine(NamedTuple):
    """x -> L x + constant. `transpose` applies the transpose of L to one row; `matrix` is L where it is known."""

    constant: Array
    transpose: Callable[[Array], tuple[Array]]
    matrix: Array | None


class Plane(NamedTuple):
    """Quantities, one per row, that are at least <slope, x> + offset; x is the input of some layer."""

    slope: Array
    offset: Array


def _bounds(network: nn.Sequential, ball: Ball, center: Array, follow_neurons: bool) -> Interval:
    def around_one(ball: Ball, state: Array) -> Interval:
        box = ball.interval(state)
        relaxed: list[Affine | Band] = []
        for layer in network.layers:
            if kind(layer) in RELAXATIONS:
                if follow_neurons and len(relaxed) > 1:
                    box = intersect(box, _follow_back(relaxed, box.lower.shape, ball, state))
                relaxed.append(RELAXATIONS[kind(layer)](box))
            else:
                relaxed.append(_affine(layer, box.lower))
            box = step(layer, box) if len(relaxed) > 1 else first_step(layer, ball, state)
        return intersect(box, _follow_back(relaxed, box.lower.shape, ball, state))

    return for_each_state(around_one, ball, center, _states_at_once(network, center, follow_neurons))


def _states_at_once(network: nn.Sequential, center: Array, follow_neurons: bool) -> int:
    """As many as keep the rows on their way back within the processor's cache.

    All (0) where there are convolutions: inside a loop XLA does not hand them to its fast kernels, and they take ten
    times as long.
    """
    if any(isinstance(layer, nn.Conv2d) for layer in network.layers):
        return 0
    x = jax.eval_shape(lambda states: states[0], center)
    sizes: list[int] = [x.size]
    for layer in network.layers:
        x = jax.eval_shape(layer, x)
        sizes.append(x.size)
    rows = max(sizes[1:]) if follow_neurons else sizes[-1]
    return max(1, CACHED_FLOATS // (rows * max(sizes)))


def _affine(layer: Any, like: Array) -> Affine:
    constant, transpose = jax.vjp(layer, jnp.zeros_like(like))
    return Affine(constant, transpose, layer.weight if isinstance(layer, nn.Linear) else None)


def _follow_back(relaxed: Sequence[Affine | Band], shape: tuple[int, ...], ball: Ball, state: Array) -> Interval:
    """Bounds of the last part's output, of this shape: the minimum over the ball of it and of its negative."""
    match relaxed:
        case [*rest, Affine(matrix=w) as before, Band() as band, Affine(matrix=a) as after] if (
            w is not None and a is not None and w.shape[1] < a.shape[0]
        ):
            positive, negative = _through_dense(w, before.constant, band, a, after.constant)
        case [*rest]:
            rows, zeros = jnp.eye(math.prod(shape)).reshape(-1, *shape), jnp.zeros(math.prod(shape))
            positive, negative = Plane(rows, zeros), Plane(-rows, zeros)
    for part in reversed(rest):
        positive, negative = _through(part, positive), _through(part, negative)
    return Interval(_least(positive, ball, state).reshape(shape), -_least(negative, ball, state).reshape(shape))


def _through(part: Affine | Band, plane: Plane) -> Plane:
    """The plane in terms of the part's input. For a band: <a, f(x)> >= <a, center(x)> - <|a|, margin(x)>."""
    a = plane.slope
    if isinstance(part, Affine):
        (slope,) = jax.vmap(part.transpose)(a)
        return Plane(slope, plane.offset + _dot(a, part.constant))
    center, margin = part
    slope = a * center.slope - jnp.abs(a) * margin.slope
    return Plane(slope, plane.offset + _dot(a, center.offset) - _dot(jnp.abs(a), margin.offset))


def _through_dense(w: Array, b: Array, band: Band, a: Array, constant: Array) -> tuple[Plane, Plane]:
    """The planes of +-(a f(w x + b) + constant), as `_through` would find them, faster.

    `a` is the same for all states, so the narrower `w` is scaled by each state's slopes instead; both signs share the
    products; the transposes keep the long axis in the innermost loop.
    """
    center, margin = band
    slope, slope_margin = ((w.T * center.slope) @ a.T).T, ((w.T * margin.slope) @ jnp.abs(a).T).T
    offset = a @ (center.slope * b + center.offset) + constant
    offset_margin = jnp.abs(a) @ (margin.slope * b + margin.offset)
    return Plane(slope - slope_margin, offset - offset_margin), Plane(-slope - slope_margin, -offset - offset_margin)


def _least(plane: Plane, ball: Ball, state: Array) -> Array:
    """Minimum of each row over the ball: its value at the center minus the radius times the dual norm of its slope."""
    lower, upper = ball.interval(state)
    in_box = _dot(plane.slope, (lower + upper) / 2) - _dot(jnp.abs(plane.slope), (upper - lower) / 2)
    if ball.norm == "linf":
        return plane.offset + in_box
    length = jnp.sqrt(jnp.maximum(_dot(plane.slope**2, ball.scales(state) ** 2), 1e-20))
    return plane.offset + jnp.maximum(in_box, _dot(plane.slope, state) - ball.eps * length)


def _dot(rows: Array, x: Array) -> Array:
    return rows.reshape(len(rows), -1) @ x.reshape(-1)
