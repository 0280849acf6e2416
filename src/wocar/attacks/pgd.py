"""Projected gradient attacks on the action the victim would choose."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from wocar.attacks.base import InputObjective
from wocar.bounds import Ball, ascend_in_ball, margin, taken
from wocar.mechanisms.state_reg import gaussian_distance
from wocar.types import Policy


@dataclass(frozen=True)
class PGD:
    """Away from the chosen action: sign ascent on the cross-entropy of argmax π(s) under softmax of logits or Q values.

    Continuous actions: on ||μ(s~) - μ(s)||², from a point beside s, where its gradient is not zero.
    """

    steps: int = 10
    step: float = 0.1
    """Length of a step, as a part of the radius."""
    restarts: int = 1
    """Searches, the first from s and the rest from random points of the ball; the best of each state counts."""
    random_start: bool = False
    """The first search starts at a random point, too."""
    momentum: float = 0.0

    def objective(self, policy: Policy, obs: jax.Array) -> InputObjective:
        head = policy.head(obs)
        if policy.discrete:
            return lambda x: cross_entropy(policy.head(x), jnp.argmax(head, axis=-1))
        return lambda x: gaussian_distance(head, policy.head(x), jnp.zeros(()))

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        objective = self.objective(policy, obs)
        keys = jax.random.split(key, self.restarts)
        starts = jax.vmap(lambda k: ball.sample(k, obs))(keys)
        if not self.random_start:
            beside = ball.scaled(0.01).sample_extreme(keys[0], obs)
            starts = starts.at[0].set(obs if policy.discrete else beside)

        def search(start: jax.Array) -> jax.Array:
            return climb(objective, ball, obs, start, self.steps, self.step, self.momentum)

        if self.restarts == 1:
            return search(starts[0])
        ends = jax.vmap(search)(starts)
        score = _lead_of_another(policy, obs) if policy.discrete else objective
        best = jnp.argmax(jax.vmap(score)(ends), axis=0)
        return ends[best, jnp.arange(len(obs))]


def MinBest(steps: int = 1) -> PGD:
    """Least probability of the best action: one step of the whole radius, or several with momentum."""
    return PGD(steps, step=1.0) if steps == 1 else PGD(steps, step=1 / steps, momentum=0.5)


def cross_entropy(scores: jax.Array, actions: jax.Array) -> jax.Array:
    """-log softmax(scores) at the actions. (B, n), (B,) -> (B,)"""
    return -taken(jax.nn.log_softmax(scores), actions)


def _lead_of_another(policy: Policy, obs: jax.Array) -> InputObjective:
    """By how much the best other action beats the one chosen at `obs`: positive where the argmax has changed."""
    chosen = jnp.argmax(policy.head(obs), axis=-1)
    return lambda x: margin(policy.head(x), chosen)


def climb(
    objective: InputObjective,
    ball: Ball,
    obs: jax.Array,
    start: jax.Array,
    steps: int,
    step: float,
    momentum: float = 0.0,
) -> jax.Array:
    """Projected ascent with steps of `step` radii; with momentum, along v ← momentum v + g / ||g||_1."""
    size = step * ball.radius(obs)
    if not momentum:
        return ascend_in_ball(objective, ball, obs, start, steps=steps, step_size=size)
    gradient: Callable = jax.grad(lambda x: jnp.sum(objective(x)))
    axes = tuple(range(1, obs.ndim))

    def move(carry: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], None]:
        x, velocity = carry
        g = gradient(x)
        velocity = momentum * velocity + g / jnp.maximum(jnp.sum(jnp.abs(g), axis=axes, keepdims=True), 1e-12)
        return (ball.project(obs, x + size * ball.direction(velocity)), velocity), None

    (x, _), _ = jax.lax.scan(move, (start, jnp.zeros_like(start)), length=steps, unroll=steps if obs.ndim > 2 else 1)
    return x
