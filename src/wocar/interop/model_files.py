"""Agents of the public ATLA release (`.model`): an MLP or LSTM victim, and the SA-RL adversary trained against it."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.interop.restricted import Stub, one_line_refusal
from wocar.interop.torch_files import read_file, read_torch
from wocar.interop.values import array, attributes, field, has, kind, number
from wocar.interop.weights import Weights, activation, checked, dense, lstm_network, read_weights, weight
from wocar.networks import GaussianPolicy, RecurrentPolicy, RunningNormaliser, ScaledNormaliser, ValueCritic
from wocar.types import ActionSpace, EnvSpec, UserError, VictimFamily

ENVS = {
    "HopperEnv": "Hopper-v4",
    "Walker2dEnv": "Walker2d-v4",
    "HalfCheetahEnv": "HalfCheetah-v4",
    "AntEnv": "Ant-v4",
}
SIZES = {(11, 3): "Hopper-v4", (111, 8): "Ant-v4"}
FILE_WORDS = {"halfcheetah": "HalfCheetah-v4", "walker": "Walker2d-v4"}
FAMILY_WORDS: dict[str, VictimFamily] = {
    **dict.fromkeys(("atla", "paatla", "atlalstmsa"), "atla"),
    **dict.fromkeys(("sappo", "radial", "wocar", "wocarmlp"), "robust"),
}
"""How the release names its files, word by word; all others hold vanilla agents."""


class LoadedFile(NamedTuple):
    victim: Agent
    adversary: Agent | None


def load_published(path: Path, env: str | None = None) -> LoadedFile:
    """The agents of a `.model` file; `env` where neither the file nor its name tells the environment."""
    tree = read_torch(read_file(path), str(path))
    with one_line_refusal(str(path)):
        wrapper = _wrapper(tree)
        weights = read_weights(field(tree, "policy_model"))
        size, actions = _inputs(weights), len(weight(weights, "log_stdev"))
        id = env or _env_id(wrapper, (size, actions), path)
        meta: dict[str, Any] = {"method": path.stem, "family": file_family(path.stem), "source": path.name}
        spec = EnvSpec(id, (size,), _action_range(wrapper, actions), _max_steps(wrapper))
        normaliser = _normaliser(field(wrapper, "state_filter"), size)
        victim = Agent(spec, normaliser, _policy(weights), _critics(tree, "val_model"), meta | _reward_std(wrapper))
        return LoadedFile(checked(victim), _adversary(tree, spec, meta))


def file_family(stem: str) -> VictimFamily:
    """How the agent in a published file was trained, as far as its name tells."""
    found = [FAMILY_WORDS[word] for word in stem.split("-") if word in FAMILY_WORDS]
    return "atla" if "atla" in found else found[0] if found else "ppo"


def _wrapper(tree: Any) -> Stub:
    if not isinstance(tree, dict) or not {"policy_model", "envs"} <= set(tree):
        raise ValueError("it is a torch file, but not a published agent: it has no policy_model and envs")
    envs = tree["envs"]
    if not isinstance(envs, list) or not envs:
        raise ValueError("it has no environment wrapper, and so no observation filter")
    return envs[0]


def _adversary(tree: Any, spec: EnvSpec, meta: dict[str, Any]) -> Agent | None:
    """An agent that sees the victim's normalised observation; its meta says how its action moves what the victim sees.

    SA-RL: z~ = z + eps clip(m(z), -1, 1). PA-AD's director has the size of an action, z~ = z - eps sign(J(z)ᵀ m(z)) in
    the release; ours moves along its output, which therefore changes sign.
    """
    if not has(tree, "adversary_policy_model"):
        return None
    weights: Weights = read_weights(tree["adversary_policy_model"])
    (size,) = spec.obs_shape
    directs = weight(weights, "log_stdev").shape == (spec.actions.size,) != (size,)
    if directs:
        meta, weights = meta | {"actor": "sign"}, _negated(weights)
    acts = spec.actions.size if directs else size
    weight(weights, "log_stdev", (acts,))
    one = np.ones(acts, np.float32)
    spec = spec._replace(actions=ActionSpace(acts, -one, one))
    critics = _critics(tree, "adversary_val_model")
    identity = ScaledNormaliser.identity((size,))
    return checked(Agent(spec, identity, _policy(weights), critics, meta | {"attack": "pa-ad" if directs else "sa-rl"}))


def _negated(weights: Weights) -> Weights:
    """The same network with the output's sign changed."""
    last = "output_layer" if "lstm.weight_ih_l0" in weights else "final_mean"
    return {name: -value if name.startswith(f"{last}.") else value for name, value in weights.items()}


