"""Agents of Stable-Baselines3 (`.zip`): PPO, A2C, DQN, SAC, TD3, DDPG and sb3-contrib's RecurrentPPO, without torch."""

import base64
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.bounded_json import parse_json
from wocar.interop.activation_names import ACTIVATION_CLASSES
from wocar.interop.restricted import Machine, one_line_refusal
from wocar.interop.sb3_spaces import (
    Observations,
    Statistics,
    find_statistics,
    read_actions,
    read_observations,
    read_statistics,
)
from wocar.interop.torch_files import Archive, is_zip, read_file, read_torch
from wocar.interop.values import kind
from wocar.interop.weights import (
    Weights,
    activation,
    chain,
    checked,
    convolution,
    dense,
    lstm_network,
    read_weights,
    weight,
)
from wocar.networks import (
    ActionCritic,
    CategoricalPolicy,
    GaussianPolicy,
    GreedyPolicy,
    RecurrentPolicy,
    SquashedGaussianPolicy,
    SquashedPolicy,
    ValueCritic,
    linear,
)
from wocar.types import ActionSpace, EnvSpec, UserError

SB3, CONTRIB = "stable_baselines3", "sb3_contrib.common.recurrent.policies"
FAMILIES = {
    f"{SB3}.common.policies.ActorCriticPolicy": "actor-critic",
    f"{SB3}.common.policies.ActorCriticCnnPolicy": "actor-critic",
    f"{SB3}.common.policies.MultiInputActorCriticPolicy": "actor-critic",
    f"{CONTRIB}.RecurrentActorCriticPolicy": "recurrent",
    f"{CONTRIB}.RecurrentActorCriticCnnPolicy": "recurrent",
    f"{SB3}.dqn.policies.DQNPolicy": "dqn",
    f"{SB3}.dqn.policies.CnnPolicy": "dqn",
    f"{SB3}.dqn.policies.MultiInputPolicy": "dqn",
    f"{SB3}.sac.policies.SACPolicy": "sac",
    f"{SB3}.sac.policies.CnnPolicy": "sac",
    f"{SB3}.sac.policies.MultiInputPolicy": "sac",
    f"{SB3}.td3.policies.TD3Policy": "td3",
    f"{SB3}.td3.policies.CnnPolicy": "td3",
    f"{SB3}.td3.policies.MultiInputPolicy": "td3",
}
ACTIVATIONS = {theirs: ours for ours, theirs in ACTIVATION_CLASSES.items()}
SDE_CLIP = 2.0
"""Within which SAC's gSDE keeps the mean before the squash, by default."""
NATURE_CNN = {"cnn.0": 4, "cnn.2": 2, "cnn.4": 1}


def is_sb3(data: bytes) -> bool:
    return is_zip(data) and {"data", "policy.pth"} <= Archive(data).names


def load_sb3(path: Path, env: str | None = None, statistics: Path | None = None) -> Agent:
    """The agent of a zip, with VecNormalize's statistics from the given pickle or the one found beside it."""
    contents = read_file(path)
    statistics = statistics or find_statistics(path)
    normaliser = None if statistics is None else Statistics(read_file(statistics), str(statistics), statistics.name)
    return read_sb3(contents, str(path), path.name, env or _env_id(path), normaliser)


def read_sb3(contents: bytes, source: str, name: str, env: str, statistics: Statistics | None) -> Agent:
    """The agent of a zip's contents; `source` is named in refusals, `name` in the agent's meta."""
    with one_line_refusal(source):
        archive = Archive(contents)
        data = parse_json(archive.read("data"))
        weights_file = archive.read("policy.pth")
    tree = read_torch(weights_file, f"{source} (policy.pth)")
    with one_line_refusal(source):
        family, options = _family(data), _options(data)
        seen = read_observations(_entry(data, "observation_space"), bool(options.get("normalize_images", True)))
        actions = read_actions(_entry(data, "action_space"))
        parts = _parts(family, read_weights(tree), _activation(family, options), seen, actions)
    normaliser, meta = seen.normaliser, _meta(family, data, name)
    if statistics is not None:
        normaliser, more = read_statistics(statistics, seen)
        meta |= more
    if isinstance(parts[0], GaussianPolicy) or (isinstance(parts[0], RecurrentPolicy) and not actions.discrete):
        meta["clip_actions"] = True
    with one_line_refusal(source):
        return checked(Agent(EnvSpec(env, seen.shape, actions), normaliser, *parts, meta))


