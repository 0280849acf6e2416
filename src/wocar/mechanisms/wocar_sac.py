"""The three mechanisms together in SAC: worst-case-aware robust SAC."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import BoundMethod
from wocar.config_base import COUNT, NOT_NEGATIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.objective import Info
from wocar.mechanisms.robust_sac import ValtConfig, ValtEps
from wocar.mechanisms.sac_objective import ActorSignal, Critics, SACBatch
from wocar.mechanisms.state_reg import state_importance
from wocar.mechanisms.worst_policy import mixed_values
from wocar.mechanisms.worst_set import set_minimum
from wocar.mechanisms.worst_value import WorstCritic, fit_worst_critic, worst_attack_backup
from wocar.schedules import Schedule
from wocar.types import ActionSpace, Array, EnvSpec

UNIT = -np.ones(1, np.float32), np.ones(1, np.float32)
"""The range of the actions that SAC's networks see."""


@dataclass(frozen=True)
class WocarSACConfig(ValtConfig, kind="wocar-sac"):
    bounds: BoundMethod = "crown"
    """How the actions an attacker can cause are found; pgd looks from inside and may miss some."""
    search_steps: int = 5
    """Descent steps to the worst action."""
    kappa_wst: float = 0.5
    """Mechanism 2: final weight of the worst-attack value in what the actor maximises."""
    importance: bool = True
    """Weigh mechanism 3 by state importance."""
    critic_lr: float = 3e-4
    critic_tau: float = 0.005

    ranges = COUNT.of("search_steps") | NOT_NEGATIVE.of("critic_lr") | SHARE.of("kappa_wst critic_tau")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> "WocarSAC":
        return WocarSAC(self, spec.limits)


class WocarSACState(NamedTuple):
    worst: WorstCritic

    @property
    def critics(self) -> dict[str, Any]:
        return dict(zip(("worst", "worst-twin"), self.worst.target.members, strict=True))


class WocarSACNotes(NamedTuple):
    next_shown: Array
    importance: Array | None
    worst: Any
    """The worst critic after its update."""


@dataclass(frozen=True)
class WocarSAC(ValtEps):
    """All three doors open."""

    config: WocarSACConfig

    @property
    def critics(self) -> int:
        return 2

    def init(self, critics: Any, obs_shape: tuple[int, ...]) -> WocarSACState:
        return WocarSACState(WorstCritic.create(critics))

    def evaluate(  # type: ignore[override]
        self, state: WocarSACState, policy: Any, batch: SACBatch, base: Critics, key: jax.Array, progress: jax.Array
    ) -> tuple[WocarSACState, WocarSACNotes, Info]:
        """Mechanism 1 at the replay's transitions: action sets at s', worst actions, one step of the worst critic."""
        cfg, ball, keys = self.config, self.ball(progress), jax.random.split(key)
        unit = ActionSpace(batch.actions.shape[-1], *UNIT)
        both = jnp.concatenate([batch.next_obs, batch.obs]) if cfg.importance else batch.next_obs
        found = set_minimum(policy.unit, state.worst, both, ball, cfg, unit)
        n = len(batch.rewards)
        targets = worst_attack_backup(batch.rewards, batch.discounts == 0, found.value[:n], batch.discounts)
        worst, loss = fit_worst_critic(
            state.worst, batch.obs, batch.actions, targets, keys[0], cfg.critic_lr, 1, 1, cfg.critic_tau
        )
        _, shown, info = super().evaluate((), policy, batch, base, keys[1], progress)
        w = state_importance(found.drop[n:], jnp.zeros(())) if cfg.importance else None
        info |= {
            "worst_value": found.value[:n].mean(),
            "worst_value_drop": found.drop[:n].mean(),
            "set_size": found.size[:n].mean(),
            "worst_critic_loss": loss,
        }
        return WocarSACState(worst), WocarSACNotes(shown.next_shown, w, worst), info

    def improve(self, signal: ActorSignal, batch: SACBatch, notes: WocarSACNotes, progress: jax.Array) -> ActorSignal:
        """(1 - κ) min Q + κ Q_worst at the attacked state."""
        signal = super().improve(signal, batch, notes, progress)
        if self.config.kappa_wst == 0:
            return signal
        kappa = Schedule(self.config.kappa_wst, end=self.config.kappa_end)(progress)

        def value(obs: Array, actions: Array) -> Array:
            return mixed_values(signal.critics.least(obs, actions), notes.worst.target(obs, actions), kappa)

        return signal._replace(value=value)