def _policy(weights: Weights) -> GaussianPolicy | RecurrentPolicy:
    log_std = jnp.asarray(weight(weights, "log_stdev"))
    if "lstm.weight_ih_l0" not in weights:
        return GaussianPolicy(_tanh_mlp(weights, "final_mean"), log_std)
    embedding, output = dense(weights, "embedding_layer"), dense(weights, "output_layer")
    return RecurrentPolicy(lstm_network(weights, "lstm", [embedding], [output]), log_std)


def _tanh_mlp(weights: Weights, final: str) -> eqx.nn.Sequential:
    hidden = (dense(weights, f"affine_layers.{i}") for i in (0, 1))
    return eqx.nn.Sequential([*(la for d in hidden for la in (d, activation("tanh"))), dense(weights, final)])


def _critics(tree: Any, name: str) -> dict[str, Any]:
    """The value network of an MLP agent; an LSTM's own memory is not ours to carry."""
    if not has(tree, name) or has(tree[name], "lstm.weight_ih_l0"):
        return {}
    return {"value": ValueCritic(_tanh_mlp(read_weights(tree[name]), "final"))}


def _inputs(weights: Weights) -> int:
    first = "embedding_layer" if "embedding_layer.weight" in weights else "affine_layers.0"
    return int(dense(weights, first).in_features)


def _normaliser(filter: Any, size: int) -> RunningNormaliser:
    if kind(filter) != "ZFilter" or not (field(filter, "center") and field(filter, "scale")):
        raise ValueError(f"its observation filter {kind(filter)} is not a centring and scaling ZFilter")
    mean, square, count = _statistics(field(filter, "rs"))
    if mean.shape != (size,) or square.shape != (size,):
        raise ValueError(f"its observation filter has shape {mean.shape}, its policy sees {size} numbers")
    clip = field(filter, "clip")
    return RunningNormaliser(mean, square, count, number(clip) if clip else math.inf)


def _statistics(stat: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean, sum of squared deviations and count of a RunningStat."""
    mean, square = (np.array(array(field(stat, name)), np.float64) for name in ("_M", "_S"))
    count = number(field(stat, "_n"))
    if not (count >= 2 and np.all(np.isfinite(mean)) and np.all(square >= 0) and np.all(np.isfinite(square))):
        raise ValueError("a filter's statistics are not finite numbers of at least two observations")
    return mean, square, count


def _reward_std(wrapper: Any) -> dict[str, float]:
    """Standard deviation of the discounted return, by which training divided the rewards."""
    if not has(wrapper, "reward_filter") or not has(wrapper_filter := field(wrapper, "reward_filter"), "rs"):
        return {}
    _, square, count = _statistics(field(wrapper_filter, "rs"))
    return {"reward_std": math.sqrt(float(square.sum()) / (count - 1))} if square.size == 1 else {}


def _env_id(wrapper: Any, size: tuple[int, int], path: Path) -> str:
    """From the pickled environment's class, else from the sizes, else from the file's name."""
    classes = [kind(layer) for layer in _layers(wrapper)]
    words = [id for word, id in FILE_WORDS.items() if word in path.name.lower()]
    named = [ENVS[name] for name in classes if name in ENVS]
    if named or size in SIZES:
        return named[0] if named else SIZES[size]
    if size == (17, 6) and len(words) == 1:
        return words[0]
    raise UserError(f"{path} does not tell its environment ({size[0]} observations, {size[1]} actions): give --env")


def _layers(wrapper: Any) -> list[Any]:
    """The wrapper and the environments within it, outermost first."""
    found = [wrapper]
    while has(found[-1], "env") and len(found) < 16:
        found.append(field(found[-1], "env"))
    return found


def _action_range(wrapper: Any, size: int) -> ActionSpace:
    for layer in _layers(wrapper):
        space = attributes(layer).get("action_space")
        if has(space, "low") and has(space, "high"):
            low, high = (np.array(array(field(space, name)), np.float32) for name in ("low", "high"))
            if low.shape != (size,) or high.shape != (size,):
                raise ValueError(f"its action space has shape {low.shape}, its policy {size} actions")
            return ActionSpace(size, low, high)
    return ActionSpace(size, -np.ones(size, np.float32), np.ones(size, np.float32))


def _max_steps(wrapper: Any) -> int | None:
    steps = [attributes(layer).get("_max_episode_steps") for layer in _layers(wrapper)]
    return next((n for n in steps if type(n) is int and n > 0), None)
