"""What DQN is handed: the three doors of PPO's objectives, with the values of actions in the place of advantages."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from wocar.bounds import Ball, ascend_in_ball, network_bounds
from wocar.mechanisms.objective import Info
from wocar.mechanisms.policy_config import GrowingBall
from wocar.mechanisms.q_config import RobustQConfig
from wocar.mechanisms.q_reg import hinge, margin, margin_bound
from wocar.mechanisms.state_reg import categorical_distance, categorical_distance_bound, state_regularisation
from wocar.types import Array, Limits


class StepOutcome(NamedTuple):
    """What came of some steps: discounted rewards, the state after them, what multiplies its value."""

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
    notes: dict[str, Array] = {}  # noqa: RUF012
    """An objective's own."""

    @property
    def after(self) -> StepOutcome:
        return self.later or StepOutcome(self.rewards, self.next_obs, self.discounts)

    @property
    def seen(self) -> "QBatch":
        later = self.later and self.later.seen
        return self._replace(obs=as_seen(self.obs), next_obs=as_seen(self.next_obs), later=later)


def as_seen(obs: Array) -> Array:
    """Frames of bytes as the networks see them, in [0, 1]; divided once, not anew for every network."""
    return jax.lax.optimization_barrier(jnp.float32(obs) / 255) if obs.dtype == jnp.uint8 else obs


class QNet(NamedTuple):
    """A Q network (N, *obs) -> (N, actions), its slowly following target or None, its optimiser's state."""

    online: Any
    target: Any
    opt: Any


class Base(Protocol):
    """What the base algorithm does with any of its Q networks."""

    def next_value(self, online: Array, target: Array) -> jax.Array:
        """The value (N,) of next states whose actions have these values (N, actions), from the two kinds of network."""

    def descend(self, net: QNet, batch: QBatch, wanted: Array) -> tuple[QNet, jax.Array]:
        """One step towards Q(s, a) = wanted; with the errors (N,) before it."""


class QObjective(Protocol):
    @property
    def critics(self) -> int:
        """How many Q networks beside the acting one `init` is to be given."""

    def init(self, critics: list[QNet]) -> Any:
        """The objective's own training state."""

    def fit(self, extra: Any, policy: Any, batch: QBatch, base: Base, progress: jax.Array) -> tuple[Any, QBatch, Info]:
        """Mechanism 1: trains the critics; may note on the batch what the penalty needs."""

    def action_values(self, extra: Any, q: QNet, obs: Array, progress: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Mechanism 2: what the best next action is sought in, by the online networks and by their targets."""

    def penalty(self, policy: Any, batch: QBatch, key: jax.Array, progress: jax.Array) -> jax.Array:
        """Mechanism 3: added to the loss of the acting network."""


class VanillaQ:
    """All doors closed: DQN itself."""

    critics = 0

    def init(self, critics: list[QNet]) -> Any:
        return ()

    def fit(self, extra: Any, policy: Any, batch: QBatch, base: Base, progress: jax.Array) -> tuple[Any, QBatch, Info]:
        return extra, batch, {}

    def action_values(self, extra: Any, q: QNet, obs: Array, progress: jax.Array) -> tuple[jax.Array, jax.Array]:
        return q.online(obs), q.target(obs)

    def penalty(self, policy: Any, batch: QBatch, key: jax.Array, progress: jax.Array) -> jax.Array:
        return jnp.zeros(())


@dataclass(frozen=True)
class BallQ(VanillaQ):
    """What objectives with a ball share; the third door is theirs."""

    config: GrowingBall
    limits: Limits = None

    def ball(self, progress: jax.Array) -> Ball:
        return self.config.ball(progress, self.limits)

    def fit(self, extra: Any, policy: Any, batch: QBatch, base: Base, progress: jax.Array) -> tuple[Any, QBatch, Info]:
        return extra, batch, {"eps": self.ball(progress).eps}


@dataclass(frozen=True)
class StateAdversarialQ(BallQ):
    """Mechanism 3 alone, every state of equal importance: SA-DQN."""

    config: RobustQConfig

    def penalty(self, policy: Any, batch: QBatch, key: jax.Array, progress: jax.Array) -> jax.Array:
        cfg = self.config
        if not cfg.reg or cfg.kappa_reg == 0:
            return jnp.zeros(())
        ball = self.ball(progress)
        solve = self._bounded if cfg.reg_solver == "convex" else self._searched
        distance = solve(policy, batch.notes.get("reference", policy.head(batch.obs)), batch.obs, ball, key)
        # around a single point the hinge would only confirm whatever action now leads
        weight = jnp.where(ball.eps > 0, cfg.kappa_reg, 0.0)
        return weight * state_regularisation(distance, batch.notes.get("importance", jnp.ones(())))

    def _searched(self, policy: Any, q_values: Array, obs: Array, ball: Ball, key: jax.Array) -> jax.Array:
        """The loss at the worst point that projected ascent finds."""
        cfg, q_values = self.config, jax.lax.stop_gradient(q_values)

        def loss(x: Array) -> jax.Array:
            if cfg.reg_loss == "kl":
                return categorical_distance(q_values / cfg.reg_temperature, policy.head(x) / cfg.reg_temperature)
            return margin(policy.head(x), jnp.argmax(q_values, axis=-1))

        worst = ascend_in_ball(loss, ball, obs, ball.sample(key, obs), steps=cfg.reg_steps)
        return loss(worst) if cfg.reg_loss == "kl" else hinge(loss(worst), cfg.reg_lead)

    def _bounded(self, policy: Any, q_values: Array, obs: Array, ball: Ball, key: jax.Array) -> jax.Array:
        """No less than the loss anywhere in the ball."""
        cfg = self.config
        if cfg.reg_loss == "kl":
            lower, upper = (b / cfg.reg_temperature for b in network_bounds(policy.network, ball, obs, "ibp"))
            return categorical_distance_bound(q_values / cfg.reg_temperature, lower, upper)
        return hinge(margin_bound(policy.network, ball, obs, jnp.argmax(q_values, axis=-1)), cfg.reg_lead)
