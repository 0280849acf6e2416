"""Observations that push the policy's action: steps along J_mu(x)ᵀ g for a wanted direction g of the action."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from wocar.bounds import Ball
from wocar.mechanisms.contexts import Context
from wocar.types import Array

Pull = Callable[[Array], Array]
"""Actions in [-1, 1] to the direction (N, actions) in which each is to move."""


def pushed(policy: Any, ball: Ball, obs: Array, start: Array, pull: Pull, steps: int) -> jax.Array:
    """x <- project(x + eps n / k direction(J_mu(x)ᵀ pull(tanh mu(x)))), k = 1 .. n: the first steps cross the ball."""
    x, radius = jnp.asarray(start), ball.radius(obs)
    for k in range(steps):
        mean, back = jax.vjp(policy.unit_mode, x)
        (gradient,) = back(pull(mean))
        x = ball.project(obs, x + radius * steps / (k + 1) * ball.direction(gradient))
    found: jax.Array = jax.lax.stop_gradient(x)
    return found


def pull_of(context: Context, critics: Any, obs: Array, see_context: bool = True) -> Pull:
    """Where the attackers of these contexts push: down the value of their critic, or along the director."""
    by_critic = (context.worst > 0) | (context.natural > 0)
    more = (jnp.where(context.natural[:, None] > 0, 0.0, context.vector),) if see_context else ()

    def pull(actions: Array) -> Array:
        down = -jax.grad(lambda a: critics.one(obs, a, *more).sum())(actions)
        return jnp.where(by_critic[:, None], down, context.director)

    return pull


def shown_in(
    context: Context,
    policy: Any,
    critics: Any,
    ball: Ball,
    obs: Array,
    key: jax.Array,
    steps: int,
    see_context: bool = True,
) -> jax.Array:
    """What the policy sees of each state under the attack of its context: the state itself where there is none."""
    x = pushed(policy, ball, obs, ball.sample(key, obs), pull_of(context, critics, obs, see_context), steps)
    return jnp.where(context.attacked[:, None], x, obs)
