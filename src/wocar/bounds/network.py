"""Bounds of a network over a ball, by method."""

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
"""Sequential layers, or an LSTM with a fixed state between such layers."""


def network_bounds(network: Network, ball: Ball, center: Array, method: BoundMethod = "crown") -> Interval:
    """Elementwise bounds of the network's outputs over the ball around each state of (B, *obs_shape).

    "ibp", "crown-ibp" and "crown" contain every output, each tighter and more expensive than the one before. "pgd" is
    an inner bound: it contains only the outputs that a search has reached, and guarantees nothing. In an LSTM the gates
    are multiplied as intervals; methods other than "ibp" tighten the result by derivatives.
    """
    if method not in METHODS:
        raise ValueError(f"unknown bound method {method!r}: choose one of {', '.join(METHODS)}")
    if method == "pgd" or isinstance(network, nn.Sequential):
        return METHODS[method](network, ball, center)  # type: ignore[arg-type]
    return held_bounds(network, ball, center, by_slopes=method != "ibp")
