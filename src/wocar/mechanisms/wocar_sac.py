"""The three mechanisms together in SAC: worst-case-aware robust SAC."""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import Ball, BoundMethod, action_box, worst_action_in_box
from wocar.config_base import COUNT, SHARE, AlgorithmConfig
from wocar.mechanisms.behaviour import NONE, Attackers, Behaviour, episode_context
from wocar.mechanisms.contexts import FLAGS, Context, Shares, draw_contexts, worst_context
from wocar.mechanisms.objective import Info
from wocar.mechanisms.push import pull_of, pushed, shown_in
from wocar.mechanisms.robust_sac import RobustSACConfig, StateAdversarialSAC, gaussian_kl
from wocar.mechanisms.sac_objective import ActorSignal, Critics, SACBatch, SACLoss, SACNotes
from wocar.mechanisms.state_reg import state_importance, state_regularisation
from wocar.schedules import Schedule
from wocar.types import Array, EnvSpec, UserError


@dataclass(frozen=True)
class WocarSACConfig(RobustSACConfig, kind="wocar-sac"):
    kappa_reg: float = 0.0
    """Weight of the regulariser."""
    kappa_wst: float = 0.3
    """Mechanisms 1 and 2: final share of samples evaluated and improved under the worst critic's attack; 0: without."""
    kappa_director: float = 0.3
    """The same under a director that pushes the action one way for the whole episode."""
    kappa_natural: float = 0.2
    """The same under the attack of the unattacked policy's own critic."""
    kappa_mean: float = 0.0
    """Share of samples evaluated and improved without the policy's noise, as the agent is deployed."""
    kappa_end: float = 0.5
    """Share of training at which these shares are whole."""
    see_context: bool = True
    """Whether the critics know which attack goes on; without it one critic stands for the mixture of all attacks."""
    attack_steps: int = 1
    """Steps of an attacker's search in evaluation and improvement."""
    improve_attacked: bool = True
    """Mechanism 2 at the attacked state; without it the policy is improved as if nobody attacked."""
    worst_set: Literal["searched", "box"] = "searched"
    """Mechanism 1: the worst observation by search, or the worst action of a box of all that an attacker can cause."""
    bounds: BoundMethod = "crown"
    """How that box is found."""
    search_steps: int = 5
    """Descent steps to the worst action of the box."""
    importance: bool = True
    """Weigh mechanism 3 by state importance."""
    behave_worst: float = 0.25
    """Share of episodes in which the worst critic attacks the acting policy."""
    behave_director: float = 0.3
    """The same of searched directors."""
    behave_natural: float = 0.15
    """The same of the unattacked policy's critic."""
    behave_hunted: float = 0.3
    """Share of those directors that come from the last hunts."""
    behave_mean: float = 0.3
    """Share of episodes that act with the policy's mean."""
    behave_steps: int = 2
    """Steps of an attacker's search while acting."""

    hunt_begin: float = 1.0
    """Share of training after which, at each checkpoint, directors that break the policy are hunted: its next episodes
    meet them, and the agent saved is the one that kept most under its hunt. 1: never."""

    ranges = (
        COUNT.of("attack_steps search_steps behave_steps")
        | SHARE.of("kappa_wst kappa_director kappa_natural kappa_mean kappa_end")
        | SHARE.of("behave_worst behave_director behave_natural behave_hunted behave_mean hunt_begin")
    )

    def check(self, run: Any) -> None:
        samples = self.kappa_wst + self.kappa_director + self.kappa_natural
        episodes = self.behave_worst + self.behave_director + self.behave_natural
        for name, share in (
            ("kappa-wst, -director and -natural", samples),
            ("behave-worst, -director and -natural", episodes),
        ):
            if share > 1 + 1e-6:
                raise UserError(f"--{name} are shares of a whole: together at most 1, not {share:g}")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> "WocarSAC":
        return WocarSAC(self, spec.limits)


