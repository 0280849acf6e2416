"""The three mechanisms together in SAC: worst-case-aware robust SAC."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import Ball, action_box, worst_action_in_box
from wocar.config_base import COUNT, NOT_NEGATIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.behaviour import NONE, Behaviour, Directors, episode_context
from wocar.mechanisms.contexts import FLAGS, Context, Shares, draw_contexts, worst_context
from wocar.mechanisms.objective import Info
from wocar.mechanisms.push import pull_of, pushed, shown_in
from wocar.mechanisms.robust_sac import RobustSACConfig, StateAdversarialSAC, gaussian_kl
from wocar.mechanisms.sac_objective import ActorSignal, Critics, SACBatch, SACLoss, SACNotes
from wocar.mechanisms.state_reg import state_importance, state_regularisation
from wocar.mechanisms.worst_value import WorstCritic, critic_step, worst_attack_backup
from wocar.schedules import Schedule
from wocar.types import Array, EnvSpec, UserError


@dataclass(frozen=True)
class WocarSACConfig(RobustSACConfig, kind="wocar-sac"):
    kappa_reg: float = 0.0
    kappa_wst: float = 0.3
    """Mechanisms 1 and 2: final share of samples evaluated and improved under the worst critic's attack; 0: without."""
    kappa_director: float = 0.3
    """The same under a director that pushes the action one way for the whole episode."""
    kappa_short: float = 0.2
    """The same under the attack of a short-sighted critic of the unattacked policy."""
    kappa_mean: float = 0.0
    """Share of samples evaluated and improved without the policy's noise, as the agent is deployed."""
    kappa_end: float = 0.5
    """Share of training at which these shares are whole."""
    attack_steps: int = 1
    """Steps of an attacker's search in evaluation and improvement."""
    improve_attacked: bool = True
    """Mechanism 2 at the attacked state; without it the policy is improved as if nobody attacked."""
    worst_set: Literal["searched", "crown", "crown-ibp", "ibp"] = "searched"
    """Mechanism 1: the worst observation by search, or the worst action of a box of all that an attacker can cause."""
    search_steps: int = 5
    """Descent steps to the worst action of the box."""
    importance: bool = True
    """Weigh mechanism 3 by state importance."""
    behave_worst: float = 0.25
    """Share of episodes in which the worst critic attacks the acting policy."""
    behave_director: float = 0.3
    behave_short: float = 0.15
    behave_natural: float = 0.05
    """The same of directors, of the short-sighted critic, and of the unattacked policy's critic."""
    behave_mean: float = 0.3
    """Share of episodes that act with the policy's mean."""
    behave_steps: int = 2
    """Steps of an attacker's search while acting."""
    short_gamma: float = 0.9
    short_lr: float = 1e-3
    short_tau: float = 0.01

    ranges = (
        COUNT.of("attack_steps search_steps behave_steps")
        | NOT_NEGATIVE.of("short_lr")
        | SHARE.of("kappa_wst kappa_director kappa_short kappa_mean kappa_end short_gamma short_tau")
        | SHARE.of("behave_worst behave_director behave_short behave_natural behave_mean")
    )

    def check(self, run: Any) -> None:
        if self.kappa_wst + self.kappa_director + self.kappa_short > 1 + 1e-6:
            raise UserError("--kappa-wst, --kappa-director and --kappa-short are shares of samples: at most 1 in all")
        if self.behave_worst + self.behave_director + self.behave_short + self.behave_natural > 1 + 1e-6:
            raise UserError("--behave-worst, -director, -short and -natural are shares of episodes: at most 1 in all")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> "WocarSAC":
        return WocarSAC(self, spec.limits)


class WocarSACState(NamedTuple):
    short: WorstCritic | None
    """The short-sighted critic."""