def _entry(data: Any, name: str) -> Any:
    """A value of the JSON; a pickled one as the restricted reader sees it."""
    if not isinstance(data, dict) or name not in data:
        raise ValueError(f"it has no {name}")
    value = data[name]
    if isinstance(value, dict) and ":serialized:" in value:
        return Machine().run(BytesIO(base64.b64decode(value[":serialized:"], validate=True)))
    return value


def _family(data: Any) -> str:
    policy = _entry(data, "policy_class")
    name = getattr(policy, "name", "?")
    if name not in FAMILIES:
        raise ValueError(
            f"its policy class {name} is not supported; Mlp-, Cnn- and MultiInputPolicy of PPO, A2C, DQN, SAC, TD3 are"
        )
    return FAMILIES[name]


def _options(data: Any) -> dict[str, Any]:
    """The policy's keyword arguments."""
    options = _entry(data, "policy_kwargs") or {}
    if not isinstance(options, dict):
        raise ValueError("its policy_kwargs are no dict")
    extractor = options.get("features_extractor_class")
    if extractor is not None and kind(extractor) not in ("FlattenExtractor", "NatureCNN", "CombinedExtractor"):
        raise ValueError(f"its features extractor {kind(extractor)} is not supported")
    if options.get("clip_mean", SDE_CLIP) != SDE_CLIP:
        raise ValueError("its clip_mean is not supported: only the default is")
    if options.get("squash_output"):
        raise ValueError("its squashed output (squash_output) is not supported")
    return options


def _activation(family: str, options: dict[str, Any]) -> str:
    chosen = options.get("activation_fn")
    if chosen is None:
        return "tanh" if family in ("actor-critic", "recurrent") else "relu"
    if kind(chosen) not in ACTIVATIONS:
        raise ValueError(f"its activation {kind(chosen)} is not supported; {', '.join(ACTIVATIONS)} are")
    return ACTIVATIONS[kind(chosen)]


def _parts(
    family: str, weights: Weights, between: str, seen: Observations, actions: ActionSpace
) -> tuple[Any, dict[str, Any]]:
    """Policy and critics."""
    if family == "dqn":
        layers = _features(weights, ["q_net.features_extractor"], seen) + chain(weights, "q_net.q_net", between)
        return GreedyPolicy(eqx.nn.Sequential(layers[:-1])), {}
    if family in ("sac", "td3"):
        return _squashed(family, weights, between, seen, actions), _action_critics(weights, between, seen, actions)
    features = _features(weights, ["pi_features_extractor", "features_extractor"], seen)
    head = [*chain(weights, "mlp_extractor.policy_net", between), dense(weights, "action_net")]
    log_std = None if actions.discrete else _log_std(weights, actions.size)
    if family == "recurrent":
        return RecurrentPolicy(lstm_network(weights, "lstm_actor", features, head), log_std), {}
    shared = chain(weights, "mlp_extractor.shared_net", between)  # of versions before 1.8
    network = eqx.nn.Sequential([*features, *shared, *head])
    features = _features(weights, ["vf_features_extractor", "features_extractor"], seen)
    value = [*features, *shared, *chain(weights, "mlp_extractor.value_net", between), dense(weights, "value_net")]
    critics = {"value": ValueCritic(eqx.nn.Sequential(value))}
    return (CategoricalPolicy(network) if log_std is None else GaussianPolicy(network, log_std)), critics


def _squashed(
    family: str, weights: Weights, between: str, seen: Observations, actions: ActionSpace
) -> SquashedPolicy | SquashedGaussianPolicy:
    """tanh(mu) scaled to the action range: SAC's mean action, TD3's action. SAC's standard deviation is kept."""
    if actions.discrete or not np.all(np.isfinite(np.concatenate([actions.low, actions.high]))):
        raise ValueError("its squashed actions have no finite range")
    features = _features(weights, ["actor.features_extractor"], seen)
    low, high = jnp.asarray(actions.low), jnp.asarray(actions.high)
    if family == "td3":
        return SquashedPolicy(eqx.nn.Sequential([*features, *chain(weights, "actor.mu", between)[:-1]]), low, high)
    latent = [*features, *chain(weights, "actor.latent_pi", between)]
    if "actor.mu.0.weight" in weights:  # gSDE, whose mean is within ±2
        return SquashedPolicy(
            eqx.nn.Sequential([*latent, *_clipped(dense(weights, "actor.mu.0"), SDE_CLIP)]), low, high
        )
    mean, spread = dense(weights, "actor.mu"), dense(weights, "actor.log_std")
    if mean.weight.shape != spread.weight.shape:
        raise ValueError("its actor's mean and standard deviation do not fit each other")
    both = linear(
        *(jnp.concatenate([a, b]) for a, b in zip(*[(la.weight, la.bias) for la in (mean, spread)], strict=True))
    )
    return SquashedGaussianPolicy(eqx.nn.Sequential([*latent, both]), low, high)


