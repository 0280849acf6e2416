"""Where a worst critic would push, taught to an adversary before reinforcement learning goes on from there.

Sampling noise rarely makes a robust victim stumble, so a learner from scratch stays with small harm; the critic has
seen what the whole set of actions leads to.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.attacks.learned import Actor, Direction, Displacement
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.bounds import Ball
from wocar.mechanisms.worst_value import q_at
from wocar.types import Array

Lesson = Callable[[Any, Ball, jax.Array], jax.Array]
"""Victim's policy, ball and clean observations to what the adversary should do there."""


def steepest_direction(critic: Any, policy: Any, obs: Array) -> jax.Array:
    """-∂Q(z, a)/∂a at the victim's action, of length 1: what PA-AD's director should say. (B, actions)"""
    action = policy.mode(obs)
    gradient = -jax.grad(lambda a: jnp.sum(q_at(critic, obs, a)))(action)
    return gradient / (jnp.linalg.norm(gradient, axis=-1, keepdims=True) + 1e-9)


def lesson(actor: Actor, critic: Any) -> Lesson:
    """What the adversary should do for its actor to lower the critic's value."""
    if isinstance(actor, Direction):
        return lambda policy, ball, obs: steepest_direction(critic, policy, obs)
    assert isinstance(actor, Displacement)
    attack = RobustSarsa(critic)

    def displacement(policy: Any, ball: Ball, obs: jax.Array) -> jax.Array:
        moved = ball.project(obs, attack.perturb(policy, ball, obs, jax.random.key(0)))
        return ((moved - obs) / ball.radius(obs)).reshape(len(obs), -1)

    return displacement


def imitate(adversary: Any, obs: Array, wanted: Array, key: jax.Array, steps: int = 4000, batch: int = 256) -> Any:
    """The adversary after least squares of its mode to `wanted` at `obs`."""
    adam = optax.adam(optax.linear_schedule(2e-3, 1e-4, steps))
    arrays, static = eqx.partition(adversary, eqx.is_array)

    @jax.jit
    def run(arrays: Any, obs: jax.Array, wanted: jax.Array) -> Any:
        def loss(arrays: Any, rows: jax.Array) -> jax.Array:
            return jnp.mean(jnp.sum((eqx.combine(arrays, static).mode(obs[rows]) - wanted[rows]) ** 2, axis=-1))

        def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            arrays, state = carry
            rows = jax.random.randint(key, (batch,), 0, len(obs))
            updates, state = adam.update(jax.grad(loss)(arrays, rows), state)
            return (optax.apply_updates(arrays, updates), state), None

        return jax.lax.scan(step, (arrays, adam.init(arrays)), jax.random.split(key, steps))[0][0]

    return eqx.combine(run(arrays, jnp.asarray(obs), jnp.asarray(wanted)), static)
