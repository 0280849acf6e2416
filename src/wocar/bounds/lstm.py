"""Bounds of an LSTM cell with a fixed state: the gates are bounded, then multiplied as intervals."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from equinox import nn

from wocar.bounds.ball import Ball
from wocar.bounds.interval import intersect, step
from wocar.bounds.linear import crown_ibp_bounds
from wocar.types import Array, Interval


class HeldNetwork(Protocol):
    """embedding -> LSTM cell -> output with a fixed hidden and cell state for each row of a batch."""

    @property
    def network(self) -> Any: ...

    @property
    def state(self) -> Any: ...

    def __call__(self, obs: Array) -> jax.Array: ...

    def take(self, rows: Array) -> "HeldNetwork": ...


class Gates(NamedTuple):
    """Bounds of the four gates before their squashing, (B, hidden) each."""

    i: Interval
    f: Interval
    g: Interval
    o: Interval


def held_bounds(held: HeldNetwork, ball: Ball, center: Array, by_slopes: bool) -> Interval:
    """Bounds of the outputs over the ball around each row.

    `by_slopes`: also bound the output by its derivatives, exact to first order; intervals alone lose the dependence
    between units.
    """
    to_gates, offset = gate_inputs(held)
    lower, upper = crown_ibp_bounds(to_gates, ball, center)  # exact where no activation comes before the gates
    gates = Gates(*map(Interval, *(jnp.split(x + offset, 4, axis=-1) for x in (lower, upper))))
    cell = cell_bounds(gates, held.state.c)
    hidden = times(squash(jax.nn.sigmoid, gates.o), squash(jnp.tanh, cell))
    box = jax.vmap(lambda lower, upper: _through(held.network.output, Interval(lower, upper)))(*hidden)
    affine = all(isinstance(layer, nn.Linear) for layer in (*to_gates.layers, *held.network.output.layers))
    if not (by_slopes and affine):
        return box
    return intersect(box, _by_slopes(held, to_gates, gates, cell, ball, center))


def gate_inputs(held: HeldNetwork) -> tuple[nn.Sequential, jax.Array]:
    """The gates as a network of the observation, plus an offset (B, 4 hidden) from the fixed state and the bias."""
    cell = held.network.cell
    layer = nn.Linear(cell.weight_ih.shape[1], cell.weight_ih.shape[0], key=jax.random.key(0))
    values = (cell.weight_ih, jnp.zeros(cell.weight_ih.shape[0]))
    layer = eqx.tree_at(lambda layer: (layer.weight, layer.bias), layer, values)
    return nn.Sequential([*held.network.embedding.layers, layer]), cell.bias + held.state.h @ cell.weight_hh.T


def cell_bounds(gates: Gates, c: Array) -> Interval:
    """c' = σ(f) c + σ(i) tanh(g) with c fixed."""
    kept = times(squash(jax.nn.sigmoid, gates.f), Interval(c, c))
    new = times(squash(jax.nn.sigmoid, gates.i), squash(jnp.tanh, gates.g))
    return Interval(kept.lower + new.lower, kept.upper + new.upper)


def squash(increasing: Callable[[Array], Array], box: Interval) -> Interval:
    return Interval(increasing(box.lower), increasing(box.upper))


def times(one: Interval, other: Interval) -> Interval:
    """Interval product."""
    products = [a * b for a in one for b in other]
    return Interval(
        jnp.minimum(jnp.minimum(products[0], products[1]), jnp.minimum(products[2], products[3])),
        jnp.maximum(jnp.maximum(products[0], products[1]), jnp.maximum(products[2], products[3])),
    )


def _through(network: nn.Sequential, box: Interval) -> Interval:
    for layer in network.layers:
        box = step(layer, box)
    return box


def _by_slopes(
    held: HeldNetwork, to_gates: nn.Sequential, gates: Gates, cell: Interval, ball: Ball, center: Array
) -> Interval:
    """Mean value theorem: the output moves by at most eps times the largest slope that the gates' bounds allow."""
    inputs, outputs = jax.jacobian(to_gates)(center[0]), jax.jacobian(held.network.output)(cell.lower[0])
    state = held.state
    sigmoid_o = squash(jax.nn.sigmoid, gates.o)
    by_cell = times(sigmoid_o, slope(jnp.tanh, cell))
    slopes = (
        times(by_cell, times(slope(jax.nn.sigmoid, gates.i), squash(jnp.tanh, gates.g))),
        times(by_cell, times(slope(jax.nn.sigmoid, gates.f), Interval(state.c, state.c))),
        times(by_cell, times(squash(jax.nn.sigmoid, gates.i), slope(jnp.tanh, gates.g))),
        times(slope(jax.nn.sigmoid, gates.o), squash(jnp.tanh, cell)),
    )
    low, high = (jnp.stack(x, axis=1) for x in zip(*slopes, strict=True))  # (B, 4, hidden)
    inputs = inputs.reshape(4, -1, center.shape[-1])
    middle = jnp.einsum("mh,bqh,qhd->bmd", outputs, (low + high) / 2, inputs)
    radius = jnp.einsum("mh,bqh,qhd->bmd", jnp.abs(outputs), (high - low) / 2, jnp.abs(inputs))
    steepest = (jnp.abs(middle) + radius) * ball.scales(center[0])
    length = steepest.sum(axis=-1) if ball.norm == "linf" else jnp.sqrt(jnp.sum(steepest**2, axis=-1) + 1e-20)
    reach, here = jnp.reshape(ball.eps, (-1, 1)) * length, held(center)
    return Interval(here - reach, here + reach)


def slope(squashing: Callable[[Array], Array], box: Interval) -> Interval:
    """Bounds of the derivative of tanh or σ, which decreases on both sides of 0."""
    derivative = jax.vmap(jax.grad(squashing))
    nearest = jnp.clip(0.0, box.lower, box.upper)
    farthest = jnp.where(jnp.abs(box.lower) > jnp.abs(box.upper), box.lower, box.upper)
    return Interval(*(derivative(x.ravel()).reshape(x.shape) for x in (farthest, nearest)))