def _clipped(layer: eqx.nn.Linear, reach: float) -> list[Any]:
    """clip(y, -c, c) = relu(y + c) - relu(y - c) - c of a dense layer's output y, as layers that have bounds."""
    one = jnp.eye(layer.out_features)
    bias = jnp.asarray(layer.bias)
    both = linear(jnp.concatenate([layer.weight] * 2), jnp.concatenate([bias + reach, bias - reach]))
    back = linear(jnp.concatenate([one, -one], axis=1), jnp.full(layer.out_features, -reach))
    return [both, activation("relu"), back]


def _log_std(weights: Weights, size: int) -> jax.Array:
    """Of gSDE, whose noise is a product of the last hidden layer h with random weights: that where all h² are 1/2."""
    own = weight(weights, "log_std")
    if own.ndim != 2:
        return jnp.asarray(weight(weights, "log_std", (size,)))
    if own.shape[1] not in (1, size):
        raise ValueError(f"its weights log_std have shape {own.shape}, expected {size} columns")
    return jnp.asarray(np.broadcast_to(np.log(np.square(np.exp(own)).sum(axis=0) / 2) / 2, (size,)), jnp.float32)


def _action_critics(
    weights: Weights, between: str, seen: Observations, actions: ActionSpace
) -> dict[str, ActionCritic]:
    """Q(s, a) of SAC's and TD3's critics, which take actions in [-1, 1]; those of images are left out."""
    if len(seen.shape) != 1 or any(name.startswith("critic.features_extractor.") for name in weights):
        return {}
    low, high = jnp.asarray(actions.low), jnp.asarray(actions.high)
    names = {"q": "critic.qf0", "q-twin": "critic.qf1"}
    found = {name: at for name, at in names.items() if f"{at}.0.weight" in weights}
    layers = {name: eqx.nn.Sequential(chain(weights, at, between)[:-1]) for name, at in found.items()}
    return {name: ActionCritic(network).in_units(low, high) for name, network in layers.items()}


def _features(weights: Weights, prefixes: list[str], seen: Observations) -> list[Any]:
    """Nature's CNN where the first of these extractors that is there has weights, else at most a flattening."""
    for prefix in prefixes:
        own = {name.removeprefix(f"{prefix}.") for name in weights if name.startswith(f"{prefix}.")}
        if not own:
            continue
        if own != {f"{layer}.{part}" for layer in (*NATURE_CNN, "linear.0") for part in ("weight", "bias")}:
            raise ValueError(f"its features extractor {prefix} is not supported: it is not NatureCNN")
        relu = activation("relu")
        layers: list[Any] = []
        for name, stride in NATURE_CNN.items():
            layers += [convolution(weights, f"{prefix}.{name}", stride), relu]
        return [*layers, activation("flatten"), dense(weights, f"{prefix}.linear.0"), relu]
    return [activation("flatten")] if len(seen.shape) > 1 else []


def _meta(family: str, data: dict[str, Any], name: str) -> dict[str, Any]:
    names = {"actor-critic": "ppo" if "clip_range" in data else "a2c", "recurrent": "recurrent-ppo"}
    meta: dict[str, Any] = {"method": names.get(family, family), "source": name, "library": "stable-baselines3"}
    numbers = {"steps": data.get("num_timesteps"), "seed": data.get("seed")}
    meta |= {name: value for name, value in numbers.items() if type(value) is int}
    return meta | ({"gsde": True} if data.get("use_sde") else {})


def _env_id(path: Path) -> str:
    match = re.search(r"[A-Za-z0-9]+-v\d+", path.stem)
    if match is None:
        raise UserError(f"{path} does not tell its environment: give --env, or its id in the file's name")
    return match[0]
