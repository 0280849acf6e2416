"""Attacks on the action on its way to the environment (App. C.5)."""

from dataclasses import dataclass

import equinox as eqx
import jax

from wocar.attacks.robust_sarsa import with_memory
from wocar.bounds import action_ball, any_action, worst_action_in_box, worst_action_in_mask
from wocar.types import Critic, Policy


@dataclass(frozen=True)
class RandomAction:
    """Uniform in the ball around the action; discrete: any action."""

    def disturb(
        self, policy: Policy, radius: jax.Array, obs: jax.Array, actions: jax.Array, key: jax.Array
    ) -> jax.Array:
        if policy.discrete:
            return jax.random.randint(key, actions.shape, 0, policy.head(obs).shape[-1])
        return actions + radius * jax.random.uniform(key, actions.shape, minval=-1.0)


class CriticAction(eqx.Module):
    """The action of the ball with the least Q(s, a); discrete: the action with the least."""

    critic: Critic
    """Q: (B, *obs_shape), (B, actions) -> (B,), or for discrete actions (B, *obs_shape) -> (B, actions)."""
    steps: int = eqx.field(static=True, default=10)
    memory: bool = eqx.field(static=True, default=False)
    """As of `RobustSarsa`."""

    def disturb(
        self, policy: Policy, radius: jax.Array, obs: jax.Array, actions: jax.Array, key: jax.Array
    ) -> jax.Array:
        state = with_memory(obs, policy.state.h) if self.memory else obs  # type: ignore[attr-defined]
        if policy.discrete:
            values = self.critic(state)
            return worst_action_in_mask(values, any_action(values))
        box = action_ball(actions, radius, None, None)
        return worst_action_in_box(lambda a: self.critic(state, a), actions, box, self.steps)
