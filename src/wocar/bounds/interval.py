"""Interval bound propagation (App. C.1)."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from equinox import nn

from wocar.activations import elu, gelu, leaky_relu, silu
from wocar.bounds.ball import Ball, for_each_state
from wocar.bounds.smooth_relaxation import GELU, SILU, wave_interval
from wocar.types import Array, Interval


def interval_bounds(network: nn.Sequential, ball: Ball, center: Array) -> Interval:
    """Bounds of the network over the ball around each state of (B, *obs_shape), by interval arithmetic."""

    def around_one(ball: Ball, state: Array) -> Interval:
        first, *rest = network.layers
        box = first_step(first, ball, state)
        for layer in rest:
            box = step(layer, box)
        return box

    return for_each_state(around_one, ball, center)


def step(layer: Any, box: Interval) -> Interval:
    """Bounds of a layer's output from bounds of its input."""
    return RULES[kind(layer)](layer, box)


def first_step(layer: Any, ball: Ball, state: Array) -> Interval:
    """Bounds of the first layer over the ball: for l_2 an output's radius is eps times the norm of its weights, each
    times the scale of its input.
    """
    box = step(layer, ball.interval(state))
    reuses_pixels = getattr(layer, "padding_mode", "ZEROS") != "ZEROS"
    if ball.norm == "linf" or RULES[kind(layer)] is not _weighted or reuses_pixels:
        return box
    output, reach = layer(state), ball.eps * _row_lengths(layer, ball.scales(state))
    return intersect(box, Interval(output - reach, output + reach))


def intersect(one: Interval, other: Interval) -> Interval:
    """The intersection of two bounds; where rounding has left it empty, a point."""
    lower = jnp.maximum(one.lower, other.lower)
    return Interval(lower, jnp.maximum(jnp.minimum(one.upper, other.upper), lower))


def kind(layer: Any) -> Any:
    """The key of a layer in the tables of rules: its class, or the function inside a `Lambda`."""
    key = layer.fn if isinstance(layer, nn.Lambda) else nn.Conv2d if isinstance(layer, nn.Conv2d) else type(layer)
    if key not in RULES:
        raise TypeError(f"no bounds for layer {layer!r}: known are {', '.join(known.__name__ for known in RULES)}")
    return key


def _weighted(layer: Any, box: Interval) -> Interval:
    middle, radius = (box.lower + box.upper) / 2, (box.upper - box.lower) / 2
    output, reach = _apply(layer, middle), _apply(_with_weight(layer, jnp.abs(layer.weight)), radius)
    return Interval(output - reach, output + reach)


def _apply(layer: Any, x: Array) -> Array:
    """Convolutions by XLA: those from patches (networks/convolution.py) are slower in bounds."""
    return nn.Conv2d.__call__(layer, x) if isinstance(layer, nn.Conv2d) else layer(x)


def _increasing(layer: Any, box: Interval) -> Interval:
    return Interval(layer(box.lower), layer(box.upper))


def _row_lengths(layer: Any, scales: Array) -> Array:
    """l_2 norm of the weights each output gives to the inputs, times the inputs' scales."""
    return jnp.sqrt(jnp.maximum(_with_weight(layer, layer.weight**2)(scales**2), 1e-20))


def _with_weight(layer: Any, weight: Array) -> Callable[[Array], Array]:
    """The layer with another weight and no bias."""
    parts = (weight, jnp.zeros(()))
    changed: Callable[[Array], Array] = eqx.tree_at(
        lambda x: (x.weight, x.bias), layer, parts, is_leaf=lambda x: x is None
    )
    return changed


RULES: dict[Any, Callable[[Any, Interval], Interval]] = {
    nn.Linear: _weighted,
    nn.Conv2d: _weighted,
    nn.Identity: _increasing,
    jnp.ravel: _increasing,
    jnp.tanh: _increasing,
    jax.nn.sigmoid: _increasing,
    jax.nn.relu: _increasing,
    elu: _increasing,
    leaky_relu: _increasing,
    silu: lambda _, box: wave_interval(SILU, box),
    gelu: lambda _, box: wave_interval(GELU, box),
}
