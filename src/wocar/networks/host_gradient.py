"""Vector-Jacobian products of dense networks in NumPy: for small batches faster than dispatching a jitted function."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.activations import LEAK, elu, leaky_relu
from wocar.networks.host import HOST, host_function

PullBack = Callable[[np.ndarray], np.ndarray]
HostVjp = Callable[[np.ndarray], tuple[np.ndarray, PullBack]]


def _tanh_slope(y: np.ndarray) -> np.ndarray:
    square = y * y
    return np.subtract(1, square, out=square)


_SLOPES: dict[Any, Callable[[np.ndarray], np.ndarray]] = {  # at the activation's output
    jnp.tanh: _tanh_slope,
    jax.nn.relu: lambda y: y > 0,
    jax.nn.sigmoid: lambda y: y * (1 - y),
    elu: lambda y: np.minimum(y, 0) + 1,
    leaky_relu: lambda y: np.where(y > 0, y.dtype.type(1), y.dtype.type(LEAK)),
}


def host_vjp(network: eqx.nn.Sequential) -> HostVjp | None:
    """`jax.vjp` of the network on batches: x -> (y, pull back), row by row; None where a layer is not dense."""
    steps, fresh = [], False  # whether a layer's input may be overwritten
    for layer in network.layers:
        pull = _pull(layer)
        if pull is None:
            return None
        in_place = fresh and isinstance(layer, eqx.nn.Lambda)
        steps.append((HOST[layer.fn] if in_place else host_function(eqx.nn.Sequential([layer])), pull))
        fresh = isinstance(layer, eqx.nn.Linear)

    def vjp(x: np.ndarray) -> tuple[np.ndarray, PullBack]:
        outputs = []
        for forward, _ in steps:
            x = forward(x)
            outputs.append(x)

        def back(cotangent: np.ndarray) -> np.ndarray:
            for (_, pull), y in zip(reversed(steps), reversed(outputs), strict=True):
                cotangent = pull(cotangent, y)
            return cotangent

        return x, back

    return vjp


def _pull(layer: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
    if isinstance(layer, eqx.nn.Linear):
        weight = np.asarray(layer.weight)
        return lambda c, y: c @ weight
    slope = _SLOPES.get(layer.fn) if isinstance(layer, eqx.nn.Lambda) else None
    return None if slope is None else lambda c, y: c * slope(y)