@dataclass(frozen=True)
class WocarSAC(StateAdversarialSAC):
    """All three doors open. The critics see a context t, the policy does not; Q(s, a, worst) is the worst critic."""

    config: WocarSACConfig

    @property
    def critics(self) -> int:
        return int(self.config.kappa_short > 0 or self.config.behave_short > 0)

    @property
    def behaviour(self) -> Behaviour | None:  # type: ignore[override]
        c = self.config
        shares = c.behave_worst, c.behave_short, c.behave_natural, c.behave_director, c.behave_mean
        return Behaviour(*shares) if any(shares) else None

    def contexts(self, actions: int) -> int:
        return actions + FLAGS

    def init(self, critics: Any, obs_shape: tuple[int, ...]) -> WocarSACState:
        return WocarSACState(None if critics is None else WorstCritic.create(critics))

    def drawn(self, key: jax.Array, like: Array, progress: jax.Array) -> Context:
        """Contexts for samples with such actions (N, actions)."""
        c, ramp = self.config, Schedule(1.0, end=self.config.kappa_end)(progress)
        shares = (ramp * share for share in (c.kappa_wst, c.kappa_director, c.kappa_short))
        return draw_contexts(key, *like.shape, Shares(*shares, c.kappa_mean))

    def evaluate(  # type: ignore[override]
        self, state: WocarSACState, policy: Any, batch: SACBatch, base: Critics, key: jax.Array, progress: jax.Array
    ) -> tuple[WocarSACState, SACNotes, Info]:
        """Mechanism 1: each transition is backed up under the attack of its context.

        Under that of the worst critic this is eq. (1): the least of Q(s', ·, worst) over what the attacker can cause.
        """
        cfg, ball, keys = self.config, self.ball(progress), jax.random.split(key)
        context = self.drawn(keys[0], batch.actions, progress)
        short = None if state.short is None else state.short.target
        shown = shown_in(context, policy, base, short, ball, batch.next_obs, keys[1], cfg.attack_steps)
        chosen = (
            None if cfg.worst_set == "searched" else self._worst_actions(context, policy, base, ball, batch.next_obs)
        )
        info: Info = {"eps": ball.eps}
        if state.short is not None:
            state, info["short_critic_loss"] = self._fit_short(state.short, policy, batch)
        noisy = 1 - context.mean if cfg.kappa_mean else None
        return state, SACNotes(shown, context.vector, noisy, chosen), info

    def _worst_actions(
        self, context: Context, policy: Any, critics: Critics, ball: Ball, obs: Array
    ) -> tuple[Array, Array]:
        """A_adv as a box of bounds, and its worst action, in the rows of the worst critic."""
        unit = policy.unit
        box = action_box(unit.network, ball, obs, unit.low, unit.high, self.config.worst_set)

        def value(actions: Array) -> jax.Array:
            return critics.mean(obs, actions, context.vector)

        return context.worst, worst_action_in_box(value, unit.mode(obs), box, steps=self.config.search_steps)

    def _fit_short(self, short: WorstCritic, policy: Any, batch: SACBatch) -> tuple[WocarSACState, jax.Array]:
        """The unattacked policy's value at a short horizon, whose gradient an attacker like Robust Sarsa's follows."""
        cfg, after = self.config, short.target(batch.next_obs, policy.unit_mode(batch.next_obs))
        targets = worst_attack_backup(batch.rewards, batch.discounts == 0, after, cfg.short_gamma)
        short, loss = critic_step(short, batch.obs, batch.actions, targets, cfg.short_lr, cfg.short_tau)
        return WocarSACState(short), loss

    def improve(self, signal: ActorSignal, batch: SACBatch, notes: SACNotes, progress: jax.Array) -> ActorSignal:
        """Mechanism 2: the policy sees the attacked state, and its action is worth Q(s, a, t) under that attack.

        A share κ_wst of the samples is in the worst critic's context: in expectation (1 - κ) Q + κ Q_worst.
        """
        cfg, ball, keys = self.config, self.ball(progress), jax.random.split(signal.key)
        context = self.drawn(keys[0], batch.actions, progress)
        vector, policy = context.vector, signal.policy
        short = None if signal.extra.short is None else signal.extra.short.target
        shown = shown_in(context, policy, signal.critics, short, ball, batch.obs, keys[1], cfg.attack_steps)

        def value(obs: Array, actions: Array) -> jax.Array:
            return signal.critics.least(obs, actions, vector)

        importance = None
        if cfg.reg and cfg.kappa_reg and cfg.importance:
            importance = self._importance(signal, batch.obs, shown)
        return signal._replace(
            shown=shown if cfg.improve_attacked else batch.obs,
            value=value,
            noisy=1 - context.mean if cfg.kappa_mean else None,
            attacked=shown,
            importance=importance,
        )

    def _importance(self, signal: ActorSignal, obs: Array, shown: Array) -> jax.Array:
        """w(s) of eq. (5): what the attack costs at once, by the worst critic."""
        policy, critics = signal.policy, signal.critics
        worst = jnp.broadcast_to(worst_context(len(policy.low)), (len(obs), self.contexts(len(policy.low))))
        return state_importance(*(critics.mean(obs, policy.unit_mode(x), worst) for x in (obs, shown)))

    def loss(
        self, base: SACLoss, policy: Any, batch: SACBatch, notes: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        """Mechanism 3: the policy keeps still between the state and the attacked one, no search of its own."""
        cfg, signal = self.config, base.signal
        if not cfg.reg or cfg.kappa_reg == 0:
            return base.value, base.info
        own = jax.lax.stop_gradient(policy.moments(batch.obs))
        there = base.moments if cfg.improve_attacked else policy.moments(signal.attacked)
        w = jnp.ones(()) if signal.importance is None else signal.importance
        penalty = cfg.kappa_reg * state_regularisation(gaussian_kl(own, there), w)
        return base.value + penalty, {**base.info, "penalty": penalty}

    def act(
        self,
        policy: Any,
        critics: Critics,
        state: WocarSACState,
        obs: Array,
        directors: Directors,
        noise: Array,
        seed: Array,
        progress: jax.Array,
    ) -> jax.Array:
        """Actions in [-1, 1] of the policy that these attackers show their observations to. (n, actions)"""
        cfg, ball = self.config, self.ball(progress)
        context, natural = episode_context(directors, obs)
        if not cfg.kappa_mean:
            context = context._replace(mean=jnp.zeros_like(context.mean))
        short = None if state.short is None else state.short.target
        pull = pull_of(context, critics, short, obs, natural)
        start = ball.sample(jax.random.key(seed), obs)
        x = pushed(policy, ball, obs, start, pull, cfg.behave_steps)
        shown = jnp.where(jnp.asarray(directors.kind)[:, None] == NONE, obs, x)
        return policy.sample(shown, noise * directors.noisy[:, None])[0]

    def exported(self, critics: Critics, extra: Any) -> dict[str, Any]:
        """The critic without an attack, and the worst critic, at the policy's own noise."""
        worst = worst_context(critics.one.context.shape[1] - FLAGS)
        names = ("q", "q-twin", "worst", "worst-twin")
        return dict(zip(names, [c.at(t) for t in (None, np.asarray(worst)) for c in critics], strict=True))
