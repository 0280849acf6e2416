"""The worst action among those an attacker can cause, for either threat and either kind of action."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.bounds import (
    Ball,
    action_ball,
    action_box,
    action_mask,
    any_action,
    worst_action_in_box,
    worst_action_in_mask,
    worst_value_in_mask,
)
from wocar.mechanisms.config import WocarConfig
from wocar.mechanisms.worst_value import WorstCritic, q_at
from wocar.types import ActionSpace, Array


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


def set_minimum(
    policy: Any, critic: WorstCritic, obs: Array, ball: Ball, config: WocarConfig, actions: ActionSpace
) -> SetMinimum:
    if actions.discrete:
        return _discrete(policy, critic, obs, ball, config)
    mode = actions.cut(policy.mode(obs))
    if config.threat == "action":
        box = action_ball(mode, ball.eps, actions.low, actions.high)
    else:
        box = action_box(policy.network, ball, obs, actions.low, actions.high, config.bounds)
    worst = worst_action_in_box(lambda a: critic.online(obs, a), mode, box, steps=config.search_steps)
    value = critic.target(obs, worst)
    width = box.upper - box.lower
    drop = critic.target(obs, mode) - value
    return SetMinimum(mode, worst, value, drop, width.mean(axis=-1), (width > 1e-6).any(axis=-1))


def _discrete(policy: Any, critic: WorstCritic, obs: Array, ball: Ball, config: WocarConfig) -> SetMinimum:
    mode, scores = policy.mode(obs), critic.online(obs)
    at_mode = q_at(critic.target, obs, mode)
    if config.threat == "action":
        mask = any_action(scores)
        value = worst_value_in_mask(critic.target(obs), mask, mode, probability=ball.eps)
        worst = worst_action_in_mask(scores, mask)
    else:
        mask = action_mask(policy.network, ball, obs, config.bounds)
        worst = worst_action_in_mask(scores, mask)
        value = q_at(critic.target, obs, worst)
    size = mask.sum(axis=-1)
    return SetMinimum(mode, worst, value, at_mode - value, size.astype(jnp.float32), size > 1)
