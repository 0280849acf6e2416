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
    x, radius = start, ball.radius(obs)
    for k in range(steps):
        mean, back = jax.vjp(policy.unit_mode, x)
        (gradient,) = back(pull(mean))
        x = ball.project(obs, x + radius * steps / (k + 1) * ball.direction(gradient))
    return jax.lax.stop_gradient(x)


def pull_of(context: Context, critics: Any, short: Any, obs: Array, natural: Array | None = None) -> Pull:
    """Where the attackers of these contexts push: down a critic's value, or along the director.

    `natural` (N,), where given, marks rows attacked by the value of the unattacked policy, whose context they hold.
    """
    vector = context.vector
    by_critic = context.worst > 0 if natural is None else (context.worst > 0) | natural

    def pull(actions: Array) -> Array:
        down = -jax.grad(lambda a: critics.one(obs, a, vector).sum())(actions)
        wanted = jnp.where(by_critic[:, None], down, context.director)
        if short is None:
            return wanted
        down = -jax.grad(lambda a: short(obs, a).sum())(actions)
        return jnp.where(context.short[:, None] > 0, down, wanted)

    return pull


def shown_in(
    context: Context, policy: Any, critics: Any, short: Any, ball: Ball, obs: Array, key: jax.Array, steps: int
) -> jax.Array:
    """What the policy sees of each state under the attack of its context: the state itself where there is none."""
    x = pushed(policy, ball, obs, ball.sample(key, obs), pull_of(context, critics, short, obs), steps)
    return jnp.where(context.attacked[:, None], x, obs)