@dataclass(frozen=True)
class WocarSAC(StateAdversarialSAC):
    """All three doors open. The critics see a context t, the policy does not; Q(s, a, worst) is the worst critic."""

    config: WocarSACConfig

    @property
    def behaviour(self) -> Behaviour | None:
        c = self.config
        shares = c.behave_worst, c.behave_natural, c.behave_director, c.behave_mean
        return Behaviour(*shares, hunted=c.behave_hunted) if any(shares) else None

    def contexts(self, actions: int) -> int:
        return actions + FLAGS if self.config.see_context else 0

    def seen(self, vector: Array) -> Array | None:
        """What the critics see of contexts (N, contexts)."""
        return vector if self.config.see_context else None

    def drawn(self, key: jax.Array, like: Array, progress: jax.Array) -> Context:
        """Contexts for samples with such actions (N, actions)."""
        c, ramp = self.config, Schedule(1.0, end=self.config.kappa_end)(progress)
        shares = Shares(ramp * c.kappa_wst, ramp * c.kappa_director, ramp * c.kappa_natural, c.kappa_mean)
        count, actions = like.shape
        return draw_contexts(key, count, actions, shares)

    def evaluate(
        self, state: Any, policy: Any, batch: SACBatch, base: Critics, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, SACNotes, Info]:
        """Mechanism 1: each transition is backed up under the attack of its context.

        Under that of the worst critic this is eq. (1): the least of Q(s', ·, worst) over what the attacker can cause.
        """
        cfg, ball, keys = self.config, self.ball(progress), jax.random.split(key)
        context = self.drawn(keys[0], batch.actions, progress)
        shown = shown_in(context, policy, base, ball, batch.next_obs, keys[1], cfg.attack_steps, cfg.see_context)
        chosen = (
            None if cfg.worst_set == "searched" else self._worst_actions(context, policy, base, ball, batch.next_obs)
        )
        noisy = 1 - context.mean if cfg.kappa_mean else None
        return state, SACNotes(shown, self.seen(context.vector), noisy, chosen), {"eps": ball.eps}

    def _worst_actions(
        self, context: Context, policy: Any, critics: Critics, ball: Ball, obs: Array
    ) -> tuple[Array, Array]:
        """A_adv as a box of bounds, and its worst action, in the rows of the worst critic."""
        unit = policy.unit
        box = action_box(unit.network, ball, obs, unit.low, unit.high, self.config.bounds)

        def value(actions: Array) -> jax.Array:
            return critics.mean(obs, actions, self.seen(context.vector))

        return context.worst, worst_action_in_box(value, unit.mode(obs), box, steps=self.config.search_steps)

    def improve(self, signal: ActorSignal, batch: SACBatch, notes: SACNotes, progress: jax.Array) -> ActorSignal:
        """Mechanism 2: the policy sees the attacked state, and its action is worth Q(s, a, t) under that attack.

        A share κ_wst of the samples is in the worst critic's context: in expectation (1 - κ) Q + κ Q_worst.
        """
        cfg, ball, keys = self.config, self.ball(progress), jax.random.split(signal.key)
        context = self.drawn(keys[0], batch.actions, progress)
        vector, policy = self.seen(context.vector), signal.policy
        shown = shown_in(context, policy, signal.critics, ball, batch.obs, keys[1], cfg.attack_steps, cfg.see_context)

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
        one = worst_context(len(policy.low))
        worst = self.seen(jnp.broadcast_to(one, (len(obs), len(one))))
        here, attacked = (critics.mean(obs, policy.unit_mode(x), worst) for x in (obs, shown))
        return state_importance(here, attacked)

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
        obs: Array,
        noise: Array,
        attackers: Attackers,
        seed: Array,
        progress: Array,
    ) -> jax.Array:
        """The policy's actions at what these attackers show it."""
        cfg, ball = self.config, self.ball(progress)
        context = episode_context(attackers, obs)
        if not cfg.kappa_mean:
            context = context._replace(mean=jnp.zeros_like(context.mean))
        start = ball.sample(jax.random.key(seed), obs)
        x = pushed(policy, ball, obs, start, pull_of(context, critics, obs, cfg.see_context), cfg.behave_steps)
        shown = jnp.where(jnp.asarray(attackers.kind)[:, None] == NONE, obs, x)
        return super().act(policy, critics, shown, noise * attackers.noisy[:, None], attackers, seed, progress)

    def exported(self, critics: Critics) -> dict[str, Any]:
        """The critic without an attack, and the worst critic, at the policy's own noise."""
        if not self.config.see_context:
            return super().exported(critics)
        worst = worst_context(critics.one.context.shape[1] - FLAGS)
        names = ("q", "q-twin", "worst", "worst-twin")
        return dict(zip(names, [c.at(t) for t in (None, np.asarray(worst)) for c in critics], strict=True))
