"""Our networks in the places where Stable-Baselines3 keeps its own: names of weights, sizes and activation."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from wocar.interop.activation_names import ACTIVATION_CLASSES
from wocar.networks import ActionCritic
from wocar.networks.layers import ACTIVATIONS
from wocar.types import UserError

NATURE = [(32, 8, 4), (64, 4, 2), (64, 3, 1)]
"""Channels, kernel and stride of NatureCNN's convolutions."""
Weights = dict[str, np.ndarray]
Pair = tuple[np.ndarray, np.ndarray]


class Stack(NamedTuple):
    """A network as an optional NatureCNN and dense layers with one kind of activation between them."""

    convolutions: list[Pair]
    features: Pair | None
    """The dense layer behind the convolutions."""
    dense: list[Pair]
    activation: str | None
    """None where there is a single layer."""

    @property
    def hidden(self) -> list[int]:
        return [len(bias) for _, bias in self.dense[:-1]]


def stack_of(network: eqx.nn.Sequential) -> Stack:
    """The network's layers; a UserError where Stable-Baselines3's own policies cannot have them."""
    layers = [layer for layer in network.layers if not isinstance(layer, eqx.nn.Identity)]
    if layers and isinstance(layers[0], eqx.nn.Conv2d):
        convolutions, features, layers = _nature(layers)
    else:
        convolutions, features = [], None
        if layers and _name(layers[0]) == "flatten":
            layers = layers[1:]
    dense, between = layers[::2], [_name(layer) for layer in layers[1::2]]
    if not all(isinstance(layer, eqx.nn.Linear) for layer in dense) or len(layers) % 2 == 0 or len({*between}) > 1:
        raise UserError("its network is not dense layers with one activation between, as Stable-Baselines3's are")
    if between and between[0] not in ACTIVATION_CLASSES:
        raise UserError(f"its activation {between[0]} is none of {', '.join(ACTIVATION_CLASSES)}")
    return Stack(convolutions, features, [_pair(layer) for layer in dense], between[0] if between else None)


def chain(pairs: Sequence[Pair], prefix: str) -> Weights:
    """Dense layers as `prefix.0`, `prefix.2`, ... of a torch Sequential, with activations between."""
    return {
        f"{prefix}.{2 * i}.{part}": x
        for i, pair in enumerate(pairs)
        for part, x in zip(("weight", "bias"), pair, strict=True)
    }


def layer(pair: Pair, name: str) -> Weights:
    return {f"{name}.weight": pair[0], f"{name}.bias": pair[1]}


def extractor(stack: Stack, prefix: str) -> Weights:
    """NatureCNN's weights, or none."""
    if stack.features is None:
        return {}
    return chain(stack.convolutions, f"{prefix}.cnn") | layer(stack.features, f"{prefix}.linear.0")


def fresh(sizes: Sequence[int], seed: int) -> list[Pair]:
    """Dense layers with new weights, PyTorch's default: uniform within ±1 / sqrt(fan-in)."""
    rng, pairs = np.random.default_rng(seed), []
    for fan_in, fan_out in pairwise(sizes):
        reach = fan_in**-0.5
        shapes: tuple[tuple[int, ...], ...] = ((fan_out, fan_in), (fan_out,))
        weight, bias = (rng.uniform(-reach, reach, shape).astype(np.float32) for shape in shapes)
        pairs.append((weight, bias))
    return pairs


def unit_critic(critic: ActionCritic, low: np.ndarray, high: np.ndarray) -> Stack:
    """Of a critic of actions in [low, high]: that of actions in [-1, 1]; the inverse of `in_units`."""
    stack = stack_of(critic.network)
    (weight, bias), *rest = stack.dense
    middle, reach = (high + low) / 2, (high - low) / 2
    of_state, of_action = weight[:, : -len(reach)], weight[:, -len(reach) :]
    return stack._replace(dense=[(np.hstack([of_state, of_action * reach]), bias + of_action @ middle), *rest])


def _nature(layers: list[Any]) -> tuple[list[Pair], Pair, list[Any]]:
    convolutions, rest = layers[:6:2], layers[6:]
    shape = [(c.out_channels, *{*c.kernel_size}, *{*c.stride}) for c in convolutions if isinstance(c, eqx.nn.Conv2d)]
    between = [_name(layer) for layer in (*layers[1:6:2], *rest[:3:2])]
    plain = all(not np.any(c.padding) and {*c.dilation, c.groups} == {1} for c in convolutions[: len(shape)])
    if shape != NATURE or between != ["relu"] * 3 + ["flatten", "relu"] or not plain or len(rest) < 4:
        raise UserError("its convolutions are not NatureCNN's, the only ones that Stable-Baselines3 has")
    pairs = [(np.asarray(c.weight), np.asarray(c.bias).reshape(-1)) for c in convolutions]
    return pairs, _pair(rest[1]), rest[3:]


def _name(layer: Any) -> str:
    names = [name for name, fn in ACTIVATIONS.items() if isinstance(layer, eqx.nn.Lambda) and fn is layer.fn]
    return names[0] if names else type(layer).__name__


def _pair(layer: Any) -> Pair:
    return np.asarray(layer.weight), np.asarray(layer.bias)
