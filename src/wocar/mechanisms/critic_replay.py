"""Replay of past transitions for the worst critic: earlier policies saw states that an attacker leads to."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from wocar.types import ActionSpace, Array, Batch

SHARE = 16
"""One transition in so many is kept: a buffer of a hundred thousand then covers a whole training."""


class CriticReplay(NamedTuple):
    """A ring of transitions. Rewards are raw: their normaliser moves while they wait."""

    obs: jax.Array
    actions: jax.Array
    rewards: jax.Array
    next_obs: jax.Array
    terminated: jax.Array
    seen: jax.Array
    """Transitions ever put in."""

    @classmethod
    def create(cls, capacity: int, obs_shape: tuple[int, ...], space: ActionSpace) -> "CriticReplay":
        obs = jnp.zeros((capacity, *obs_shape))
        actions = jnp.zeros(capacity, jnp.int32) if space.discrete else jnp.zeros((capacity, space.size))
        return cls(obs, actions, jnp.zeros(capacity), obs.copy(), jnp.zeros(capacity, bool), jnp.zeros((), jnp.int32))

    def insert(self, batch: Batch, actions: Array, key: jax.Array) -> "CriticReplay":
        """With a random share of a batch, over the oldest."""
        n, capacity = len(batch.rewards), len(self.rewards)
        kept = jax.random.permutation(key, n)[: max(1, n // SHARE)]
        at = (self.seen + jnp.arange(len(kept))) % capacity
        raw = batch.rewards * batch.reward_scale
        new = (batch.obs, actions, raw, batch.next_obs, batch.terminated)
        columns = (old.at[at].set(fresh[kept]) for old, fresh in zip(self, new, strict=False))
        return CriticReplay._make([*columns, self.seen + len(kept)])

    def sample(self, n: int, reward_scale: Array, key: jax.Array) -> "CriticReplay":
        """n transitions drawn evenly with replacement, rewards in today's units."""
        at = jax.random.randint(key, (n,), 0, jnp.clip(self.seen, 1, len(self.rewards)))
        drawn = CriticReplay._make([*(x[at] for x in self[:-1]), self.seen])
        return drawn._replace(rewards=jnp.clip(drawn.rewards / reward_scale, -10, 10))
