"""RADIAL (Oikarinen et al. 2021), approach 2 for PPO: the surrogate at the least favourable policy within bounds."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from wocar.bounds import network_bounds, taken
from wocar.config_base import SHARE, AlgorithmConfig
from wocar.mechanisms.distance_bounds import extreme_log_probs
from wocar.mechanisms.growing_ball import GrowingBall
from wocar.mechanisms.objective import InBall, Info, PolicyLoss
from wocar.mechanisms.state_reg import gaussian_distance
from wocar.schedules import ScheduleKind
from wocar.threat import Threat
from wocar.types import Array, Batch, EnvSpec, Interval, Policy


@dataclass(frozen=True)
class RadialConfig(GrowingBall, kind="radial"):
    threat: Threat = Threat(0.075)
    eps_begin: float = 0.25
    """Share of training after which eps begins to grow from 0."""
    eps_schedule: ScheduleKind = "exponential"
    """How eps grows."""
    radial_weight: float = 0.5
    """Share of the loss at the least favourable policy within the bounds; the rest is PPO's own."""

    ranges = SHARE.of("radial_weight")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> "Radial":
        return Radial(self, spec.limits)


@dataclass(frozen=True)
class Radial(InBall[Batch, jax.Array, PolicyLoss, None]):
    """One door: (1 - k) L + k L_worst, where L_worst has each sample's largest loss within bounds."""

    config: RadialConfig

    def loss(
        self, base: PolicyLoss, policy: Policy, batch: Batch, notes: None, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        ball = self.ball(progress)
        box = network_bounds(policy.network, ball, batch.obs, "ibp")
        log_prob = policy.log_prob(batch.obs, batch.actions)
        low, high = log_prob_bounds(policy, policy.head(batch.obs), log_prob, box, batch.actions)
        clean = base.at(base.log_prob, base.advantages)
        # raw advantages at the bounds, as released; standardised ones are larger, and the policy breaks as eps grows
        worst = largest_loss(clean, base.at(low, batch.advantage), base.at(high, batch.advantage))
        share = jnp.where(ball.eps > 0, self.config.radial_weight, 0.0)
        loss = mixture(base.value, jnp.mean(worst), share)
        return loss, {**base.info, "penalty": loss - base.value}


def largest_loss(clean: Array, low: Array, high: Array) -> jax.Array:
    """The loss at worst, given it at the policy's own, least and greatest log-probability. (N,)"""
    return jnp.maximum(clean, jnp.maximum(low, high))


def mixture(clean: Array, worst: Array, share: Array | float) -> Array:
    """(1 - k) L + k L_worst."""
    return (1 - share) * clean + share * worst


def log_prob_bounds(policy: Any, head: Array, log_prob: Array, box: Interval, actions: Array) -> Interval:
    """The least and the greatest log π(a|s~) while the policy's head stays in the box. (N,)"""
    if policy.discrete:
        all_bounds = extreme_log_probs(box.lower, box.upper), extreme_log_probs(box.upper, box.lower)
        return Interval(*(taken(x, actions) for x in all_bounds))
    return gaussian_log_prob_bounds(head, log_prob, box, actions, policy.log_std)


def gaussian_log_prob_bounds(mean: Array, log_prob: Array, box: Interval, actions: Array, log_std: Array) -> Interval:
    """log N(a; m, σ) at the mean of the box farthest from a and at the nearest, from that at the policy's own. (N,)"""
    nearest = jnp.clip(actions, box.lower, box.upper)
    farthest = jnp.where(jnp.abs(box.upper - actions) > jnp.abs(box.lower - actions), box.upper, box.lower)
    own = gaussian_distance(actions, mean, log_std)
    return Interval(*(log_prob + (own - gaussian_distance(actions, m, log_std)) / 2 for m in (farthest, nearest)))
