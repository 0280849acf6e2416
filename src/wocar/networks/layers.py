"""Layers: a network is an `equinox.nn.Sequential` of Equinox's own layers, which bounds can traverse."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.activations import elu, gelu, leaky_relu, silu
from wocar.networks.convolution import PatchConv2d
from wocar.types import Array

ACTIVATIONS: dict[str, Callable] = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "sigmoid": jax.nn.sigmoid,
    "elu": elu,
    "leaky-relu": leaky_relu,
    "silu": silu,
    "gelu": gelu,
    "flatten": jnp.ravel,
}


SMALL_CNN: dict[str, Any] = {"channels": (16, 32), "kernels": (8, 4), "strides": (4, 2), "dense": 256}
"""For `cnn`: the network of the first DQN paper."""


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


def cnn(
    obs_shape: tuple[int, ...],
    out: int,
    key: jax.Array,
    channels: Sequence[int] = (32, 64, 64),
    kernels: Sequence[int] = (8, 4, 3),
    strides: Sequence[int] = (4, 2, 1),
    dense: int = 512,
    head_gain: float = 1.0,
) -> eqx.nn.Sequential:
    """Convolutions over (channels, height, width), a dense layer, the outputs; ReLU between; by default DQN's network.

    Orthogonal weights, zero biases.
    """
    *keys, dense_key = jax.random.split(key, len(channels) + 1)
    layers: list[Any] = []
    (depth, *sides) = obs_shape
    for width, kernel, stride, k in zip(channels, kernels, strides, keys, strict=True):
        weight = 2**0.5 * _orthogonal(width, depth * kernel**2, k).reshape(width, depth, kernel, kernel)
        layers += [conv2d(weight, np.zeros(width), (stride, stride)), eqx.nn.Lambda(ACTIVATIONS["relu"])]
        depth, sides = width, [(side - kernel) // stride + 1 for side in sides]
    if min(sides) < 1:
        raise ValueError(f"observations of shape {obs_shape} are too small for kernels {tuple(kernels)}")
    flat = depth * sides[0] * sides[1]
    head = mlp([flat, dense, out], dense_key, head_gain, activation="relu")
    return eqx.nn.Sequential([*layers, eqx.nn.Lambda(ACTIVATIONS["flatten"]), *head.layers])


def uniform_weights(network: eqx.nn.Sequential, key: jax.Array) -> eqx.nn.Sequential:
    """The network with weights and biases uniform within ±1 / sqrt(fan-in), PyTorch's default.

    Orthogonal weights without biases give 0 at the origin and grow with the distance from it, and Q-learning amplifies
    that.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))

    def redrawn(layer: Any) -> Any:
        if not isinstance(layer, eqx.nn.Linear | eqx.nn.Conv2d) or layer.bias is None:
            return layer
        reach = np.prod(layer.weight.shape[1:]) ** -0.5
        arrays = [jnp.asarray(rng.uniform(-reach, reach, x.shape), jnp.float32) for x in (layer.weight, layer.bias)]
        return eqx.tree_at(lambda la: (la.weight, la.bias), layer, tuple(arrays))

    return eqx.nn.Sequential([redrawn(layer) for layer in network.layers])


def orthogonal_linear(fan_in: int, fan_out: int, key: jax.Array, gain: float) -> eqx.nn.Linear:
    return linear(gain * _orthogonal(fan_out, fan_in, key), np.zeros(fan_out))


def _orthogonal(rows: int, columns: int, key: jax.Array) -> np.ndarray:
    """In NumPy: compiling a QR decomposition for each shape would take longer than the rest of the start-up."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    q, r = np.linalg.qr(rng.standard_normal((max(columns, rows), min(columns, rows))))
    q *= np.sign(np.diag(r))
    return q if rows >= columns else q.T


def linear(weight: Array, bias: Array) -> eqx.nn.Linear:
    """A dense layer with these weights (out, in) and biases (out,)."""
    fan_out, fan_in = weight.shape
    layer = _bare_linear(fan_in, fan_out)
    values = jnp.asarray(weight, jnp.float32), jnp.asarray(bias, jnp.float32)
    return eqx.tree_at(lambda la: (la.weight, la.bias), layer, values)


def conv2d(
    weight: Array, bias: Array, stride: tuple[int, ...] = (1, 1), padding: tuple[int, ...] = (0, 0)
) -> eqx.nn.Conv2d:
    """A convolution with these weights (out, in, height, width) and biases (out,)."""
    width, depth, *kernel = weight.shape
    layer = _bare_conv(depth, width, tuple(kernel), stride, padding)
    values = jnp.asarray(weight, jnp.float32), jnp.asarray(bias, jnp.float32).reshape(-1, 1, 1)
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
    """The architecture as JSON data, the input of `build_layers`."""
    return [_describe(layer) for layer in network.layers]


def build_layers(description: list[dict]) -> eqx.nn.Sequential:
    """A network of the described architecture, to be filled from a file: shapes in place of weights."""
    return eqx.nn.Sequential([_build(d) for d in description])


def _describe(layer: eqx.Module) -> dict:
    if isinstance(layer, eqx.nn.Linear):
        return {"kind": "linear", "in": layer.in_features, "out": layer.out_features}
    if isinstance(layer, eqx.nn.Conv2d) and _is_plain(layer):
        sizes = {"kernel": layer.kernel_size, "stride": layer.stride, "padding": [p[0] for p in layer.padding]}
        return {"kind": "conv2d", "in": layer.in_channels, "out": layer.out_channels} | {
            name: list(size) for name, size in sizes.items()
        }
    if isinstance(layer, eqx.nn.Lambda):
        names = [name for name, fn in ACTIVATIONS.items() if fn is layer.fn]
        if names:
            return {"kind": names[0]}
    raise TypeError(f"layer {type(layer).__name__} has no description")


def _build(description: dict) -> Any:
    kind = description["kind"]
    if kind == "linear":
        return _bare_linear(int(description["in"]), int(description["out"]))
    if kind == "conv2d":
        pairs = [tuple(map(int, description[name])) for name in ("kernel", "stride", "padding")]
        return _bare_conv(int(description["in"]), int(description["out"]), *pairs)
    if kind in ACTIVATIONS:
        return eqx.nn.Lambda(ACTIVATIONS[kind])
    raise ValueError(f"unknown layer kind {kind!r}")


def _is_plain(layer: eqx.nn.Conv2d) -> bool:
    """Whether kernel, stride and symmetric zero padding describe it completely."""
    if isinstance(layer.padding, str) or layer.padding_mode != "ZEROS":
        return False
    return all(a == b for a, b in layer.padding) and layer.use_bias and {*layer.dilation, layer.groups} == {1}


def _bare_linear(fan_in: int, fan_out: int) -> eqx.nn.Linear:
    return eqx.filter_eval_shape(eqx.nn.Linear, fan_in, fan_out, key=jax.random.key(0))


def _bare_conv(
    depth: int, width: int, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...]
) -> eqx.nn.Conv2d:
    return eqx.filter_eval_shape(PatchConv2d, depth, width, kernel, stride, padding, key=jax.random.key(0))
