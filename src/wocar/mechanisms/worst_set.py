"""The worst action among those an attacker can cause, for either threat and either kind of action."""

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from wocar.bounds import (
    Ball,
    BoundMethod,
    action_ball,
    action_box,
    action_mask,
    any_action,
    attacked_value,
    worst_action_in_box,
    worst_action_in_mask,
)
from wocar.mechanisms.worst_value import q_at
from wocar.threat import Threat
from wocar.types import ActionSpace, Array, Critic, CriticPair, Interval, Policy


class SetConfig(Protocol):
    """What of an objective's settings concerns the sets."""

    @property
    def threat(self) -> Threat: ...

    @property
    def bounds(self) -> BoundMethod: ...

    @property
    def search_steps(self) -> int: ...


class ActionSet(NamedTuple):
    """A_adv at each state (N, ...), with the policy's own action; a box for continuous actions, a mask for discrete."""

    mode: jax.Array
    box: Interval | None
    mask: Array
    probability: jax.Array
    """Of an attack's success, (N,)."""


class SetMinimum(NamedTuple):
    """Of each state (N,): the policy's own action, the worst it can be tricked into, and what that costs."""

    mode: jax.Array
    worst: jax.Array
    value: jax.Array
    """Worst-attack value: the target critic at the worst action (chosen by the online one)."""
    drop: jax.Array
    """How much lower that is than at the policy's own action."""
    size: jax.Array
    """Mean width of the box, or number of actions."""
    plural: jax.Array
    """Whether the set holds more than one action."""


def action_set(policy: Policy, obs: Array, ball: Ball, config: SetConfig, actions: ActionSpace) -> ActionSet:
    """What an attacker of the configured threat can make of the policy's action."""
    mode, sure = actions.cut(policy.mode(obs)), jnp.ones(len(obs))
    acting = config.threat.on == "action"
    if actions.discrete:
        if acting:
            return ActionSet(mode, None, any_action(policy.head(obs)), sure * ball.eps)
        return ActionSet(mode, None, action_mask(policy.network, ball, obs, config.bounds, mode), sure)
    if acting:
        return ActionSet(mode, action_ball(mode, ball.eps, actions.low, actions.high), None, sure)
    return ActionSet(mode, action_box(policy.network, ball, obs, actions.low, actions.high, config.bounds), None, sure)


def minimum_over(found: ActionSet, critic: CriticPair, obs: Array, search_steps: int) -> SetMinimum:
    """The critic's minimum over given sets."""
    if found.box is not None:
        worst = worst_action_in_box(lambda a: critic.online(obs, a), found.mode, found.box, steps=search_steps)
        value = critic.target(obs, worst)
        width = found.box.upper - found.box.lower
        drop = critic.target(obs, found.mode) - value
        return SetMinimum(found.mode, worst, value, drop, width.mean(axis=-1), (width > 1e-6).any(axis=-1))
    worst = worst_action_in_mask(critic.online(obs), found.mask)
    value = attacked_value(critic.target(obs), worst, found.mode, found.probability)
    size = found.mask.sum(axis=-1)
    drop = q_at(critic.target, obs, found.mode) - value
    return SetMinimum(found.mode, worst, value, drop, size.astype(jnp.float32), size > 1)


def set_minimum(
    policy: Policy, critic: CriticPair, obs: Array, ball: Ball, config: SetConfig, actions: ActionSpace
) -> SetMinimum:
    return minimum_over(action_set(policy, obs, ball, config, actions), critic, obs, config.search_steps)


def searched_drop(policy: Policy, critic: Critic, obs: Array, ball: Ball, actions: ActionSpace) -> jax.Array:
    """How much less than at the policy's own action a critic says of the one that an attacker causes. (N,)

    The attacker takes one step of steepest descent over the whole ball: cheaper than the set's minimum, and inside it.
    """

    q_values = critic(obs) if actions.discrete else jnp.zeros(())

    def at(x: Array) -> jax.Array:
        if actions.discrete:
            return jnp.sum(jax.nn.softmax(policy.head(x)) * q_values, axis=-1)
        return critic(obs, actions.cut(policy.head(x)))

    here, pull_back = jax.vjp(at, obs)
    (gradient,) = pull_back(jnp.ones_like(here))
    attacked = ball.project(obs, obs - ball.radius(obs) * ball.direction(gradient))
    return jnp.maximum(here - at(attacked), 0.0)
