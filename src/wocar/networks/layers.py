"""Layers: a network is an `equinox.nn.Sequential` of Equinox's own layers, so bounds can walk it."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

ACTIVATIONS: dict[str, Callable] = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "sigmoid": jax.nn.sigmoid,
    "flatten": jnp.ravel,
}


def mlp(
    sizes: Sequence[int], key: jax.Array, head_gain: float = 1.0, hidden_gain: float = 2**0.5, activation: str = "tanh"
) -> eqx.nn.Sequential:
    """Dense layers of the given sizes, orthogonal weights, zero biases, an activation between layers."""
    keys = jax.random.split(key, len(sizes) - 1)
    layers: list[Any] = []
    for i, (fan_in, fan_out, k) in enumerate(zip(sizes[:-1], sizes[1:], keys, strict=True)):
        last = i == len(sizes) - 2
        layers.append(orthogonal_linear(fan_in, fan_out, k, head_gain if last else hidden_gain))
        if not last:
            layers.append(eqx.nn.Lambda(ACTIVATIONS[activation]))
    return eqx.nn.Sequential(layers)


def orthogonal_linear(fan_in: int, fan_out: int, key: jax.Array, gain: float) -> eqx.nn.Linear:
    """On the host: compiling a QR decomposition for each shape would take longer than the rest of the start-up."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    q, r = np.linalg.qr(rng.standard_normal((max(fan_in, fan_out), min(fan_in, fan_out))))
    q *= np.sign(np.diag(r))
    return linear(gain * (q if fan_out >= fan_in else q.T), np.zeros(fan_out))


def linear(weight: np.ndarray, bias: np.ndarray) -> eqx.nn.Linear:
    """A dense layer with these weights (out, in) and biases (out,)."""
    fan_out, fan_in = weight.shape
    layer = _without_weights(fan_in, fan_out)
    values = jnp.asarray(weight, jnp.float32), jnp.asarray(bias, jnp.float32)
    return eqx.tree_at(lambda la: (la.weight, la.bias), layer, values)


def forward(network: eqx.nn.Sequential, x: jax.Array) -> jax.Array:
    """The network on a batch (B, *input) -> (B, *output); dense layers as one matrix product."""
    for layer in network.layers:
        if isinstance(layer, eqx.nn.Linear) and layer.bias is not None:
            x = x @ layer.weight.T + layer.bias
        else:
            x = jax.vmap(layer)(x)
    return x


def describe_layers(network: eqx.nn.Sequential) -> list[dict]:
    """The architecture as JSON data; `build_layers` makes it again."""
    return [_describe(layer) for layer in network.layers]


def build_layers(description: list[dict]) -> eqx.nn.Sequential:
    """A network of the described architecture, to be filled from a file: shapes in place of weights."""
    return eqx.nn.Sequential([_build(d) for d in description])


def _describe(layer: eqx.Module) -> dict:
    if isinstance(layer, eqx.nn.Linear):
        return {"kind": "linear", "in": layer.in_features, "out": layer.out_features}
    if isinstance(layer, eqx.nn.Lambda):
        names = [name for name, fn in ACTIVATIONS.items() if fn is layer.fn]
        if names:
            return {"kind": names[0]}
    raise TypeError(f"layer {type(layer).__name__} has no description")


def _build(description: dict) -> Any:
    kind = description["kind"]
    if kind == "linear":
        return _without_weights(int(description["in"]), int(description["out"]))
    if kind in ACTIVATIONS:
        return eqx.nn.Lambda(ACTIVATIONS[kind])
    raise ValueError(f"unknown layer kind {kind!r}")


def _without_weights(fan_in: int, fan_out: int) -> eqx.nn.Linear:
    return eqx.filter_eval_shape(eqx.nn.Linear, fan_in, fan_out, key=jax.random.key(0))
