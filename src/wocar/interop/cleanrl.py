"""CleanRL's checkpoints: state dicts of its PPO, DQN, SAC, TD3 and DDPG scripts, without torch."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.interop.restricted import one_line_refusal
from wocar.interop.torch_files import read_torch
from wocar.interop.values import attributes, has
from wocar.interop.weights import Weights, activation, chain, checked, convolution, dense, read_weights, weight
from wocar.networks import (
    ActionCritic,
    CategoricalPolicy,
    GaussianPolicy,
    GreedyPolicy,
    PixelNormaliser,
    ScaledNormaliser,
    SquashedPolicy,
    ValueCritic,
)
from wocar.types import EnvSpec, UserError

SUFFIXES = (".cleanrl_model", ".pt", ".pth")
CONVOLUTIONS = {"network.0": 4, "network.2": 2, "network.4": 1}
Parts = tuple[str, Any, dict[str, Any], list[str]]
"""Method, policy, critics and notes."""
UNSAVED = "its script normalises observations with statistics that its file does not hold: it acts on raw ones here"


def is_cleanrl(path: Path) -> bool:
    return path.suffix in SUFFIXES


def load_cleanrl(data: bytes, path: Path, env: str | None, spec_of: Callable[[str], EnvSpec]) -> Agent:
    """The agent of a checkpoint; observations and actions are those of its environment."""
    tree = read_torch(data, str(path))
    spec = spec_of(env or _env_id(path))
    with one_line_refusal(str(path)):
        parts = tree if isinstance(tree, tuple | list) else [tree]
        if any("_modules" in attributes(part) for part in parts):
            raise ValueError("it is a whole module; save its state_dict() under CleanRL's names, or export it to ONNX")
        dicts = [read_weights(part) for part in parts]
        method, policy, critics, notes = _parts(dicts, spec)
        image = len(spec.obs_shape) == 3
        normaliser = PixelNormaliser() if image else ScaledNormaliser.identity(spec.obs_shape)
        meta: dict[str, Any] = {"method": method, "source": path.name, "library": "cleanrl"}
        meta |= {"notes": notes} if notes else {}
        meta |= {"clip_actions": True} if method == "ppo" and not spec.actions.discrete else {}
        return checked(Agent(spec, normaliser, policy, critics, meta))


def _parts(dicts: list[dict[str, np.ndarray]], spec: EnvSpec) -> Parts:
    first = dicts[0]
    if spec.actions.discrete and has(first, "actor_mean.0.weight"):
        raise ValueError(f"its actions are continuous, those of {spec.id} are not")
    if has(first, "actor_mean.0.weight"):
        return _continuous_ppo(first, spec)
    if has(first, "actor.0.weight") or has(first, "actor.weight"):
        return _discrete_ppo(first)
    if has(first, "fc_mean.weight") or has(first, "fc_mu.weight"):
        return _squashed(dicts, spec)
    if has(first, "network.0.weight"):
        if has(first, "network.7.weight"):
            layers = [*_images(first), dense(first, "network.9")]
        else:
            layers = chain(first, "network", "relu")[:-1]
        return "dqn", GreedyPolicy(eqx.nn.Sequential(layers)), {}, []
    raise ValueError("its weights have other names than those of CleanRL's PPO, DQN, SAC and TD3; ONNX needs none")


def _continuous_ppo(weights: Weights, spec: EnvSpec) -> Parts:
    network = eqx.nn.Sequential(chain(weights, "actor_mean", "tanh")[:-1])
    log_std = jnp.asarray(weight(weights, "actor_logstd", (1, spec.actions.size))[0])
    critics = {"value": ValueCritic(eqx.nn.Sequential(chain(weights, "critic", "tanh")[:-1]))}
    return "ppo", GaussianPolicy(network, log_std), critics, [UNSAVED]


def _discrete_ppo(weights: Weights) -> Parts:
    if has(weights, "actor.weight"):
        ends = {name: [*_images(weights), dense(weights, name)] for name in ("actor", "critic")}
    else:
        ends = {name: chain(weights, name, "tanh")[:-1] for name in ("actor", "critic")}
    policy, value = (eqx.nn.Sequential(layers) for layers in ends.values())
    return "ppo", CategoricalPolicy(policy), {"value": ValueCritic(value)}, []


def _squashed(dicts: list[dict[str, np.ndarray]], spec: EnvSpec) -> Parts:
    """SAC's or TD3's actor: tanh(last) * scale + bias; its critics take actions as the environment does."""
    actor, *others = dicts
    size, sac = spec.actions.size, "fc_mean.weight" in actor
    scale, bias = (weight(actor, f"action_{name}").reshape(-1) for name in ("scale", "bias"))
    if scale.shape != (size,) or bias.shape != (size,):
        raise ValueError(f"its actions have {scale.size} dimensions, those of {spec.id} {size}")
    body = _relu_chain(actor, ["fc1", "fc2", "fc_mean" if sac else "fc_mu"])
    policy = SquashedPolicy(body, jnp.asarray(bias - scale), jnp.asarray(bias + scale))
    critics = {
        name: ActionCritic(_relu_chain(own, ["fc1", "fc2", "fc3"]))
        for name, own in zip(("q", "q-twin"), others, strict=False)
        if "fc3.weight" in own
    }
    return "sac" if sac else "td3", policy, critics, []


def _relu_chain(weights: Weights, names: list[str]) -> eqx.nn.Sequential:
    layers = [layer for name in names for layer in (dense(weights, name), activation("relu"))]
    return eqx.nn.Sequential(layers[:-1])


def _images(weights: Weights) -> list[Any]:
    """Nature's convolutions and the dense layer behind them."""
    layers: list[Any] = []
    for name, stride in CONVOLUTIONS.items():
        layers += [convolution(weights, name, stride), activation("relu")]
    return [*layers, activation("flatten"), dense(weights, "network.7"), activation("relu")]


def _env_id(path: Path) -> str:
    """From the file's name or its folder's, which CleanRL begins with the environment's id."""
    for text in (path.stem, path.resolve().parent.name):
        if found := re.search(r"[A-Za-z0-9]+-v\d+", text):
            return found[0]
    raise UserError(f"{path} does not tell its environment: give --env")
