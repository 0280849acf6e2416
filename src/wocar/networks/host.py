"""A network's forward pass on the host, for acting.

Dispatching a jitted function costs more than the whole product of a dozen observations with 64 x 64 weights, so dense
networks act in NumPy; training recomputes what it needs from the network itself.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.networks.layers import forward

HostFunction = Callable[[np.ndarray], np.ndarray]

_HOST: dict[Any, Callable[[np.ndarray], np.ndarray]] = {
    jnp.tanh: np.tanh,
    jax.nn.relu: lambda x: np.maximum(x, 0),
    jax.nn.sigmoid: lambda x: 0.5 * (1 + np.tanh(0.5 * x)),  # exp(-x) would overflow
}


def host_function(network: eqx.nn.Sequential) -> HostFunction:
    """`forward` of the network as a function of NumPy arrays."""
    steps: list[Callable[[np.ndarray], np.ndarray]] = []
    for layer in network.layers:
        if isinstance(layer, eqx.nn.Linear):
            steps.append(_affine(np.ascontiguousarray(np.asarray(layer.weight).T), np.asarray(layer.bias)))
        elif isinstance(layer, eqx.nn.Lambda) and layer.fn in _HOST:
            steps.append(_HOST[layer.fn])
        else:
            return _jitted(network)

    def run(x: np.ndarray) -> np.ndarray:
        for step in steps:
            x = step(x)
        return x

    return run


def _affine(weight: np.ndarray, bias: np.ndarray) -> HostFunction:
    return lambda x: x @ weight + bias


_forward = eqx.filter_jit(forward)


def _jitted(network: eqx.nn.Sequential) -> HostFunction:
    return lambda x: np.asarray(_forward(network, jnp.asarray(x)))
