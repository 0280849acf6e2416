"""The three mechanisms together: worst-case-aware training."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from wocar.config_base import AlgorithmConfig
from wocar.mechanisms.critic_replay import CriticReplay
from wocar.mechanisms.objective import Info, Objective, PolicyLoss
from wocar.mechanisms.policy_config import WocarConfig
from wocar.mechanisms.state_adversarial import RegNotes, StateAdversarial
from wocar.mechanisms.state_reg import state_importance
from wocar.mechanisms.worst_policy import robust_advantage
from wocar.mechanisms.worst_set import SetMinimum, set_minimum
from wocar.mechanisms.worst_value import WorstCritic, boundaries, fit_worst_critic, follow, q_at, worst_attack_backup
from wocar.schedules import Schedule
from wocar.types import ActionSpace, Array, Batch, Limits, Policy


class WocarState(NamedTuple):
    worst: WorstCritic
    replay: CriticReplay | None = None

    @property
    def critics(self) -> dict[str, Any]:
        members = getattr(self.worst.target, "members", (self.worst.target,))
        return dict(zip(("worst", "worst-twin"), members, strict=False))


class WocarNotes(NamedTuple):
    reg: RegNotes
    """For mechanism 3."""
    worst: jax.Array
    """For mechanism 2: the worst-attack term of each sample, (N,)."""


@dataclass(frozen=True)
class Wocar(Objective[Batch, jax.Array, PolicyLoss, WocarNotes]):
    """All three doors open. Eq. (8): L_π = L_RL + κ_wst L_wst + κ_reg L_reg."""

    config: WocarConfig
    actions: ActionSpace
    limits: Limits = None

    @property
    def critics(self) -> int:
        return 2 if self.config.critic_twin else 1

    @property
    def regulariser(self) -> StateAdversarial:
        return StateAdversarial(self.config, self.limits)

    def init(self, critics: Any, obs_shape: tuple[int, ...]) -> WocarState:
        capacity = self.config.critic_replay
        replay = CriticReplay.create(capacity, obs_shape, self.actions) if capacity else None
        return WocarState(WorstCritic.create(critics), replay)

    def evaluate(
        self, state: WocarState, policy: Policy, batch: Batch, base: AlgorithmConfig, key: jax.Array, progress: Array
    ) -> tuple[WocarState, WocarNotes, Info]:
        """Alg. 1, lines 7 to 11: action sets, worst actions, targets, critic, importance."""
        cfg, n = self.config, len(batch.rewards)
        _, reg, info = self.regulariser.evaluate((), policy, batch, base, key, progress)
        actions, ends = self.actions.cut(batch.actions), boundaries(batch)
        states, replay, past = [batch.obs, batch.next_obs.at[ends].get(mode="clip")], state.replay, None
        if replay is not None:
            replay = replay.insert(batch, actions, jax.random.fold_in(key, 2))
            past = replay.sample(n // 2, batch.reward_scale[0], jax.random.fold_in(key, 3))
            states.append(past.next_obs)
        acting, ball = policy.onward(batch.obs, ends), cfg.set_ball(progress, self.limits)
        found = set_minimum(acting, state.worst, jnp.concatenate(states), ball, cfg, self.actions)
        here, at_ends, at_past = jnp.split(found.value, [n, n + len(ends)])

        next_minimum = follow(here, batch.last, ends, at_ends)
        targets = worst_attack_backup(batch.rewards, batch.terminated, next_minimum, base.gamma)
        lessons = [(batch.obs, actions, targets)]
        if past is not None:
            old = worst_attack_backup(past.rewards, past.terminated, at_past, base.gamma)
            lessons.append((past.obs, past.actions, old))
        obs, done, wanted = (jnp.concatenate(x) for x in zip(*lessons, strict=True))
        how = cfg.critic_lr * (1 - progress), cfg.critic_epochs, cfg.critic_minibatches, cfg.critic_tau
        critic, loss = fit_worst_critic(state.worst, obs, done, wanted, jax.random.fold_in(key, 1), *how)

        at_mode = q_at(critic.target, batch.obs, found.mode[:n])
        after = q_at(critic.target, batch.obs, actions)
        term = {"raw": after, "baseline": after - at_mode, "td": targets - at_mode}[cfg.worst_form]
        w = state_importance(batch.value, here)
        if cfg.importance:
            reg = reg._replace(importance=w)
        return WocarState(critic, replay), WocarNotes(reg, term), info | report(found, w, loss)

    def improve(self, signal: jax.Array, batch: Batch, notes: WocarNotes, progress: jax.Array) -> Array:
        cfg = self.config
        if cfg.kappa_wst == 0:
            return signal
        kappa = Schedule(cfg.kappa_wst, cfg.kappa_schedule)(progress)
        return robust_advantage(batch.advantage, notes.worst, kappa, own_scale=cfg.worst_form == "raw")

    def loss(
        self, base: PolicyLoss, policy: Policy, batch: Batch, notes: WocarNotes, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        return self.regulariser.loss(base, policy, batch, notes.reg, key, progress)


def report(found: SetMinimum, w: jax.Array, loss: jax.Array) -> Info:
    """Numbers to log: worst values, sizes of the action sets, spread of the importance, critic loss."""
    return {
        "worst_value": found.value.mean(),
        "worst_value_spread": found.value.std(),
        "worst_value_drop": found.drop.mean(),
        "set_size": found.size.mean(),
        "set_plural": found.plural.mean(),
        "importance_std": w.std(),
        "importance_max": w.max(),
        "critic_loss": loss,
    }
