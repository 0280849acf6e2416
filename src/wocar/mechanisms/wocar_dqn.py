"""The three mechanisms together in a Q network: worst-case-aware robust DQN (Algorithm 2)."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.mechanisms.objective import Info
from wocar.mechanisms.q_config import WocarQConfig
from wocar.mechanisms.q_objective import Base, QBatch, QNet, StateAdversarialQ
from wocar.mechanisms.state_reg import state_importance
from wocar.mechanisms.worst_policy import mixed_values
from wocar.mechanisms.worst_set import set_minimum
from wocar.mechanisms.worst_value import worst_attack_backup
from wocar.schedules import Schedule
from wocar.types import ActionSpace, Array, Limits


class WocarQState(NamedTuple):
    natural: QNet
    """Q_v and its target: the values without an attacker."""
    worst: QNet
    """The worst critic and its target: the values under the worst attack on the acting network."""

    @property
    def critics(self) -> dict[str, Any]:
        return {"natural": self.natural.online, "worst": self.worst.target}


class WocarQ(NamedTuple):
    """All three doors open. The acting network Q_r learns from the values of the two others, not from its own."""

    config: WocarQConfig
    actions: ActionSpace
    limits: Limits = None
    critics: int = 2

    @property
    def regulariser(self) -> StateAdversarialQ:
        return StateAdversarialQ(self.config, self.limits)

    def init(self, critics: list[QNet]) -> WocarQState:
        return WocarQState(*critics)

    def fit(
        self, extra: WocarQState, policy: Any, batch: QBatch, base: Base, progress: jax.Array
    ) -> tuple[WocarQState, QBatch, Info]:
        """Alg. 2, lines 8 to 16: natural values, action sets at s', worst actions, worst critic, importance."""
        cfg, ball = self.config, self.regulariser.ball(progress)
        after = batch.after
        next_natural = base.next_value(extra.natural.online(after.next_obs), extra.natural.target(after.next_obs))
        natural, _ = base.descend(extra.natural, batch, after.rewards + after.discounts * next_natural)

        found = set_minimum(policy, extra.worst, batch.next_obs, ball, cfg, self.actions)
        targets = worst_attack_backup(batch.rewards, batch.discounts == 0, found.value, batch.discounts)
        worst, errors = base.descend(extra.worst, batch, targets)

        values = extra.natural.online(batch.obs)
        w = state_importance(values.max(axis=-1), values.min(axis=-1))
        if cfg.importance:
            batch = batch._replace(notes={**batch.notes, "importance": w})
        if cfg.reg_reference == "values":
            followed = extra.natural.target(batch.obs), extra.worst.target(batch.obs)
            reference = mixed_values(followed[0], followed[1], self.kappa(progress))
            batch = batch._replace(notes={**batch.notes, "reference": reference})
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
        return WocarQState(natural, worst), batch, info

    def action_values(
        self, extra: WocarQState, q: QNet, obs: Array, progress: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Alg. 2, line 17: (1 - κ) Q_v + κ Q_worst, of the online networks and of the targets."""
        natural = extra.natural.online(obs), extra.natural.target(obs)
        if self.config.kappa_wst == 0:
            return natural
        kappa, worst = self.kappa(progress), (extra.worst.online(obs), extra.worst.target(obs))
        return mixed_values(natural[0], worst[0], kappa), mixed_values(natural[1], worst[1], kappa)

    def penalty(self, policy: Any, batch: QBatch, key: jax.Array, progress: jax.Array) -> jax.Array:
        return self.regulariser.penalty(policy, batch, key, progress)

    def kappa(self, progress: jax.Array) -> jax.Array:
        cfg = self.config
        return Schedule(cfg.kappa_wst, cfg.kappa_schedule, cfg.kappa_begin)(progress)
