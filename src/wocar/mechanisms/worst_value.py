"""Mechanism 1: worst-attack value estimation."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.bounds import taken
from wocar.types import Array, Batch, Critic

_ADAM = optax.scale_by_adam(eps=1e-5)


class WorstCritic(NamedTuple):
    """The worst critic, its slowly following target, and its optimiser's state."""

    online: Any
    target: Any
    opt: Any

    @classmethod
    def create(cls, critic: Critic) -> "WorstCritic":
        copy = jax.tree.map(lambda x: x.copy() if eqx.is_array(x) else x, critic)
        return cls(critic, copy, _ADAM.init(eqx.filter(critic, eqx.is_array)))


def q_at(critic: Critic, obs: Array, actions: Array) -> Array:
    """Q(s, a) of a critic of either kind: critic(s, a), or the entry a of critic(s) for discrete actions. (N,)"""
    if jnp.issubdtype(actions.dtype, jnp.integer):
        return taken(critic(obs), actions)
    return critic(obs, actions)


def worst_attack_backup(rewards: Array, terminated: Array, next_minimum: Array, gamma: float) -> Array:
    """Eq. (1), sampled: (T Q)(s, a) = r + γ min_{a' ∈ A_adv(s', π)} Q(s', a'), r alone if s' is terminal. (N,)"""
    return rewards + gamma * jnp.where(terminated, 0.0, next_minimum)


def reward_limits(rewards: Array, gamma: float) -> tuple[Array, Array]:
    """The least and the largest discounted sum of rewards like these, if an episode may also end at once."""
    horizon = 1 / (1 - gamma)
    return jnp.minimum(rewards.min(), 0.0) * horizon, jnp.maximum(rewards.max(), 0.0) * horizon


def boundaries(batch: Batch) -> jax.Array:
    """Rows where a trajectory is cut but not terminated (time limit, end of the rollout), in a fixed number of slots.

    s' of a step is s of the next one, except here: only these successors are evaluated separately.
    """
    n = len(batch.rewards)
    return jnp.nonzero(batch.last & ~batch.terminated, size=min(n, max(n // 8, 64)), fill_value=n)[0]


def follow(here: Array, last: Array, ends: Array, at_ends: Array) -> jax.Array:
    """A quantity of s (N,) shifted to s': that of the following step, or at the boundaries the one found there."""
    following = jnp.where(last, here, jnp.roll(here, -1))
    return following.at[ends].set(at_ends, mode="drop")


def estimation_loss(values: Array, targets: Array) -> jax.Array:
    """Eq. (3): L_est = 1/N Σ (y_t - Q(s_t, a_t))²."""
    return jnp.mean((targets - values) ** 2)


def members_loss(critic: Critic, obs: Array, actions: Array, targets: Array) -> jax.Array:
    """The estimation loss of a critic, or the sum of its members'."""
    members = getattr(critic, "members", (critic,))
    return sum((estimation_loss(q_at(member, obs, actions), targets) for member in members), jnp.zeros(()))


def fit_worst_critic(
    critic: WorstCritic,
    obs: Array,
    actions: Array,
    targets: Array,
    key: jax.Array,
    lr: jax.Array | float,
    epochs: int,
    minibatches: int,
    tau: float,
) -> tuple[WorstCritic, jax.Array]:
    """Eq. (7): minimise L_est of the worst critic by minibatch Adam; the target follows at rate τ."""
    minibatches = min(minibatches, targets.shape[0])
    n = targets.shape[0] // minibatches * minibatches
    online, static = eqx.partition(critic.online, eqx.is_array)
    target, _ = eqx.partition(critic.target, eqx.is_array)

    def minibatch(carry: Any, part: tuple[Array, Array, Array]) -> tuple[Any, jax.Array]:
        online, target, opt = carry
        s, a, y = part
        loss, grads = jax.value_and_grad(lambda p: members_loss(eqx.combine(p, static), s, a, y))(online)
        direction, opt = _ADAM.update(grads, opt)
        online = jax.tree.map(lambda p, d: p - lr * d, online, direction)
        target = jax.tree.map(lambda t, p: t + tau * (p - t), target, online)
        return (online, target, opt), loss

    def epoch(carry: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        order = jax.random.permutation(key, targets.shape[0])[:n].reshape(minibatches, -1)
        return jax.lax.scan(minibatch, carry, tuple(x[order] for x in (obs, actions, targets)))

    (online, target, opt), losses = jax.lax.scan(epoch, (online, target, critic.opt), jax.random.split(key, epochs))
    return WorstCritic(eqx.combine(online, static), eqx.combine(target, static), opt), losses[-1].mean()
