"""Directors that need no training: a fixed linear map of the state says where the victim's action is pushed."""

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.attacks.base import InputObjective, steepest
from wocar.bounds import Ball
from wocar.types import Policy


class LinearDirector(eqx.Module):
    """argmax over the ball of <d, μ(s~)>, d = W s + b: with W = 0 a push in one direction for a whole episode.

    Discrete actions: of <d, logits or Q values>. With leading axes (B, ...) each row has a director of its own.
    """

    weight: jax.Array
    """(actions, obs) or (B, actions, obs)."""
    bias: jax.Array
    """(actions,) or (B, actions)."""
    steps: int = eqx.field(static=True, default=3)

    def direction(self, obs: jax.Array) -> jax.Array:
        return jnp.einsum("...ao,...o->...a", self.weight, obs) + self.bias

    def objective(self, policy: Policy, obs: jax.Array) -> InputObjective:
        wanted = self.direction(obs)
        return lambda x: jnp.sum(wanted * policy.head(x), axis=-1)

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return steepest(self.objective(policy, obs), ball, obs, self.steps)
