"""Policy and value networks as PPO and A2C run them."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.training.create_networks import create_networks
from wocar.types import Array, Batch, EnvSpec, Memory, Transitions


class Outputs(NamedTuple):
    """Of the networks along a rollout: log π(a|s), V(s), V(s') of its steps (n * T,), memory before each, after all."""

    log_prob: Array
    value: Array
    next_value: Array
    before: Memory = Memory()
    after: Memory = Memory()


@dataclass(frozen=True)
class Networks:
    """Networks without memory; in recurrent_ppo with one."""

    hidden: tuple[int, ...]
    init_std: float
    min_std: float

    @property
    def critic_hidden(self) -> tuple[int, ...]:
        """Hidden layers of a worst critic."""
        return self.hidden

    def create(self, spec: EnvSpec, key: jax.Array) -> tuple[Any, Any, Memory]:
        """Policy, value, and their memory before the first step."""
        policy, value = create_networks(spec, key, self.hidden, self.init_std)
        return self.floored(policy), value, Memory()

    def floored(self, policy: Any) -> Any:
        """The policy with no standard deviation below the floor, where it has one."""
        if policy.discrete or self.min_std == 0:
            return policy
        return eqx.tree_at(lambda p: p.log_std, policy, jnp.maximum(policy.log_std, math.log(self.min_std)))

    def run(self, policy: Any, value: Any, memory: Memory, rollout: Transitions) -> Outputs:
        """Along a rollout (n, T, ...), from the memory before it."""
        flat = flatten(rollout)
        return Outputs(policy.log_prob(flat.obs, flat.actions), value(flat.obs), value(flat.next_obs))

    def policy(self, policy: Any, batch: Batch) -> Any:
        """The policy at the batch's observations."""
        return policy

    def values(self, value: Any, batch: Batch) -> jax.Array:
        """V at the batch's observations, (N,)."""
        return value(batch.obs)


def flatten(rollout: Transitions) -> Transitions:
    """(n, T, ...) -> (n * T, ...)"""
    return Transitions(*(jnp.asarray(x).reshape(-1, *x.shape[2:]) for x in rollout[:-1]))
