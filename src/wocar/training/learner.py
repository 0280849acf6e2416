"""What PPO and A2C train, the batches they learn from, and the steps they take."""

from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from wocar.mechanisms.objective import PolicyObjective
from wocar.training.create_networks import create_worst_critic
from wocar.training.gae import gae
from wocar.training.networks import Networks, Outputs, flatten
from wocar.types import Batch, EnvSpec, Memory, Transitions

Data = TypeVar("Data")


class Learner(NamedTuple):
    """`extra` is the objective's state; `memory` that of recurrent networks after the last rollout."""

    policy: Any
    value: Any
    policy_opt: Any
    value_opt: Any
    extra: Any
    memory: Memory = Memory()


def create_learner(
    spec: EnvSpec,
    key: jax.Array,
    networks: Networks,
    objective: PolicyObjective,
    optimiser: optax.GradientTransformation,
) -> Learner:
    policy, value, memory = networks.create(spec, jax.random.fold_in(key, 0))
    critic = create_worst_critic(spec, jax.random.fold_in(key, 1), networks.critic_hidden, objective.critics)
    policy_opt, value_opt = (optimiser.init(eqx.filter(network, eqx.is_array)) for network in (policy, value))
    return Learner(policy, value, policy_opt, value_opt, objective.init(critic, spec.obs_shape), memory)


def make_batch(rollout: Transitions, outputs: Outputs, gamma: float, gae_lambda: float) -> Batch:
    """The batch of a rollout (n, T, ...), given what the frozen networks say of it."""
    flat, grid = flatten(rollout), rollout.rewards.shape
    terminated, truncated = flat.terminated.reshape(grid), flat.truncated.reshape(grid)
    last = (terminated | truncated).at[:, -1].set(True)
    seen = flat.rewards, outputs.value, outputs.next_value
    rewards, values, next_values = (jnp.asarray(x).reshape(grid) for x in seen)
    advantage = gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda).reshape(-1)
    return Batch(
        obs=flat.obs,
        actions=flat.actions,
        rewards=flat.rewards,
        next_obs=flat.next_obs,
        terminated=flat.terminated,
        last=last.reshape(-1),
        log_prob=outputs.log_prob,
        value=outputs.value,
        advantage=advantage,
        returns=advantage + outputs.value,
        reward_scale=jnp.broadcast_to(rollout.reward_scale, outputs.value.shape),
        memory=outputs.before,
    )


def forget(learner: Learner, begins: np.ndarray) -> Learner:
    """The learner with no memory of the environments (n,) whose episodes begin."""
    return learner._replace(memory=jax.tree.map(lambda x: jnp.where(begins[:, None], 0.0, x), learner.memory))


def apply_gradient(optimiser: optax.GradientTransformation, lr: jax.Array, params: Any, state: Any, grads: Any) -> Any:
    """One optimiser step of size lr; `optimiser` only shapes the direction, so lr may be a traced schedule."""
    direction, state = optimiser.update(grads, state, params)
    return jax.tree.map(lambda p, d: p - lr * d, params, direction), state


def minibatches(data: Data, key: jax.Array, count: int, block: int = 1) -> Data:
    """Rows (N, ...) in random order as (count, N / count, ...); blocks of so many stay together, in their order."""
    blocks = jax.tree.leaves(data)[0].shape[0] // block
    order = jax.random.permutation(key, blocks)[: blocks // count * count].reshape(count, -1)

    def cut(x: jax.Array) -> jax.Array:
        return x.reshape(blocks, block, *x.shape[1:])[order].reshape(count, -1, *x.shape[1:])

    return jax.tree.map(cut, data)
