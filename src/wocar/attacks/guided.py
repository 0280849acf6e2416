"""Imitation examples for an adversary: perturbations that lower a worst critic's value, or those of a director.

Sampling noise rarely makes a robust victim fail, so an adversary trained from scratch finds little harm; the critic
covers the whole set of actions.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.attacks.base import Attack
from wocar.attacks.director import LinearDirector
from wocar.attacks.learned import Actor, Direction
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.bounds import Ball
from wocar.mechanisms.worst_value import q_at
from wocar.types import Array, Critic, Policy


class Examples(NamedTuple):
    obs: Array
    """(N, ...)"""
    wanted: Array
    """What the adversary should do there. (N, size)"""
    seed: int
    """Of the order in which they are shown."""


Lesson = Callable[[Any, Ball, jax.Array], jax.Array]
"""Victim's policy, ball and clean observations to what the adversary should do there."""


def steepest_direction(critic: Critic, policy: Policy, obs: Array) -> jax.Array:
    """-∂Q(z, a)/∂a at the victim's action, of length 1: what PA-AD's director should say. (B, actions)"""
    action = policy.mode(obs)
    return unit_length(-jax.grad(lambda a: jnp.sum(q_at(critic, obs, a)))(action))


def unit_length(x: Array) -> jax.Array:
    return x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-9)


def lesson(actor: Actor, critic: Critic) -> Lesson:
    """What the adversary should do for its actor to lower the critic's value."""
    if isinstance(actor, Direction):
        return lambda policy, ball, obs: steepest_direction(critic, policy, obs)
    return displacement_by(RobustSarsa(critic))


def directed_lesson(actor: Actor, director: LinearDirector) -> Lesson:
    """What the adversary should do for its actor to push where the director does."""
    if isinstance(actor, Direction):
        return lambda policy, ball, obs: unit_length(director.direction(obs))
    return displacement_by(director)


def displacement_by(attack: Attack) -> Lesson:
    """The attack's own perturbations, as parts of the radius."""

    def displacement(policy: Policy, ball: Ball, obs: jax.Array) -> jax.Array:
        moved = ball.project(obs, attack.perturb(policy, ball, obs, jax.random.key(0)))
        return ball.offset(obs, moved).reshape(len(obs), -1)

    return displacement
