"""RADIAL (Oikarinen et al. 2021), approach 2 for Q networks: worse actions must not look better in the ball."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from equinox import nn

from wocar.bounds import network_bounds, taken
from wocar.config_base import SHARE, AlgorithmConfig
from wocar.mechanisms.growing_ball import GrowingBall
from wocar.mechanisms.objective import BaseLoss, InBall, Info
from wocar.mechanisms.q_objective import ActionValues, QBatch
from wocar.mechanisms.radial import mixture
from wocar.schedules import ScheduleKind
from wocar.types import Array, EnvSpec, Policy


@dataclass(frozen=True)
class RadialQConfig(GrowingBall, kind="radial-q"):
    eps_schedule: ScheduleKind = "smoothed"
    """How eps grows."""
    radial_weight: float = 0.2
    """Share of the loss that overlaps of bounds have; the rest is DQN's own."""

    ranges = SHARE.of("radial_weight")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> "RadialQ":
        return RadialQ(self, spec.limits)


@dataclass(frozen=True)
class RadialQ(InBall[QBatch, ActionValues, BaseLoss, None]):
    """One door: (1 - k) L_TD + k L_overlap, divided by 1 - k, so that the TD loss keeps its scale."""

    config: RadialQConfig

    def loss(
        self, base: BaseLoss, policy: Policy, batch: QBatch, notes: None, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        share = self.config.radial_weight
        lower, upper = network_bounds(without_value(policy.network), self.ball(progress), batch.obs, "ibp")
        worst = jnp.mean(overlap(policy.head(batch.obs), lower, upper, batch.actions))
        loss = mixture(base.value, worst, share) / (1 - share)
        return loss, {**base.info, "penalty": loss - base.value}


def overlap(q_values: Array, lower: Array, upper: Array, actions: Array) -> jax.Array:
    """Σ_a d(a) max(0, U(a) - L(taken) + d(a) / 2), d(a) = max(0, Q(s, taken) - Q(s, a)), which is data. (N,)

    How far the bounds of worse actions reach above the lower bound of the one taken, and half of what they should stay
    below it.
    """
    lead = jax.lax.stop_gradient(jnp.maximum(taken(q_values, actions)[:, None] - q_values, 0.0))
    reach = jnp.maximum(upper - taken(lower, actions)[:, None] + lead / 2, 0.0)
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
