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
from wocar.mechanisms.worst_policy import (
    categorical_expectation,
    gaussian_expectation,
    robust_advantage,
    worst_policy_loss,
)
from wocar.mechanisms.worst_set import SetMinimum, searched_drop, set_minimum
from wocar.mechanisms.worst_value import (
    WorstCritic,
    boundaries,
    fit_worst_critic,
    follow,
    q_at,
    reward_limits,
    worst_attack_backup,
)
from wocar.schedules import Schedule
from wocar.types import ActionSpace, Array, Batch, Critic, Limits, Policy


class WocarState(NamedTuple):
    worst: WorstCritic
    replay: CriticReplay | None = None

    @property
    def critics(self) -> dict[str, Any]:
        members = getattr(self.worst.target, "members", (self.worst.target,))
        return dict(zip(("worst", "worst-twin"), members, strict=False))


class Slope(NamedTuple):
    """Of the worst critic at the actions taken, and the noise in them. (N, actions)"""

    noise: jax.Array
    slope: jax.Array


class WocarNotes(NamedTuple):
    reg: RegNotes
    """For mechanism 3."""
    worst: Any
    """For mechanism 2: the worst-attack term of each sample (N,); for its gradient a Slope, or Q_worst (N, actions)."""


class Lessons(NamedTuple):
    """What the worst critic learns: values wanted at transitions (M, ...), and what was found at states."""

    obs: Array
    actions: Array
    targets: Array
    found: SetMinimum


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
    def lagged(self) -> bool:
        return self.config.critic_lag

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
        actions, replay, past = self.actions.cut(batch.actions), state.replay, None
        kept = n if cfg.set_share == 1 else max(1, round(cfg.set_share * n))
        if replay is not None:
            replay = replay.insert(batch, actions, jax.random.fold_in(key, 2))
            past = replay.sample(max(1, kept // 2), batch.reward_scale[0], jax.random.fold_in(key, 3))
        rows = None if kept == n else jax.random.permutation(jax.random.fold_in(key, 4), n)[:kept]
        lessons = self._lessons(state.worst, policy, batch, rows, past, base.gamma, progress)
        how = cfg.critic_lr * (1 - progress), cfg.critic_epochs, cfg.critic_minibatches, cfg.critic_tau
        critic, loss = fit_worst_critic(state.worst, *lessons[:3], jax.random.fold_in(key, 1), *how)
        known = (state.worst if cfg.critic_lag else critic).target
        if cfg.importance_from == "value":
            w = state_importance(batch.value, lessons.found.value[:n], cfg.importance_floor)
        else:
            ball = cfg.set_ball(progress, self.limits)
            drop = searched_drop(policy, known, batch.obs, ball, self.actions)
            w = state_importance(drop, jnp.zeros(()), cfg.importance_floor)
        if cfg.importance:
            reg = reg._replace(importance=w)
        notes = WocarNotes(reg, self._term(known, policy, batch, lessons))
        return WocarState(critic, replay), notes, info | report(lessons.found, w, loss)

    def _lessons(
        self,
        critic: WorstCritic,
        policy: Policy,
        batch: Batch,
        rows: Array | None,
        past: CriticReplay | None,
        gamma: float,
        progress: Array,
    ) -> Lessons:
        """One-step worst-attack targets of a batch, or of some of its rows, and of past transitions."""
        cfg, n, ball = self.config, len(batch.rewards), self.config.set_ball(progress, self.limits)
        actions, before = self.actions.cut(batch.actions), [] if past is None else [past.next_obs]
        if rows is None:
            ends = boundaries(batch)
            states = jnp.concatenate([batch.obs, batch.next_obs.at[ends].get(mode="clip"), *before])
            found = set_minimum(policy.onward(batch.obs, ends), critic, states, ball, cfg, self.actions)
            here, at_ends, at_past = jnp.split(found.value, [n, n + len(ends)])
            after = follow(here, batch.last, ends, at_ends)
            obs, rewards, terminated = batch.obs, batch.rewards, batch.terminated
        else:
            states = jnp.concatenate([batch.next_obs[rows], *before])
            found = set_minimum(policy, critic, states, ball, cfg, self.actions)
            after, at_past = jnp.split(found.value, [len(rows)])
            obs, rewards, terminated = batch.obs[rows], batch.rewards[rows], batch.terminated[rows]
            actions = actions[rows]
        targets = worst_attack_backup(rewards, terminated, after, gamma)
        if past is not None:
            old = worst_attack_backup(past.rewards, past.terminated, at_past, gamma)
            obs, actions = jnp.concatenate([obs, past.obs]), jnp.concatenate([actions, past.actions])
            targets = jnp.concatenate([targets, old])
        if cfg.critic_clamp:
            targets = jnp.clip(targets, *reward_limits(batch.rewards, gamma))
        return Lessons(obs, actions, targets, found)

    def _term(self, critic: Critic, policy: Any, batch: Batch, lessons: Lessons) -> Any:
        """What mechanism 2 needs of each sample."""
        form, obs, actions = self.config.worst_form, batch.obs, self.actions.cut(batch.actions)
        if form == "gradient":
            if self.actions.discrete:
                return critic(obs)
            noise = (batch.actions - policy.head(obs)) * jnp.exp(-policy.log_std)
            return Slope(noise, jax.grad(lambda a: critic(obs, self.actions.cut(a)).sum())(batch.actions))
        after = q_at(critic, obs, actions)
        if form == "raw":
            return after
        at_mode = q_at(critic, obs, lessons.found.mode[: len(obs)])
        return {"baseline": after - at_mode, "td": lessons.targets[: len(obs)] - at_mode}[form]

    def improve(self, signal: jax.Array, batch: Batch, notes: WocarNotes, progress: jax.Array) -> Array:
        cfg = self.config
        if cfg.kappa_wst == 0 or cfg.worst_form == "gradient":
            return signal
        return robust_advantage(batch.advantage, notes.worst, self._kappa(progress), own_scale=cfg.worst_form == "raw")

    def loss(
        self, base: PolicyLoss, policy: Policy, batch: Batch, notes: WocarNotes, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        value, info = self.regulariser.loss(base, policy, batch, notes.reg, key, progress)
        if self.config.kappa_wst == 0 or self.config.worst_form != "gradient":
            return value, info
        spread = jnp.std(batch.advantage) + 1e-8  # the unit of the advantages in the base loss
        worst = (
            self._kappa(progress) / spread * worst_policy_loss(self._expected(policy, base.head, batch, notes.worst))
        )
        return value + worst, {**info, "worst_loss": worst}

    def _expected(self, policy: Any, head: jax.Array, batch: Batch, term: Any) -> jax.Array:
        if self.actions.discrete:
            return categorical_expectation(head, term)
        return gaussian_expectation(head, policy.log_std, term.noise, batch.actions, term.slope)

    def _kappa(self, progress: jax.Array) -> jax.Array:
        return Schedule(self.config.kappa_wst, self.config.kappa_schedule)(progress)


def report(found: SetMinimum, w: jax.Array, loss: jax.Array) -> Info:
    """Numbers to log: worst values, sizes of the action sets, mean and spread of the importance, critic loss."""
    return {
        "worst_value": found.value.mean(),
        "worst_value_spread": found.value.std(),
        "worst_value_drop": found.drop.mean(),
        "set_size": found.size.mean(),
        "set_plural": found.plural.mean(),
        "importance": w.mean(),
        "importance_std": w.std(),
        "importance_max": w.max(),
        "critic_loss": loss,
    }
