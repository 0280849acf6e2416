"""Robust Sarsa (Zhang et al. 2020): a critic of the victim, smooth in a ball, and the attack that lowers its value."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from wocar.attacks.base import InputObjective, steepest
from wocar.bounds import Ball, network_bounds, search_each_action, taken
from wocar.mechanisms.worst_value import q_at
from wocar.types import Array, Critic, Interval, Policy, Transitions


class RobustSarsa(eqx.Module):
    """Sign descent on Q(s, μ(s~)): the critic sees the true state, the victim the shown one.

    Discrete actions: on Σ_a π(a|s~) Q(s, a). With `maxdiff` = w on (1 - w) Q - w mean (μ(s~) - μ(s))² (RS + MAD).
    """

    critic: Critic
    steps: int = eqx.field(static=True, default=10)
    maxdiff: float = eqx.field(static=True, default=0.0)
    memory: bool = eqx.field(static=True, default=False)
    """The critic's state is the observation and the hidden state with which the victim meets it."""
    targeted: bool = eqx.field(static=True, default=False)
    """Discrete actions: also searches towards each of them; of those that the victim then takes, the worst."""

    def objective(self, policy: Policy, obs: jax.Array) -> InputObjective:
        head, state = policy.head(obs), self._state(policy, obs)

        def harm(x: jax.Array) -> jax.Array:
            shown = policy.head(x)
            if policy.discrete:
                value = jnp.sum(jax.nn.softmax(shown) * self.critic(state), axis=-1)
            else:
                value = self.critic(state, shown)
            return self.maxdiff * jnp.mean((shown - head) ** 2, axis=-1) - (1 - self.maxdiff) * value

        return harm

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        found = steepest(self.objective(policy, obs), ball, obs, self.steps)
        return self._worst_taken(policy, ball, obs, found) if self.targeted and policy.discrete else found

    def _worst_taken(self, policy: Policy, ball: Ball, obs: jax.Array, found: jax.Array) -> jax.Array:
        values: jax.Array = self.critic(self._state(policy, obs))
        ends = jnp.concatenate([found[None], search_each_action(policy.head, ball, obs, self.steps)])
        shown = jax.vmap(lambda x: ball.project(obs, x))(ends)
        cost = jax.vmap(lambda x: taken(values, policy.mode(x)))(shown)
        return shown[jnp.argmin(cost, axis=0), jnp.arange(len(obs))]

    def _state(self, policy: Policy, obs: jax.Array) -> jax.Array:
        return with_memory(obs, policy.state.h) if self.memory else obs  # type: ignore[attr-defined]


def with_memory(obs: Array, hidden: Array) -> Any:
    """The state of a critic of a victim with a memory. (..., obs + hidden)"""
    xp = obs.__array_namespace__()
    return xp.concatenate([obs, hidden], axis=-1)


class SarsaData(NamedTuple):
    """A victim's steps one after the other, (N, ...): (s', a') of a row is (s, a) of the next, where there is one."""

    obs: Array
    actions: Array
    rewards: Array
    terminated: Array
    known: Array
    """Whether the target can be formed: not at a time limit or the rollout's end, where a' is missing."""


class SarsaConfig(NamedTuple):
    lr: float | Array = 1e-3
    """Constant for two thirds of the fit, then linear to 0."""
    epochs: int = 10
    batch: int = 64
    gamma: float | Array = 0.99


def sarsa_data(rollout: Transitions, scale: float) -> SarsaData:
    """Transitions (n, T) as rows; rewards are divided by `scale`."""
    terminated, truncated = np.asarray(rollout.terminated), np.asarray(rollout.truncated)
    ends = truncated.copy()
    ends[:, -1] = True
    rewards = np.asarray(rollout.rewards, np.float32) / np.float32(scale)
    fields = rollout.obs, rollout.actions, rewards, terminated, terminated | ~ends
    return SarsaData(*(np.asarray(x).reshape(-1, *np.shape(x)[2:]) for x in fields))


def sarsa_targets(rewards: Array, terminated: Array, next_value: Array, gamma: float | Array) -> jax.Array:
    """r + γ Q(s', a'), r alone if s' is terminal. (N,)"""
    return rewards + gamma * jnp.where(terminated, 0.0, next_value)


