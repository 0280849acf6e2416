"""RADIAL (Oikarinen et al. 2021), approach 2 for Q networks: no worse action may come to look better in the ball."""

from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from equinox import nn

from wocar.bounds import Ball, network_bounds
from wocar.mechanisms.objective import Info, Limits
from wocar.mechanisms.q_objective import Base, QBatch, VanillaQ
from wocar.schedules import Kind, Schedule
from wocar.types import Array


@dataclass(frozen=True)
class RadialQConfig:
    eps: float = 0.1
    """Radius of the ball in which observations (after the normaliser) may be moved."""
    eps_begin: float = 0.0
    """Share of training after which eps grows from 0 ..."""
    eps_end: float = 0.75
    """... and that at which it is whole."""
    eps_schedule: Kind = "smoothed"
    norm: Literal["linf", "l2"] = "linf"
    radial_weight: float = 0.2
    """Share of the loss that overlaps of bounds have; the rest is DQN's own."""


@dataclass(frozen=True)
class RadialQ(VanillaQ):
    """One door: (1 - k) L_TD + k L_overlap, divided by 1 - k, is L_TD and a penalty."""

    config: RadialQConfig
    limits: Limits = None

    def ball(self, progress: jax.Array) -> Ball:
        cfg = self.config
        eps = Schedule(cfg.eps, cfg.eps_schedule, cfg.eps_begin, cfg.eps_end)(progress)
        return Ball(eps, cfg.norm, *(self.limits or (None, None)))

    def fit(self, extra: Any, policy: Any, batch: QBatch, base: Base, progress: jax.Array) -> tuple[Any, QBatch, Info]:
        return extra, batch, {"eps": self.ball(progress).eps}

    def penalty(self, policy: Any, batch: QBatch, key: jax.Array, progress: jax.Array) -> jax.Array:
        share = self.config.radial_weight
        lower, upper = network_bounds(without_value(policy.network), self.ball(progress), batch.obs, "ibp")
        return share / (1 - share) * jnp.mean(overlap(policy.head(batch.obs), lower, upper, batch.actions))


def overlap(q_values: Array, lower: Array, upper: Array, actions: Array) -> jax.Array:
    """Σ_a d(a) max(0, U(a) - L(taken) + d(a) / 2), d(a) = max(0, Q(s, taken) - Q(s, a)), which is data. (N,)

    How far the bounds of worse actions reach above the lower bound of the one taken, and half of what they should stay
    below it.
    """
    taken = actions[:, None]
    lead = jax.lax.stop_gradient(jnp.maximum(jnp.take_along_axis(q_values, taken, axis=-1) - q_values, 0.0))
    reach = jnp.maximum(upper - jnp.take_along_axis(lower, taken, axis=-1) + lead / 2, 0.0)
    return jnp.sum(lead * reach, axis=-1)


def without_value(network: nn.Sequential) -> nn.Sequential:
    """A dueling network's leads A - mean A alone: V is the same for all actions. Another network as it is."""
    *body, streams, combine = network.layers
    if not isinstance(streams, nn.Linear):
        return network
    assert streams.bias is not None
    leads = combine.weight[:, 1:]
    weights = leads @ streams.weight[1:], leads @ jnp.asarray(streams.bias)[1:]
    return nn.Sequential([*body, eqx.tree_at(lambda layer: (layer.weight, layer.bias), streams, weights)])
