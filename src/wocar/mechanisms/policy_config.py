"""Settings of the objectives of SA-PPO and WocaR-PPO; on the command line each field is an option."""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from wocar.bounds import Ball, BoundMethod
from wocar.config_base import COUNT, NOT_NEGATIVE, SHARE, AlgorithmConfig, ObjectiveConfig
from wocar.schedules import Schedule, ScheduleKind
from wocar.threat import Threat
from wocar.types import EnvSpec, Limits, UserError


@dataclass(frozen=True)
class RobustConfig(ObjectiveConfig, kind="state-adversarial"):
    threat: Threat = Threat(0.075)
    eps_ramp: float = 0.75
    """Share of training over which eps grows linearly from 0."""
    reg: bool = True
    """Mechanism 3: keep the policy constant inside the ball."""
    kappa_reg: float = 0.1
    """Weight of the regulariser."""
    reg_solver: Literal["sgld", "pgd", "convex"] = "sgld"
    """Langevin ascent, the same without noise, or bounds."""
    reg_steps: int = 10
    """Steps of the regulariser's search."""
    reg_search: Literal["iteration", "minibatch"] = "iteration"
    """Search the perturbations once per iteration, or anew in every minibatch (as published; slower)."""
    reg_std: bool = False
    """Let gradients of the regulariser reach a Gaussian's σ (as published): more noise then lowers the distance."""
    director_share: float = 0.0
    """Share of the environments whose observations are perturbed, to push the action along a random linear map of the
    state, another one in each episode."""
    director_hunted: float = 0.0
    """Share of those maps that come from the last hunts, once there are any."""
    hunt_begin: float = 1.0
    """Share of training after which, at each checkpoint, directors that break the policy are hunted: the agent saved is
    the one that kept most under its hunt. 1: never."""
    hunt_long: bool = False
    """Search a policy that would be kept a second time, as long as a suite does: short hunts miss holes."""

    ranges = (
        COUNT.of("reg_steps")
        | NOT_NEGATIVE.of("kappa_reg")
        | SHARE.of("eps_ramp director_share director_hunted hunt_begin")
    )

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> Any:
        from wocar.mechanisms.state_adversarial import StateAdversarial

        return StateAdversarial(self, spec.limits)

    def ball(self, progress: jax.Array, limits: Limits = None) -> Ball:
        return self.threat.ball(limits, Schedule(self.threat.eps, "linear", 0.0, self.eps_ramp)(progress))


@dataclass(frozen=True)
class WocarConfig(RobustConfig, kind="wocar"):
    bounds: BoundMethod = "crown"
    """Bounds that find the actions an attacker can cause; pgd searches and may miss some."""
    bound_eps: float | None = None
    """A radius of its own, constant, for the action sets."""
    kappa_wst: float = 0.8
    """Mechanism 2: final weight of the worst-attack value."""
    kappa_schedule: ScheduleKind = "linear"
    """How that weight grows to its final value."""
    worst_form: Literal["raw", "baseline", "td", "gradient"] = "raw"
    """What enters the policy gradient: the worst value, its lead over the mean action's, or its one-step target's; or
    the gradient of the expected worst value itself."""
    importance: bool = True
    """Weigh mechanism 3 by state importance."""
    importance_from: Literal["value", "critic"] = "value"
    """What the worst value is compared with: V(s), or the same critic at the policy's own action."""
    importance_floor: float = 0.0
    """Least weight of a state, where the mean is 1."""
    critic_lr: float = 4e-4
    """Learning rate of the worst critic."""
    critic_epochs: int = 10
    """Passes of the worst critic over the steps of an iteration."""
    critic_minibatches: int = 32
    """Minibatches of such a pass."""
    critic_tau: float = 0.005
    """Share of the worst critic that its target takes over in a step."""
    critic_twin: bool = False
    """Two worst critics, the larger value counts: less spurious pessimism."""
    critic_replay: int = 0
    """Past transitions the worst critic also learns from; 0: only those of the iteration."""
    critic_lag: bool = False
    """Mechanisms 2 and 3 take the worst critic of the iteration before: PPO then fits it beside the policy."""
    critic_clamp: bool = False
    """Keep the worst critic's targets within what rewards like those seen allow."""
    search_steps: int = 10
    """Descent steps to the worst action."""
    set_share: float = 1.0
    """Share of an iteration's transitions that the worst critic learns from; bounds are found there only."""

    ranges = (
        COUNT.of("critic_epochs critic_minibatches search_steps")
        | NOT_NEGATIVE.of("kappa_wst critic_lr")
        | SHARE.of("critic_tau importance_floor set_share")
    )

    def check(self, run: Any) -> None:
        if self.set_share < 1 and (self.importance_from == "value" or self.worst_form in ("baseline", "td")):
            raise UserError("--set-share below 1 needs --importance-from critic and --worst-form gradient or raw")
        if self.critic_lag and (self.importance_from == "value" or self.worst_form in ("baseline", "td")):
            raise UserError("--critic-lag needs --importance-from critic and --worst-form gradient or raw")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> Any:
        from wocar.mechanisms.wocar import Wocar

        return Wocar(self, spec.actions, spec.limits)

    def set_ball(self, progress: jax.Array, limits: Limits = None) -> Ball:
        """The ball of the action sets: the scheduled one, unless a radius of its own was given."""
        if self.bound_eps is None:
            return self.ball(progress, limits)
        return self.threat.ball(limits, jnp.float32(self.bound_eps))
