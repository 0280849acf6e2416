"""Forward passes in NumPy, for acting.

Dispatching a jitted function costs more than the matrix product of a dozen observations with 64 x 64 weights, so dense
networks and LSTMs act in NumPy; training computes what it needs from the network itself.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erf

from wocar.activations import LEAK, elu, gelu, leaky_relu, silu
from wocar.networks.layers import forward
from wocar.networks.recurrent import LSTMState, RecurrentNetwork

HostFunction = Callable[[np.ndarray], np.ndarray]
HostStep = Callable[[np.ndarray, LSTMState], tuple[np.ndarray, LSTMState]]


HOST: dict[Any, Callable[[np.ndarray], np.ndarray]] = {
    jnp.tanh: lambda x: np.tanh(x, out=x),
    jax.nn.relu: lambda x: np.maximum(x, 0, out=x),
    jax.nn.sigmoid: lambda x: 0.5 * (1 + np.tanh(0.5 * x)),  # exp(-x) would overflow
    elu: lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    leaky_relu: lambda x: np.where(x > 0, x, np.float32(LEAK) * x),
    silu: lambda x: 0.5 * x * (1 + np.tanh(0.5 * x)),
    gelu: lambda x: (0.5 * x * (1 + erf(x * np.float32(0.5**0.5)))).astype(x.dtype),
}


def host_function(network: eqx.nn.Sequential) -> HostFunction:
    """`forward` of the network as a function of NumPy arrays. Activations overwrite their input."""
    steps: list[Callable[[np.ndarray], np.ndarray]] = []
    if isinstance(next(iter(network.layers), None), eqx.nn.Lambda):
        steps.append(np.copy)
    for layer in network.layers:
        if isinstance(layer, eqx.nn.Linear):
            steps.append(_affine(np.ascontiguousarray(np.asarray(layer.weight).T), np.asarray(layer.bias)))
        elif isinstance(layer, eqx.nn.Lambda) and layer.fn in HOST:
            steps.append(HOST[layer.fn])
        else:
            return _jitted(network)

    def run(x: np.ndarray) -> np.ndarray:
        for step in steps:
            x = step(x)
        return x

    return run


def host_step(network: RecurrentNetwork) -> HostStep:
    """`network.step` as a function of NumPy arrays."""
    embed, output = host_function(network.embedding), host_function(network.output)
    cell, size = network.cell, network.cell.hidden_size
    half = np.repeat(
        np.array([0.5, 0.5, 1, 0.5], np.float32), size
    )  # σ(x) = (1 + tanh(x / 2)) / 2: one tanh for all gates
    into, across = (np.ascontiguousarray(np.asarray(w).T * half) for w in (cell.weight_ih, cell.weight_hh))
    bias = np.asarray(cell.bias) * half

    def run(z: np.ndarray, state: LSTMState) -> tuple[np.ndarray, LSTMState]:
        gates = np.tanh(embed(z) @ into + state.h @ across + bias)
        i, f, g, o = (gates[:, k * size : (k + 1) * size] for k in range(4))
        c = 0.5 * ((1 + f) * state.c + (1 + i) * g)
        h = 0.5 * (1 + o) * np.tanh(c)
        return output(h), LSTMState(h, c)

    return run


def _affine(weight: np.ndarray, bias: np.ndarray) -> HostFunction:
    def run(x: np.ndarray) -> np.ndarray:
        y = x @ weight
        y += bias
        return y

    return run


_forward = eqx.filter_jit(forward)


def _jitted(network: eqx.nn.Sequential) -> HostFunction:
    return lambda x: np.asarray(_forward(network, jnp.asarray(x)))
