"""Networks for an environment: policy and value, and the worst critics that an objective asks for."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.networks import (
    SMALL_CNN,
    CategoricalPolicy,
    DiscreteCritic,
    DuelingActionCritic,
    GaussianPolicy,
    TwinCritic,
    ValueCritic,
    cnn,
)
from wocar.types import EnvSpec, UserError


def vector_size(spec: EnvSpec) -> int:
    """How many numbers an observation has, where it is a vector."""
    if len(spec.obs_shape) != 1:
        raise UserError(f"{spec.id} shows observations of shape {spec.obs_shape}; this method takes vectors only")
    return spec.obs_shape[0]


def create_networks(
    spec: EnvSpec, key: jax.Array, hidden: tuple[int, ...], init_std: float
) -> tuple[GaussianPolicy | CategoricalPolicy, ValueCritic]:
    """Convolutions for pixels (channels, height, width), else dense layers."""
    policy_key, value_key = jax.random.split(key)
    if len(spec.obs_shape) == 3:
        network = cnn(spec.obs_shape, spec.actions.size, policy_key, **SMALL_CNN, head_gain=0.01)
        value = ValueCritic(cnn(spec.obs_shape, 1, value_key, **SMALL_CNN))
        if spec.actions.discrete:
            return CategoricalPolicy(network), value
        return GaussianPolicy(network, jnp.full(spec.actions.size, math.log(init_std), jnp.float32)), value
    size = vector_size(spec)
    value = ValueCritic.create(size, value_key, hidden)
    if spec.actions.discrete:
        return CategoricalPolicy.create(size, spec.actions.size, policy_key, hidden), value
    return GaussianPolicy.create(size, spec.actions.size, policy_key, hidden, init_std), value


def create_worst_critic(spec: EnvSpec, key: jax.Array, hidden: tuple[int, ...], count: int) -> Any:
    """None, one critic for the kind of actions, or a pair of them."""
    kind: Any = DiscreteCritic if spec.actions.discrete else DuelingActionCritic
    if count == 0:
        return None
    keys = [key] if count == 1 else list(jax.random.split(key))
    if len(spec.obs_shape) == 3 and spec.actions.discrete:
        critics = [DiscreteCritic(cnn(spec.obs_shape, spec.actions.size, k, **SMALL_CNN)) for k in keys]
    else:
        critics = [kind.create(vector_size(spec), spec.actions.size, k, hidden) for k in keys]
    return critics[0] if count == 1 else TwinCritic(*critics)


def copied(tree: Any) -> Any:
    """With arrays of its own: those of a learner are given away at its next update."""
    return jax.tree.map(lambda x: x.copy() if eqx.is_array(x) else x, tree)
