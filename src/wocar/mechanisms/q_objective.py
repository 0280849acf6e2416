"""Objectives of Q networks: their batches, what DQN lends them, and the state-adversarial regulariser of SA-DQN."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import Ball, ascend_in_ball, margin, network_bounds
from wocar.mechanisms.distance_bounds import categorical_distance_bound
from wocar.mechanisms.objective import BaseLoss, InBall, Info, Objective
from wocar.mechanisms.q_config import RobustQConfig
from wocar.mechanisms.q_reg import hinge, margin_bound
from wocar.mechanisms.state_reg import categorical_distance, state_regularisation
from wocar.types import Array, Policy


class StepOutcome(NamedTuple):
    """Outcome of one or more steps: discounted rewards, the state after them, the discount of its value."""

    rewards: Array
    next_obs: Array
    discounts: Array

    @property
    def seen(self) -> "StepOutcome":
        return self._replace(next_obs=as_seen(self.next_obs))


class QBatch(NamedTuple):
    """Transitions (N, ...) as the networks see them, or frames of bytes; `discounts` multiply the value of next_obs,
    `weights` the loss."""

    obs: Array
    actions: Array
    rewards: Array
    next_obs: Array
    discounts: Array
    weights: Array
    later: StepOutcome | None = None
    """Of several steps, for all but the worst critic, where the fields above are of one: attacks come at every step."""

    @property
    def after(self) -> StepOutcome:
        return self.later or StepOutcome(self.rewards, self.next_obs, self.discounts)

    @property
    def seen(self) -> "QBatch":
        later = self.later and self.later.seen
        return self._replace(obs=as_seen(self.obs), next_obs=as_seen(self.next_obs), later=later)

    def part(self, share: float) -> "QBatch":
        """The rows that `spaced` names, of all fields."""
        return QBatch(*(x if x is None else jax.tree.map(spaced(share), x) for x in self))


def spaced(share: float) -> Callable[[Array], Array]:
    """Takes so large a share of rows (N, ...), at least one and evenly spaced: a prioritised draw is in order of slots.

    What would be computed of every row is so computed of few, with the same expectation of a mean.
    """

    def rows(x: Array) -> Array:
        count = max(1, round(share * len(x)))
        return x if count == len(x) else x[np.arange(count) * len(x) // count]

    return rows


def as_seen(obs: Array) -> Array:
    """Frames of bytes scaled to [0, 1]; once, not again for every network."""
    return jax.lax.optimization_barrier(jnp.float32(obs) / 255) if obs.dtype == jnp.uint8 else obs  # type: ignore[no-untyped-call]


class ActionValues(NamedTuple):
    """Of all actions (N, actions), by a Q network and by its target (None where it has none)."""

    online: Array
    target: Array


class QNet(NamedTuple):
    """A Q network (N, *obs) -> (N, actions), its slowly following target or None, its optimiser's state."""

    online: Any
    target: Any
    opt: Any

    def values(self, obs: Array) -> ActionValues:
        return ActionValues(self.online(obs), None if self.target is None else self.target(obs))


class QBase(Protocol):
    """What the base algorithm does with any of its Q networks."""

    def next_value(self, values: ActionValues) -> jax.Array:
        """The value (N,) of next states whose actions have these values."""

    def descend(self, net: QNet, batch: QBatch, wanted: Array) -> tuple[QNet, jax.Array]:
        """One step towards Q(s, a) = wanted; with the errors (N,) before it."""


QObjective = Objective[QBatch, ActionValues, BaseLoss, Any]
"""For DQN, which lends a QBase and seeks the best next action in the values of actions."""


class QRegNotes(NamedTuple):
    """Of the rows over which the regulariser takes its mean."""

    importance: jax.Array | None = None
    """w(s) of each state (N,), where states differ in it."""
    reference: jax.Array | None = None
    """The values (N, actions) whose greedy action is kept, where they are not the network's own."""


@dataclass(frozen=True)
class StateAdversarialQ(InBall[QBatch, ActionValues, BaseLoss, QRegNotes]):
    """Mechanism 3 alone, every state of equal importance: SA-DQN."""

    config: RobustQConfig

    def loss(
        self,
        base: BaseLoss,
        policy: Policy,
        batch: QBatch,
        notes: QRegNotes | None,
        key: jax.Array,
        progress: jax.Array,
    ) -> tuple[jax.Array, Info]:
        """L + κ_reg L_reg."""
        cfg, notes = self.config, notes or QRegNotes()
        if not cfg.reg or cfg.kappa_reg == 0:
            return base.value, base.info
        ball = self.ball(progress)
        solve = self._bounded if cfg.reg_solver == "convex" else self._searched
        rows = spaced(cfg.reg_share)
        reference = rows(policy.head(batch.obs)) if notes.reference is None else notes.reference
        distance = solve(policy, reference, rows(batch.obs), ball, key)
        # around a single point the hinge would only confirm whatever action now leads
        weight = jnp.where(ball.eps > 0, cfg.kappa_reg, 0.0)
        importance = jnp.ones(()) if notes.importance is None else notes.importance
        penalty = weight * state_regularisation(distance, importance)
        return base.value + penalty, {**base.info, "penalty": penalty}

    def _searched(self, policy: Policy, q_values: Array, obs: Array, ball: Ball, key: jax.Array) -> jax.Array:
        """The loss at the worst point that projected ascent finds."""
        cfg, q_values = self.config, jax.lax.stop_gradient(q_values)

        def loss(x: Array) -> jax.Array:
            if cfg.reg_loss == "kl":
                return categorical_distance(q_values / cfg.reg_temperature, policy.head(x) / cfg.reg_temperature)
            return margin(policy.head(x), jnp.argmax(q_values, axis=-1))

        worst = ascend_in_ball(loss, ball, obs, ball.sample(key, obs), steps=cfg.reg_steps)
        return loss(worst) if cfg.reg_loss == "kl" else hinge(loss(worst), cfg.reg_lead)

    def _bounded(self, policy: Policy, q_values: Array, obs: Array, ball: Ball, key: jax.Array) -> jax.Array:
        """No less than the loss anywhere in the ball."""
        cfg = self.config
        if cfg.reg_loss == "kl":
            lower, upper = (b / cfg.reg_temperature for b in network_bounds(policy.network, ball, obs, "ibp"))
            return categorical_distance_bound(q_values / cfg.reg_temperature, lower, upper)
        return hinge(margin_bound(policy.network, ball, obs, jnp.argmax(q_values, axis=-1)), cfg.reg_lead)
