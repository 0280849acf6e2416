"""The three mechanisms together in a Q network: worst-case-aware robust DQN (Algorithm 2)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.mechanisms.objective import BaseLoss, Info, Objective
from wocar.mechanisms.q_config import WocarQConfig
from wocar.mechanisms.q_objective import ActionValues, QBase, QBatch, QNet, QRegNotes, StateAdversarialQ, spaced
from wocar.mechanisms.state_reg import state_importance
from wocar.mechanisms.worst_policy import mixed_values
from wocar.mechanisms.worst_set import set_minimum
from wocar.mechanisms.worst_value import worst_attack_backup
from wocar.schedules import Schedule
from wocar.types import ActionSpace, Limits, Policy


class WocarQState(NamedTuple):
    natural: QNet
    """Q_v and its target: the values without an attacker."""
    worst: QNet
    """The worst critic and its target: the values under the worst attack on the acting network."""

    @property
    def critics(self) -> dict[str, Any]:
        return {"natural": self.natural.online, "worst": self.worst.target}


class WocarQNotes(NamedTuple):
    reg: QRegNotes
    """For mechanism 3."""
    natural: ActionValues
    """For mechanism 2: the next state's, without an attacker ..."""
    worst: ActionValues
    """... and under the worst attack."""


@dataclass(frozen=True)
class WocarQ(Objective[QBatch, ActionValues, BaseLoss, WocarQNotes]):
    """All three doors open. The acting network Q_r learns from the values of the two others, not from its own."""

    config: WocarQConfig
    actions: ActionSpace
    limits: Limits = None

    @property
    def critics(self) -> int:
        return 2

    @property
    def regulariser(self) -> StateAdversarialQ:
        return StateAdversarialQ(self.config, self.limits)

    def init(self, critics: list[QNet], obs_shape: tuple[int, ...]) -> WocarQState:
        return WocarQState(*critics)

    def evaluate(
        self, state: WocarQState, policy: Policy, batch: QBatch, base: QBase, key: jax.Array, progress: jax.Array
    ) -> tuple[WocarQState, WocarQNotes, Info]:
        """Alg. 2, lines 8 to 16: natural values, action sets at s', worst actions, worst critic, importance."""
        cfg, ball = self.config, self.regulariser.ball(progress)
        after = batch.after
        next_natural = state.natural.values(after.next_obs)
        wanted = after.rewards + after.discounts * base.next_value(next_natural)
        natural, _ = base.descend(state.natural, batch, wanted)

        next_worst = state.worst.values(after.next_obs)
        bounded, at_bounded = batch.part(cfg.worst_share), spaced(cfg.worst_share)
        known = state.worst if batch.later else known_values(jax.tree.map(at_bounded, next_worst))
        found = set_minimum(policy, known, bounded.next_obs, ball, cfg, self.actions)
        targets = worst_attack_backup(bounded.rewards, bounded.discounts == 0, found.value, bounded.discounts)
        worst, errors = base.descend(state.worst, bounded, targets)

        values, reference, at_kept = state.natural.online(batch.obs), None, spaced(cfg.reg_share)
        w = state_importance(values.max(axis=-1), values.min(axis=-1))
        if cfg.reg_reference == "values":
            kept = at_kept(batch.obs)
            reference = mixed_values(state.natural.target(kept), state.worst.target(kept), self.kappa(progress))
        reg = QRegNotes(at_kept(w) if cfg.importance else None, reference)
        info = {
            "eps": ball.eps,
            "kappa_wst": self.kappa(progress),
            "natural_value": values.max(axis=-1).mean(),
            "worst_value": found.value.mean(),
            "worst_value_drop": found.drop.mean(),
            "worst_error": jnp.abs(errors).mean(),
            "set_size": found.size.mean(),
            "set_plural": found.plural.mean(),
            "importance_std": w.std(),
        }
        notes = WocarQNotes(reg, next_natural, next_worst)
        return WocarQState(natural, worst), notes, info

    def improve(self, signal: ActionValues, batch: QBatch, notes: WocarQNotes, progress: jax.Array) -> ActionValues:
        """Alg. 2, line 17: (1 - κ) Q_v + κ Q_worst, of the online networks and of the targets."""
        if self.config.kappa_wst == 0:
            return notes.natural
        kappa = self.kappa(progress)
        return ActionValues(*(mixed_values(*q, kappa) for q in zip(notes.natural, notes.worst, strict=True)))

    def loss(
        self, base: BaseLoss, policy: Policy, batch: QBatch, notes: WocarQNotes, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        return self.regulariser.loss(base, policy, batch, notes.reg, key, progress)

    def kappa(self, progress: jax.Array) -> jax.Array:
        cfg = self.config
        return Schedule(cfg.kappa_wst, cfg.kappa_schedule, cfg.kappa_begin)(progress)


def known_values(values: ActionValues) -> QNet:
    """A network and its target as what they are known to say of some states, whatever states are asked for."""
    return QNet(lambda _: values.online, lambda _: values.target, None)
