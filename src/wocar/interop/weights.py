"""Layers and networks from torch state dicts."""

import re
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from wocar.agent import MOST_LAYERS, Agent
from wocar.interop.values import array, attributes
from wocar.networks import ActionCritic, RecurrentNetwork, conv2d, linear, lstm_cell
from wocar.networks.layers import ACTIVATIONS

Weights = Mapping[str, np.ndarray]
MAX_TENSORS = 4096


def read_weights(tree: Any) -> dict[str, np.ndarray]:
    """A state dict as arrays, all finite."""
    entries = attributes(tree)
    if not entries:
        raise ValueError("it has no weights where a network must be")
    if len(entries) > MAX_TENSORS:
        raise ValueError(f"it has more than {MAX_TENSORS} tensors")
    found = {str(name): array(value) for name, value in entries.items()}
    for name, value in found.items():
        if not np.all(np.isfinite(value)):
            raise ValueError(f"its weights {name} are not finite")
    return found


def activation(name: str) -> eqx.nn.Lambda:
    return eqx.nn.Lambda(ACTIVATIONS[name])


def dense(weights: Weights, name: str) -> eqx.nn.Linear:
    weight, bias = _pair(weights, name, 2)
    return linear(weight, bias)


def convolution(weights: Weights, name: str, stride: int) -> eqx.nn.Conv2d:
    weight, bias = _pair(weights, name, 4)
    return conv2d(weight, bias, (stride, stride))


def chain(weights: Weights, prefix: str, between: str) -> list[Any]:
    """The dense layers `prefix.0`, `prefix.2`, ... of a torch Sequential, each with the activation behind it."""
    pattern = re.compile(re.escape(prefix) + r"\.(\d+)\.(weight|bias)")
    indices = sorted({int(m[1]) for name in weights if (m := pattern.fullmatch(name))})
    if len(indices) > MOST_LAYERS:
        raise ValueError(f"its {prefix} has more than {MOST_LAYERS} layers")
    if indices != list(range(0, 2 * len(indices), 2)):
        raise ValueError(f"its {prefix} has other layers than dense ones with an activation between")
    return [layer for i in indices for layer in (dense(weights, f"{prefix}.{i}"), activation(between))]


def lstm_network(weights: Weights, name: str, embedding: list[Any], output: list[Any]) -> RecurrentNetwork:
    """embedding -> the one-layer torch LSTM of that name -> output."""
    if f"{name}.weight_ih_l1" in weights or f"{name}.weight_ih_l0_reverse" in weights:
        raise ValueError("an LSTM of more than one layer or direction is not supported")
    inputs, hidden = (weight(weights, f"{name}.{part}_l0").shape[-1] for part in ("weight_ih", "weight_hh"))
    shapes: dict[str, tuple[int, ...]] = {"weight_ih": (4 * hidden, inputs), "weight_hh": (4 * hidden, hidden)}
    shapes |= {"bias_ih": (4 * hidden,), "bias_hh": (4 * hidden,)}
    parts = {part: weight(weights, f"{name}.{part}_l0", shape) for part, shape in shapes.items()}
    cell = lstm_cell(parts["weight_ih"], parts["weight_hh"], parts["bias_ih"] + parts["bias_hh"])
    return RecurrentNetwork(eqx.nn.Sequential(embedding), cell, eqx.nn.Sequential(output))


def weight(weights: Weights, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    if name not in weights:
        raise ValueError(f"it has no weights {name}")
    if shape is not None and weights[name].shape != shape:
        raise ValueError(f"its weights {name} have shape {weights[name].shape}, expected {shape}")
    return np.asarray(weights[name], np.float32)


def _pair(weights: Weights, name: str, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    matrix = weight(weights, f"{name}.weight")
    if matrix.ndim != dimensions:
        raise ValueError(f"its weights {name} have shape {matrix.shape}, expected {dimensions} dimensions")
    return matrix, weight(weights, f"{name}.bias", matrix.shape[:1])


def checked(agent: Agent) -> Agent:
    """The agent, if its layers fit each other, the observations and the actions."""
    z, a = (jax.ShapeDtypeStruct((1, *s), np.float32) for s in (agent.spec.obs_shape, (agent.spec.actions.size,)))
    try:
        inputs = [(critic, (z, a) if isinstance(critic, ActionCritic) else (z,)) for critic in agent.critics.values()]
        shapes = [eqx.filter_eval_shape(critic, *given).shape for critic, given in inputs]
        head = eqx.filter_eval_shape(agent.held(agent.start(1)).head, z).shape
    except (TypeError, ValueError) as error:
        raise ValueError("its layers do not fit together") from error
    if head != (1, agent.spec.actions.size) or any(shape != (1,) for shape in shapes):
        raise ValueError("its networks do not fit its actions")
    return agent
