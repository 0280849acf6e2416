"""Networks to bound."""

from collections.abc import Callable
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from equinox import nn

from wocar.activations import elu, gelu, leaky_relu, silu

ACTIVATIONS = {"tanh": jnp.tanh, "relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid}
ACTIVATIONS |= {"elu": elu, "leaky-relu": leaky_relu, "silu": silu, "gelu": gelu}
BuildNetwork = Callable[..., nn.Sequential]


def scaled(layer: eqx.Module, scale: float) -> eqx.Module:
    return eqx.tree_at(lambda x: x.weight, layer, layer.weight * scale)  # type: ignore[attr-defined]


def dense(sizes: list[int], activation: str, seed: int = 0, scale: float = 2.0) -> nn.Sequential:
    """Layers of these sizes with an activation between them, Equinox's initial weights times `scale`."""
    layers: list = []
    for depth, (before, after) in enumerate(pairwise(sizes)):
        if depth:
            layers.append(nn.Lambda(ACTIVATIONS[activation]))
        layers.append(scaled(nn.Linear(before, after, key=jax.random.fold_in(jax.random.key(seed), depth)), scale))
    return nn.Sequential(layers)


def convolutional(activation: str, seed: int = 0, scale: float = 2.0) -> nn.Sequential:
    """1 x 7 x 7 pixels to 3 outputs: a strided and a padded convolution, then a dense layer."""
    a, b, c = jax.random.split(jax.random.key(seed), 3)
    nonlinear = nn.Lambda(ACTIVATIONS[activation])
    layers = [
        scaled(nn.Conv2d(1, 2, 3, stride=2, key=a), scale),
        nonlinear,
        scaled(nn.Conv2d(2, 3, 2, padding=1, use_bias=False, key=b), scale),
        nonlinear,
        nn.Lambda(jnp.ravel),
        nn.Identity(),
        scaled(nn.Linear(48, 3, key=c), scale),
    ]
    return nn.Sequential(layers)


@pytest.fixture(scope="session")
def build_dense() -> BuildNetwork:
    return dense


@pytest.fixture(scope="session")
def build_convolutional() -> BuildNetwork:
    return convolutional
