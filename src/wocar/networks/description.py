"""Descriptions of policies, critics and normalisers as JSON data and arrays; those of layers are in `layers`."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from wocar.networks.critics import ActionCritic, DiscreteCritic, DuelingActionCritic, ValueCritic
from wocar.networks.layers import build_layers, describe_layers
from wocar.networks.normaliser import Normaliser, PixelNormaliser, RunningNormaliser, ScaledNormaliser
from wocar.networks.policies import CategoricalPolicy, GaussianPolicy, GreedyPolicy
from wocar.networks.recurrent import RecurrentCritic, RecurrentNetwork, RecurrentPolicy, bare_lstm_cell
from wocar.networks.squashed import SquashedGaussianPolicy, SquashedPolicy

POLICIES: dict[str, Any] = {
    "gaussian": GaussianPolicy,
    "categorical": CategoricalPolicy,
    "greedy": GreedyPolicy,
    "squashed": SquashedPolicy,
    "squashed-gaussian": SquashedGaussianPolicy,
    "recurrent-gaussian": RecurrentPolicy,
    "recurrent-categorical": RecurrentPolicy,
}
CRITICS: dict[str, Any] = {
    "value": ValueCritic,
    "action": ActionCritic,
    "dueling-action": DuelingActionCritic,
    "discrete": DiscreteCritic,
    "recurrent-value": RecurrentCritic,
}
NORMALISERS: dict[str, Any] = {"running": RunningNormaliser, "scaled": ScaledNormaliser, "pixel": PixelNormaliser}


def describe_policy(policy: Any) -> dict[str, Any]:
    kind = (
        "recurrent-categorical" if isinstance(policy, RecurrentPolicy) and policy.discrete else _kind(POLICIES, policy)
    )
    return {"kind": kind, "layers": _describe_network(next(iter(vars(policy).values())))}


def build_policy(description: dict[str, Any], action_size: int) -> Any:
    """The described policy, to be filled from a file: shapes in place of weights."""
    kind, network = description["kind"], _build_network(description["layers"])
    per_action = jax.ShapeDtypeStruct((action_size,), np.float32)
    vectors = {"gaussian": 1, "recurrent-gaussian": 1, "squashed": 2, "squashed-gaussian": 2}.get(kind, 0)
    return POLICIES[kind](network, *[per_action] * vectors)


def describe_critic(critic: Any) -> dict[str, Any]:
    return {"kind": _kind(CRITICS, critic), "networks": [_describe_network(n) for n in vars(critic).values()]}


def build_critic(description: dict[str, Any]) -> Any:
    return CRITICS[description["kind"]](*map(_build_network, description["networks"]))


def describe_normaliser(normaliser: Normaliser) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The normaliser's numbers as JSON data, and its arrays."""
    fields = normaliser._asdict()
    arrays = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
    numbers = {name: float(value) for name, value in fields.items() if name not in arrays}
    return {"kind": _kind(NORMALISERS, normaliser), **numbers}, arrays


def build_normaliser(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> Normaliser:
    kind, numbers = description["kind"], {k: float(v) for k, v in description.items() if k != "kind"}
    if kind not in NORMALISERS:
        raise ValueError(f"unknown normaliser {kind!r}")
    return NORMALISERS[kind](**arrays, **numbers)


def _kind(table: dict[str, Any], thing: Any) -> str:
    for kind, cls in table.items():
        if cls is type(thing):
            return kind
    raise TypeError(f"{type(thing).__name__} has no description")


def _describe_network(network: eqx.nn.Sequential | RecurrentNetwork) -> Any:
    if isinstance(network, RecurrentNetwork):
        cell = {"in": network.cell.input_size, "hidden": network.cell.hidden_size}
        ends = {"embedding": describe_layers(network.embedding), "output": describe_layers(network.output)}
        return {**ends, "lstm": cell}
    return describe_layers(network)


def _build_network(description: Any) -> eqx.nn.Sequential | RecurrentNetwork:
    if isinstance(description, dict):
        cell = bare_lstm_cell(int(description["lstm"]["in"]), int(description["lstm"]["hidden"]))
        return RecurrentNetwork(build_layers(description["embedding"]), cell, build_layers(description["output"]))
    return build_layers(description)
