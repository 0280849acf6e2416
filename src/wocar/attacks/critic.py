"""Attack through the victim's value function."""

from typing import Any

import equinox as eqx
import jax

from wocar.attacks.base import InputObjective, steepest
from wocar.bounds import Ball


class CriticAttack(eqx.Module):
    """Show the victim a state it thinks worthless: descent on V(s~). Weak, since V is not what acts."""

    critic: Any
    """V: (B, *obs_shape) -> (B,)."""
    steps: int = eqx.field(static=True, default=10)

    def objective(self, policy: Any, obs: jax.Array) -> InputObjective:
        return lambda x: -self.critic(x)

    def perturb(self, policy: Any, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return steepest(self.objective(policy, obs), ball, obs, self.steps)
