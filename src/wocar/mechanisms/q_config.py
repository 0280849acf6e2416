"""Settings of the robust objectives of Q networks; on the command line each field is an option."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from wocar.bounds import BoundMethod
from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.growing_ball import GrowingBall
from wocar.schedules import ScheduleKind
from wocar.types import EnvSpec


@dataclass(frozen=True)
class RobustQConfig(GrowingBall, kind="state-adversarial-q"):
    reg: bool = True
    """Mechanism 3: keep the greedy action inside the ball."""
    kappa_reg: float = 0.1
    """Weight of the regulariser."""
    reg_loss: Literal["hinge", "kl"] = "hinge"
    """What is kept small: the lead of another action, or the distance of softmax(Q / temperature)."""
    reg_temperature: float = 1.0
    """Of kl, in units of Q: much smaller leads are not protected."""
    reg_solver: Literal["pgd", "convex"] = "pgd"
    """Search the ball for the largest loss, or bound it by intervals."""
    reg_steps: int = 3
    """Steps of the regulariser's search."""
    reg_lead: float = 1.0
    """The hinge: how far the greedy action need lead, in units of Q."""
    reg_share: float = 1.0
    """Share of a batch's rows, evenly spaced, over which mechanism 3 takes its mean: fewer cost less time."""

    ranges = (
        COUNT.of("reg_steps")
        | POSITIVE.of("reg_temperature")
        | NOT_NEGATIVE.of("kappa_reg reg_lead")
        | SHARE.of("reg_share")
    )

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> Any:
        from wocar.mechanisms.q_objective import StateAdversarialQ

        return StateAdversarialQ(self, spec.limits)


@dataclass(frozen=True)
class WocarQConfig(RobustQConfig, kind="wocar-q"):
    KNOWS_ACTIONS: ClassVar[bool] = True
    bounds: BoundMethod = "crown"
    """Bounds that find the actions an attacker can cause; pgd searches and may miss some."""
    kappa_wst: float = 0.5
    """Mechanism 2: final weight of the worst-attack value in the target."""
    kappa_begin: float = 0.0
    """Share of training after which kappa_wst grows from 0."""
    kappa_schedule: ScheduleKind = "linear"
    """How that weight grows to its final value."""
    importance: bool = True
    """Weigh mechanism 3 by state importance."""
    reg_reference: Literal["own", "values"] = "own"
    """Mechanism 3 keeps the acting network's own greedy action, or that of the values it learns from."""
    search_steps: int = 10
    """Descent steps to the worst action."""
    worst_share: float = 1.0
    """Share of a batch's rows, evenly spaced, that are bounded and from which the worst critic learns."""

    ranges = COUNT.of("search_steps") | NOT_NEGATIVE.of("kappa_wst") | SHARE.of("kappa_begin worst_share")

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> Any:
        from wocar.mechanisms.wocar_dqn import WocarQ

        return WocarQ(self, spec.actions, spec.limits)
