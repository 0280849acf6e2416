"""RADIAL (Oikarinen et al. 2021), approach 2 for PPO: the surrogate at the least favourable policy within bounds."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.bounds import network_bounds
from wocar.mechanisms.objective import Info, clipped_surrogate, standardise
from wocar.mechanisms.policy_config import RadialConfig
from wocar.mechanisms.state_reg import extreme_log_probs, gaussian_distance
from wocar.types import Array, Batch, Interval


class Radial(NamedTuple):
    """One door: (1 - k) L_clean + k L_adv is L_clean and the penalty k (L_adv - L_clean)."""

    config: RadialConfig
    clip_range: float

    @property
    def critics(self) -> int:
        return 0

    def init(self, critic: Any, obs_shape: tuple[int, ...]) -> Any:
        return ()

    def fit(
        self, extra: Any, policy: Any, batch: Batch, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Batch, Info]:
        return extra, batch, {"eps": self.config.ball(progress).eps}

    def advantages(self, batch: Batch, progress: jax.Array) -> jax.Array:
        return standardise(batch.advantage)

    def penalty(self, policy: Any, batch: Batch, key: jax.Array, progress: jax.Array) -> jax.Array:
        ball = self.config.ball(progress)
        box = network_bounds(policy.network, ball, batch.obs, "ibp")
        log_prob = policy.log_prob(batch.obs, batch.actions)
        bounds = log_prob_bounds(policy, policy.head(batch.obs), log_prob, box, batch.actions)
        # raw advantages at the bounds, as released; standardised ones are larger, and the policy breaks as eps grows
        seen = self.advantages(batch, progress), batch.advantage, batch.advantage
        clean, low, high = (
            clipped_surrogate(jnp.exp(x - batch.log_prob), advantages, self.clip_range)
            for x, advantages in zip((log_prob, *bounds), seen, strict=True)
        )
        weight = jnp.where(ball.eps > 0, self.config.radial_weight, 0.0)
        return weight * jnp.mean(clean - least_surrogate(clean, low, high))


def least_surrogate(clean: Array, low: Array, high: Array) -> jax.Array:
    """What the surrogate is at worst, given it at the policy's own, least and greatest log-probability. (N,)"""
    return jnp.minimum(clean, jnp.minimum(low, high))


def log_prob_bounds(policy: Any, head: Array, log_prob: Array, box: Interval, actions: Array) -> Interval:
    """The least and the greatest log π(a|s~) while the policy's head stays in the box. (N,)"""
    if policy.discrete:
        all_bounds = extreme_log_probs(box.lower, box.upper), extreme_log_probs(box.upper, box.lower)
        return Interval(*(jnp.take_along_axis(x, actions[:, None], axis=-1)[:, 0] for x in all_bounds))
    return gaussian_log_prob_bounds(head, log_prob, box, actions, policy.log_std)


def gaussian_log_prob_bounds(mean: Array, log_prob: Array, box: Interval, actions: Array, log_std: Array) -> Interval:
    """log N(a; m, σ) at the mean of the box farthest from a and at the nearest, from that at the policy's own. (N,)"""
    nearest = jnp.clip(actions, box.lower, box.upper)
    farthest = jnp.where(jnp.abs(box.upper - actions) > jnp.abs(box.lower - actions), box.upper, box.lower)
    own = gaussian_distance(actions, mean, log_std)
    return Interval(*(log_prob + (own - gaussian_distance(actions, m, log_std)) / 2 for m in (farthest, nearest)))
