"""What every base algorithm trains: a policy, its value, and whatever the objective adds."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from wocar.networks import (
    CategoricalPolicy,
    DiscreteCritic,
    DuelingActionCritic,
    GaussianPolicy,
    TwinCritic,
    ValueCritic,
)
from wocar.training.gae import gae
from wocar.types import Batch, EnvSpec, Transitions, UserError


class Learner(NamedTuple):
    """`extra` belongs to the objective (the worst critic and its like)."""

    policy: GaussianPolicy | CategoricalPolicy
    value: ValueCritic
    policy_opt: Any
    value_opt: Any
    extra: Any


def create_networks(
    spec: EnvSpec, key: jax.Array, hidden: tuple[int, ...], init_std: float
) -> tuple[GaussianPolicy | CategoricalPolicy, ValueCritic]:
    if len(spec.obs_shape) != 1:
        raise UserError(f"{spec.id} shows observations of shape {spec.obs_shape}; this method takes vectors only")
    size = spec.obs_shape[0]
    policy_key, value_key = jax.random.split(key)
    value = ValueCritic.create(size, value_key, hidden)
    if spec.actions.discrete:
        return CategoricalPolicy.create(size, spec.actions.size, policy_key, hidden), value
    return GaussianPolicy.create(size, spec.actions.size, policy_key, hidden, init_std), value


def create_worst_critic(spec: EnvSpec, key: jax.Array, hidden: tuple[int, ...], count: int) -> Any:
    """None, one critic of the kind the actions ask for, or a pair of them."""
    kind: Any = DiscreteCritic if spec.actions.discrete else DuelingActionCritic
    if count < 2:
        return kind.create(spec.obs_shape[0], spec.actions.size, key, hidden) if count else None
    return TwinCritic(*(kind.create(spec.obs_shape[0], spec.actions.size, k, hidden) for k in jax.random.split(key)))


def make_batch(learner: Learner, rollout: Transitions, gamma: float, gae_lambda: float) -> Batch:
    """Flatten a rollout (n, T, ...) to (n * T, ...) and add what the frozen policy and value say of it."""
    rollout = Transitions(*(jnp.asarray(x) for x in rollout))
    flat = Transitions(*(x.reshape(-1, *x.shape[2:]) for x in rollout))
    value, next_value = learner.value(flat.obs), learner.value(flat.next_obs)
    grid = rollout.rewards.shape
    last = (rollout.terminated | rollout.truncated).at[:, -1].set(True)
    advantage = gae(
        rollout.rewards,
        value.reshape(grid),
        next_value.reshape(grid),
        rollout.terminated,
        rollout.truncated,
        gamma,
        gae_lambda,
    ).reshape(-1)
    return Batch(
        obs=flat.obs,
        actions=flat.actions,
        rewards=flat.rewards,
        next_obs=flat.next_obs,
        terminated=flat.terminated,
        last=last.reshape(-1),
        log_prob=learner.policy.log_prob(flat.obs, flat.actions),
        value=value,
        advantage=advantage,
        returns=advantage + value,
    )


def apply_gradient(optimiser: optax.GradientTransformation, lr: jax.Array, params: Any, state: Any, grads: Any) -> Any:
    """One optimiser step of size lr; `optimiser` only shapes the direction, so lr may be a traced schedule."""
    direction, state = optimiser.update(grads, state, params)
    return jax.tree.map(lambda p, d: p - lr * d, params, direction), state


def minibatches(batch: Batch, key: jax.Array, count: int) -> Batch:
    """The batch in random order as (count, N / count, ...)."""
    n = batch.rewards.shape[0]
    order = jax.random.permutation(key, n)[: n // count * count].reshape(count, -1)
    return jax.tree.map(lambda x: x[order], batch)
