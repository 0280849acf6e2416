"""Our policies and critics by the names of Stable-Baselines3's, for its zips."""

import math
from typing import Any, NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.interop.activation_names import ACTIVATION_CLASSES
from wocar.interop.pickle_writer import Name
from wocar.interop.sb3_layout import Stack, Weights, chain, extractor, fresh, layer, stack_of, unit_critic
from wocar.networks import (
    ActionCritic,
    CategoricalPolicy,
    GaussianPolicy,
    GreedyPolicy,
    PixelNormaliser,
    SquashedGaussianPolicy,
    SquashedPolicy,
    ValueCritic,
)
from wocar.types import UserError


class Model(NamedTuple):
    """What a zip holds of an agent, by the library's names."""

    algorithm: str
    policy_class: Name
    weights: Weights
    kwargs: dict[str, Any]
    """The policy's keyword arguments."""
    trained: dict[str, int]
    """Number of parameters of each optimiser."""
    notes: list[str]


def sb3_model(agent: Agent) -> Model:
    """The agent's networks as the library has them; a UserError where it has no such ones."""
    normaliser = agent.normaliser
    pixels = isinstance(normaliser, PixelNormaliser)
    if isinstance(normaliser, PixelNormaliser) and normaliser.brightest != 255:
        raise UserError("its pixels are not divided by 255, as Stable-Baselines3 divides them")
    match agent.policy:
        case GreedyPolicy():
            model = _dqn(agent)
        case GaussianPolicy() | CategoricalPolicy():
            model = _actor_critic(agent)
        case SquashedGaussianPolicy() | SquashedPolicy():
            model = _squashed(agent)
        case other:
            raise UserError(f"Stable-Baselines3 has no policy for a {type(other).__name__}: --to onnx may")
    if (len(agent.spec.obs_shape) == 3) != pixels:
        raise UserError("its observations are images that are not divided by 255, which Stable-Baselines3 would do")
    return model


def _actor_critic(agent: Agent) -> Model:
    """Policy and value network of PPO or A2C; a new value network where the agent's cannot be written."""
    stack, notes = stack_of(agent.policy.network), []
    value = agent.critics.get("value")
    try:
        values = stack_of(value.network) if isinstance(value, ValueCritic) else None
    except UserError:
        values = None
    fits = values is not None and (values.features is None) == (stack.features is None)
    if values is None or not fits or (values.activation or stack.activation) != (stack.activation or values.activation):
        sizes = [stack.dense[0][0].shape[1], *stack.hidden, 1]
        values = stack._replace(dense=fresh(sizes, 0))
        notes.append("its value network cannot be written: the zip has a new one, which does not act")
    weights: Weights = {} if agent.spec.actions.discrete else {"log_std": np.asarray(agent.policy.log_std)}
    if stack.features is not None:
        weights |= extractor(stack, "features_extractor") | extractor(stack, "pi_features_extractor")
        weights |= extractor(values, "vf_features_extractor")
    weights |= chain(stack.dense[:-1], "mlp_extractor.policy_net") | chain(values.dense[:-1], "mlp_extractor.value_net")
    weights |= layer(stack.dense[-1], "action_net") | layer(values.dense[-1], "value_net")
    kwargs = _options({"pi": stack.hidden, "vf": values.hidden}, stack.activation or values.activation, stack)
    algorithm = "A2C" if agent.meta.get("method") == "a2c" else "PPO"
    if stack.features is not None:
        kwargs["share_features_extractor"] = False
    if algorithm == "A2C":
        kwargs["optimizer_class"] = Name("torch.optim.rmsprop", "RMSprop")
        kwargs["optimizer_kwargs"] = {"alpha": 0.99, "eps": 1e-5, "weight_decay": 0}
    if not agent.spec.actions.discrete and not agent.meta.get("clip_actions"):
        notes.append("Stable-Baselines3 cuts actions to their range, this agent does not: rewards can differ")
    count = sum(not name.startswith("features_extractor.") for name in weights)
    cls = "ActorCriticPolicy" if stack.features is None else "ActorCriticCnnPolicy"
    where = Name("stable_baselines3.common.policies", cls)
    return Model(algorithm, where, weights, kwargs, {"policy.optimizer": count}, notes)


