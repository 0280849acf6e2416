"""Attack through the victim's value function."""

import equinox as eqx
import jax

from wocar.attacks.base import InputObjective, steepest
from wocar.bounds import Ball
from wocar.types import Critic, Policy


class CriticAttack(eqx.Module):
    """Descent on V(s~), the victim's value of the state it is shown. Weak, since V does not choose actions."""

    critic: Critic
    """V: (B, *obs_shape) -> (B,)."""
    steps: int = eqx.field(static=True, default=10)

    def objective(self, policy: Policy, obs: jax.Array) -> InputObjective:
        return lambda x: -self.critic(x)

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return steepest(self.objective(policy, obs), ball, obs, self.steps)
