"""Random search over the corners of the ball: needs no gradient, only the victim's answers."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from wocar.bounds import Ball
from wocar.types import Policy


@dataclass(frozen=True)
class RandomSearch:
    """Of so many extreme points of the ball, that at which the victim's action differs most from its own.

    Discrete: at which another action is most above its own, in logits or Q-values, where the victim shows them.
    """

    queries: int = 16

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        tried = jax.vmap(ball.sample_extreme, in_axes=(0, None))(jax.random.split(key, self.queries), obs)
        tried = jax.vmap(ball.project, in_axes=(None, 0))(obs, tried)
        heads = policy.head(jnp.concatenate([obs[None], tried]).reshape(-1, *obs.shape[1:]))
        heads = heads.reshape(self.queries + 1, len(obs), -1)
        own, others = heads[0], heads[1:]
        if policy.discrete:
            taken = jax.nn.one_hot(jnp.argmax(own, axis=-1), own.shape[-1], dtype=bool)
            score = jnp.max(jnp.where(taken, -jnp.inf, others), -1) - jnp.max(jnp.where(taken, others, -jnp.inf), -1)
        else:
            score = jnp.sum((others - own) ** 2, axis=-1)
        best = jnp.argmax(score, axis=0)
        return tried[best, jnp.arange(len(obs))]
