"""What every base algorithm trains: a policy, its value, and whatever the objective adds."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

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
from wocar.training.gae import gae
from wocar.types import Array, Batch, EnvSpec, Transitions, UserError


class Learner(NamedTuple):
    """`extra` belongs to the objective (the worst critic and its like); `memory` are the states of recurrent networks
    after the last rollout, one row per environment."""

    policy: Any
    value: Any
    policy_opt: Any
    value_opt: Any
    extra: Any
    memory: Any = ()


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
    """None, one critic of the kind the actions ask for, or a pair of them."""
    kind: Any = DiscreteCritic if spec.actions.discrete else DuelingActionCritic
    if count == 0:
        return None
    keys = [key] if count == 1 else list(jax.random.split(key))
    if len(spec.obs_shape) == 3 and spec.actions.discrete:
        critics = [DiscreteCritic(cnn(spec.obs_shape, spec.actions.size, k, **SMALL_CNN)) for k in keys]
    else:
        critics = [kind.create(vector_size(spec), spec.actions.size, k, hidden) for k in keys]
    return critics[0] if count == 1 else TwinCritic(*critics)


def make_batch(learner: Learner, rollout: Transitions, gamma: float, gae_lambda: float) -> Batch:
    """Flatten a rollout (n, T, ...) to (n * T, ...) and add what the frozen policy and value say of it."""
    flat = flatten(rollout)
    value, next_value = learner.value(flat.obs), learner.value(flat.next_obs)
    log_prob = learner.policy.log_prob(flat.obs, flat.actions)
    return assemble_batch(rollout, value, next_value, log_prob, gamma, gae_lambda)


def flatten(rollout: Transitions) -> Transitions:
    return Transitions(*(jnp.asarray(x).reshape(-1, *x.shape[2:]) for x in rollout[:-1]))


def assemble_batch(
    rollout: Transitions,
    value: Array,
    next_value: Array,
    log_prob: Array,
    gamma: float,
    gae_lambda: float,
) -> Batch:
    """The batch of a rollout (n, T, ...), given V(s), V(s') and log π(a|s) of its steps (n * T,)."""
    flat, grid = flatten(rollout), rollout.rewards.shape
    terminated, truncated = flat.terminated.reshape(grid), flat.truncated.reshape(grid)
    last = (terminated | truncated).at[:, -1].set(True)
    rewards, values, next_values = (jnp.asarray(x).reshape(grid) for x in (flat.rewards, value, next_value))
    advantage = gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda).reshape(-1)
    return Batch(
        obs=flat.obs,
        actions=flat.actions,
        rewards=flat.rewards,
        next_obs=flat.next_obs,
        terminated=flat.terminated,
        last=last.reshape(-1),
        log_prob=log_prob,
        value=value,
        advantage=advantage,
        returns=advantage + value,
        notes={"reward_scale": jnp.broadcast_to(rollout.reward_scale, value.shape)},
    )


def forget(learner: Learner, begins: np.ndarray) -> Learner:
    """The learner with no memory of the environments (n,) whose episodes begin."""
    return learner._replace(memory=jax.tree.map(lambda x: jnp.where(begins[:, None], 0.0, x), learner.memory))


def apply_gradient(optimiser: optax.GradientTransformation, lr: jax.Array, params: Any, state: Any, grads: Any) -> Any:
    """One optimiser step of size lr; `optimiser` only shapes the direction, so lr may be a traced schedule."""
    direction, state = optimiser.update(grads, state, params)
    return jax.tree.map(lambda p, d: p - lr * d, params, direction), state


def minibatches(batch: Batch, key: jax.Array, count: int, block: int = 1) -> Batch:
    """The batch in random order as (count, N / count, ...); blocks of so many rows stay together, in their order."""
    blocks = batch.rewards.shape[0] // block
    order = jax.random.permutation(key, blocks)[: blocks // count * count].reshape(count, -1)

    def cut(x: jax.Array) -> jax.Array:
        return x.reshape(blocks, block, *x.shape[1:])[order].reshape(count, -1, *x.shape[1:])

    return jax.tree.map(cut, batch)


def check_replay(config: Any, run: Any) -> None:
    """A UserError where the settings of a replay do not fit together."""
    if run.batch_steps % config.train_freq:
        raise UserError(f"--train-freq must divide n_envs * n_steps = {run.batch_steps}, not be {config.train_freq}")
    least = config.n_envs * (config.n_step + 10)
    if config.buffer_size < least:
        raise UserError(f"--buffer-size must be at least {least} here, not {config.buffer_size}")
