"""One door to all bounds of a network over a ball."""

from collections.abc import Callable
from typing import Literal

from equinox import nn

from wocar.bounds.ball import Ball
from wocar.bounds.interval import interval_bounds
from wocar.bounds.linear import crown_bounds, crown_ibp_bounds
from wocar.bounds.lstm import HeldNetwork, held_bounds
from wocar.bounds.search import searched_bounds
from wocar.types import Array, Interval

BoundMethod = Literal["ibp", "crown-ibp", "crown", "pgd"]

METHODS: dict[BoundMethod, Callable[[nn.Sequential, Ball, Array], Interval]] = {
    "ibp": interval_bounds,
    "crown-ibp": crown_ibp_bounds,
    "crown": crown_bounds,
    "pgd": searched_bounds,
}


Network = nn.Sequential | HeldNetwork
"""Layers in a row, or an LSTM between such with its state held still."""


def network_bounds(network: Network, ball: Ball, center: Array, method: BoundMethod = "crown") -> Interval:
    """Elementwise bounds of the network's outputs over the ball around each state of (B, *obs_shape).

    "ibp", "crown-ibp" and "crown" hold every output, each tighter and dearer than the one before. "pgd" comes from
    inside: it holds only what a search has reached, and is no guarantee. Through an LSTM gates multiply as intervals,
    which slopes tighten beyond "ibp".
    """
    if method not in METHODS:
        raise ValueError(f"unknown bound method {method!r}: choose one of {', '.join(METHODS)}")
    if method == "pgd" or isinstance(network, nn.Sequential):
        return METHODS[method](network, ball, center)  # type: ignore[arg-type]
    return held_bounds(network, ball, center, by_slopes=method != "ibp")