def _dqn(agent: Agent) -> Model:
    stack = stack_of(agent.policy.network)
    own = extractor(stack, "features_extractor") | chain(stack.dense, "q_net")
    weights = {f"{place}.{name}": x for place in ("q_net", "q_net_target") for name, x in own.items()}
    kwargs = _options(stack.hidden, stack.activation, stack)
    where = Name("stable_baselines3.dqn.policies", "DQNPolicy" if stack.features is None else "CnnPolicy")
    return Model("DQN", where, weights, kwargs, {"policy.optimizer": len(own)}, [])


def _squashed(agent: Agent) -> Model:
    """SAC's or TD3's actor, and twin critics of actions in [-1, 1]."""
    policy, size, notes = agent.policy, agent.spec.actions.size, []
    stack = stack_of(policy.body)
    if stack.features is not None:
        raise UserError("actors of images are not written for SAC and TD3")
    critics = _twin_critics(agent, stack)
    if critics is None:
        sizes = [stack.dense[0][0].shape[1] + size, 256, 256, 1]
        critics = [stack._replace(dense=fresh(sizes, k)) for k in (0, 1)]
        notes.append("its critics cannot be written: the zip has new ones, which do not act")
    kwargs = _options({"pi": stack.hidden, "qf": critics[0].hidden}, stack.activation, stack)
    twins = {k: v for i, critic in enumerate(critics) for k, v in chain(critic.dense, f"qf{i}").items()}
    weights = {f"{place}.{name}": x for place in ("critic", "critic_target") for name, x in twins.items()}
    trained = {"critic.optimizer": len(twins)}
    if isinstance(policy, SquashedGaussianPolicy) or agent.meta.get("method") == "sac":
        actor = chain(stack.dense[:-1], "latent_pi") | _moment_heads(agent, stack, notes)
        weights |= {f"actor.{name}": x for name, x in actor.items()}
        trained |= {"actor.optimizer": len(actor), "ent_coef_optimizer": 1}
        where = Name("stable_baselines3.sac.policies", "SACPolicy")
        return Model("SAC", where, weights, kwargs, trained, notes)
    actor = chain(stack.dense, "mu")
    weights |= {f"{place}.{name}": x for place in ("actor", "actor_target") for name, x in actor.items()}
    where = Name("stable_baselines3.td3.policies", "TD3Policy")
    return Model("TD3", where, weights, kwargs, trained | {"actor.optimizer": len(actor)}, notes)


def _moment_heads(agent: Agent, stack: Stack, notes: list[str]) -> Weights:
    """SAC's last layers: mu, and log sigma or, where the agent has none, sigma = 0.1."""
    size, (weight, bias) = agent.spec.actions.size, stack.dense[-1]
    if isinstance(agent.policy, SquashedGaussianPolicy):
        return layer((weight[:size], bias[:size]), "mu") | layer((weight[size:], bias[size:]), "log_std")
    notes.append("its exploration is not known: the zip explores with a standard deviation of 0.1")
    flat = (np.zeros_like(weight), np.full_like(bias, math.log(0.1)))
    return layer((weight, bias), "mu") | layer(flat, "log_std")


def _twin_critics(agent: Agent, actor: Stack) -> list[Stack] | None:
    critics = [agent.critics.get(name) for name in ("q", "q-twin")]
    low, high = agent.spec.actions.low, agent.spec.actions.high
    if low is None or high is None or not all(isinstance(critic, ActionCritic) for critic in critics):
        return None
    try:
        stacks = [unit_critic(critic, low, high) for critic in critics if isinstance(critic, ActionCritic)]
    except UserError:
        return None
    same = stacks[0].hidden == stacks[1].hidden and all(stack.activation == actor.activation for stack in stacks)
    return stacks if same else None


def _options(sizes: Any, activation: str | None, stack: Stack) -> dict[str, Any]:
    options: dict[str, Any] = {"net_arch": sizes}
    if activation is not None:
        options["activation_fn"] = Name("torch.nn.modules.activation", ACTIVATION_CLASSES[activation])
    if stack.features is not None:
        options["features_extractor_kwargs"] = {"features_dim": len(stack.features[1])}
    return options