def smoothness(value: Array, bounds: Interval) -> jax.Array:
    """max(U - Q, Q - L)², the squared largest change of Q in the ball. (N,)"""
    return jnp.maximum(bounds.upper - value, value - bounds.lower) ** 2


def critic_bounds(critic: Any, obs: Array, actions: Array, radius: Array, ibp_share: Array | float) -> Interval:
    """[L, U] of Q over the joint l_inf ball of (s, a), of s alone for discrete actions: b IBP + (1 - b) CROWN-IBP."""
    discrete = jnp.issubdtype(actions.dtype, jnp.integer)
    center = obs if discrete else jnp.concatenate([obs, actions], axis=-1)
    output = actions if discrete else jnp.zeros(len(obs), int)

    def bounds(method: Any) -> Interval:
        found = network_bounds(critic.network, Ball(radius), center, method)
        return Interval(*(taken(side, output) for side in found))

    ibp = bounds("ibp")
    if isinstance(ibp_share, float) and ibp_share == 1.0:
        return ibp
    return jax.tree.map(lambda i, c: ibp_share * i + (1 - ibp_share) * c, ibp, bounds("crown-ibp"))


@eqx.filter_jit
def fit_robust_critic(
    critic: Critic,
    data: SarsaData,
    radius: Array,
    reg: Array,
    key: jax.Array,
    config: SarsaConfig = SarsaConfig(),  # noqa: B008
) -> Any:
    """The critic (one network over (s, a), or over s for discrete actions) after minibatch Adam on

    SmoothL1(Q(s, a), r + γ Q(s', a')) + reg · max(U - Q, Q - L)². The ball's radius is 0 for a third of the fit, grows
    for a third while the bounds turn from CROWN-IBP into IBP, and then stays. Pure; `radius` and `reg` are traced.
    """
    n = len(data.rewards)
    per_epoch = n // config.batch
    steps = config.epochs * per_epoch
    rows = jax.vmap(lambda k: jax.random.permutation(k, n)[: per_epoch * config.batch])(
        jax.random.split(key, config.epochs)
    ).reshape(steps, config.batch)
    progress = jnp.arange(steps) / steps
    adam = optax.scale_by_adam(eps=1e-5)
    params, static = eqx.partition(critic, eqx.is_array)

    def loss(params: Any, rows: jax.Array, ramp: jax.Array | float | None) -> jax.Array:
        critic = eqx.combine(params, static)
        obs, actions, rewards, terminated, known = jax.tree.map(lambda x: x[rows], data)
        following = jnp.minimum(rows + 1, n - 1)
        next_value = q_at(critic, data.obs[following], data.actions[following])
        target = jax.lax.stop_gradient(sarsa_targets(rewards, terminated, next_value, config.gamma))
        value = q_at(critic, obs, actions)
        error = jnp.sum(optax.huber_loss(value, target) * known) / jnp.maximum(jnp.sum(known), 1)
        if ramp is None:
            return error
        bounds = critic_bounds(critic, obs, actions, radius * ramp, ramp)
        return error + reg * jnp.mean(smoothness(value, bounds))

    def phase(carry: Any, part: slice, ramp: Any) -> Any:
        def step(carry: Any, x: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
            params, opt = carry
            rows, t = x
            grads = jax.grad(loss)(params, rows, ramp(t))
            direction, opt = adam.update(grads, opt)
            lr = config.lr * jnp.clip(3 * (1 - t), 0.0, 1.0)
            return (jax.tree.map(lambda p, d: p - lr * d, params, direction), opt), None

        return jax.lax.scan(step, carry, (rows[part], progress[part]))[0]

    data = jax.tree.map(jnp.asarray, data)
    first, second = steps // 3, 2 * steps // 3
    carry = phase((params, adam.init(params)), slice(0, first), lambda t: None)
    carry = phase(carry, slice(first, second), lambda t: jnp.clip(3 * t - 1, 0.0, 1.0))
    params, _ = phase(carry, slice(second, steps), lambda t: 1.0)
    return eqx.combine(params, static)
