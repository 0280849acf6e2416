"""Robust objectives of SAC: the regulariser (Robust-SAC), an adversary in evaluation and improvement (VALT-EPS)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from wocar.bounds import Ball, ascend_in_ball
from wocar.config_base import COUNT, NOT_NEGATIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.growing_ball import GrowingBall
from wocar.mechanisms.objective import InBall, Info
from wocar.mechanisms.sac_objective import ActorSignal, Critics, SACBatch, SACLoss, SACNotes, SACObjective, Value
from wocar.mechanisms.state_reg import state_regularisation
from wocar.schedules import Schedule
from wocar.threat import Threat
from wocar.types import Array, EnvSpec


@dataclass(frozen=True)
class RobustSACConfig(GrowingBall, kind="robust-sac"):
    threat: Threat = Threat(0.075)
    eps_end: float = 0.5
    """Share of training after which eps has its full size."""
    reg: bool = True
    """Mechanism 3: keep the policy still inside the ball."""
    kappa_reg: float = 0.3
    """Weight of the regulariser."""
    reg_steps: int = 2
    """Steps of the search for the observation where the policy differs most."""

    ranges = COUNT.of("reg_steps") | NOT_NEGATIVE.of("kappa_reg")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> Any:
        return StateAdversarialSAC(self, spec.limits)


@dataclass(frozen=True)
class ValtConfig(RobustSACConfig, kind="valt-eps"):
    reg: bool = False
    """Mechanism 3: keep the policy still inside the ball."""
    attack_steps: int = 1
    """Steps of the search for the observation that lowers the critics' value most."""
    kappa_attack: float = 1.0
    """Final probability that the policy is shown that observation; else it is shown a random one of the ball."""
    kappa_end: float = 0.5
    """Share of training at which this probability is whole."""

    ranges = COUNT.of("attack_steps") | SHARE.of("kappa_attack kappa_end")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> Any:
        return ValtEps(self, spec.limits)


@dataclass(frozen=True)
class StateAdversarialSAC(InBall[SACBatch, ActorSignal, SACLoss, Any], SACObjective):
    """Mechanism 3 alone, every state of equal importance: Robust-SAC."""

    config: RobustSACConfig

    def loss(
        self, base: SACLoss, policy: Any, batch: SACBatch, notes: Any, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        """L + κ_reg L_reg."""
        cfg = self.config
        if not cfg.reg or cfg.kappa_reg == 0:
            return base.value, base.info
        own = jax.lax.stop_gradient(policy.moments(batch.obs))

        def distance(x: Array) -> Array:
            return gaussian_kl(own, policy.moments(x))

        ball = self.ball(progress)
        start = ball.scaled(1 / cfg.reg_steps).sample_extreme(key, batch.obs)
        worst = ascend_in_ball(distance, ball, batch.obs, start, steps=cfg.reg_steps)
        penalty = cfg.kappa_reg * state_regularisation(distance(worst), jnp.ones(()))
        return base.value + penalty, {**base.info, "penalty": penalty}


@dataclass(frozen=True)
class ValtEps(StateAdversarialSAC):
    """The adversary chooses what the policy is shown, where the critics' target is formed and where it is improved."""

    config: ValtConfig

    def evaluate(
        self, state: Any, policy: Any, batch: SACBatch, base: Critics, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, SACNotes, Info]:
        ball = self.ball(progress)
        return state, SACNotes(self.shown(policy, base.mean, batch.next_obs, ball, key, progress)), {"eps": ball.eps}

    def improve(self, signal: ActorSignal, batch: SACBatch, notes: Any, progress: jax.Array) -> ActorSignal:
        shown = self.shown(signal.policy, signal.critics.mean, batch.obs, self.ball(progress), signal.key, progress)
        return signal._replace(shown=shown)

    def shown(
        self, policy: Any, value: Value, obs: Array, ball: Ball, key: jax.Array, progress: jax.Array
    ) -> jax.Array:
        """The worst observation with the scheduled probability, else a random one."""
        cfg, keys = self.config, jax.random.split(key, 3)
        worst = worst_shown(policy, value, ball, obs, keys[0], cfg.attack_steps)
        probability = Schedule(cfg.kappa_attack, end=cfg.kappa_end)(progress)
        chosen = jax.random.uniform(keys[1], (len(obs), 1)) < probability
        return jnp.where(chosen, worst, ball.sample(keys[2], obs))


def worst_shown(policy: Any, value: Value, ball: Ball, obs: Array, key: jax.Array, steps: int) -> Array:
    """argmin over s~ in the ball of Q(s, tanh μ(s~)), by projected steps eps / k from a random start. (N, obs)"""
    radius = ball.radius(obs)
    return ascend_in_ball(
        lambda x: -value(obs, policy.unit_mode(x)),
        ball,
        obs,
        ball.sample(key, obs),
        steps=steps,
        step_size=lambda k: radius / (k + 1),
    )


def gaussian_kl(one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """KL(N(μ, σ) || N(μ', σ')) of diagonal Gaussians, each given as μ and log σ (N, k). (N,)"""
    (mean, log_std), (other_mean, other_log_std) = one, other
    ratio = jnp.exp(2 * (log_std - other_log_std))
    shift = ((mean - other_mean) * jnp.exp(-other_log_std)) ** 2
    return jnp.sum(other_log_std - log_std + (ratio + shift - 1) / 2, axis=-1)
