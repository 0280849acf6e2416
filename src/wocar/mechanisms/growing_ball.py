"""Settings of a perturbation ball that grows in training; on the command line each field is an option."""

from dataclasses import dataclass
from typing import ClassVar

import jax

from wocar.bounds import Ball
from wocar.config_base import SHARE, ObjectiveConfig
from wocar.schedules import Schedule, ScheduleKind
from wocar.threat import Threat
from wocar.types import Limits, UserError


@dataclass(frozen=True)
class GrowingBall(ObjectiveConfig):
    threat: Threat = Threat(0.1)
    eps_begin: float = 0.0
    """Share of training after which eps grows from 0 ..."""
    eps_end: float = 0.75
    """... and at which it reaches its full size."""
    eps_schedule: ScheduleKind = "linear"

    ranges = SHARE.of("eps_begin eps_end")
    KNOWS_ACTIONS: ClassVar[bool] = False
    """Whether the attacker may move actions in the place of observations."""

    def __post_init__(self) -> None:
        if self.threat.on == "action" and not self.KNOWS_ACTIONS:
            raise UserError("--threat action is not for this method: it is about observations in a ball")

    def ball(self, progress: jax.Array, limits: Limits = None) -> Ball:
        return self.threat.ball(limits, self.eps_at(progress))

    def eps_at(self, progress: jax.Array) -> jax.Array:
        return Schedule(self.threat.eps, self.eps_schedule, self.eps_begin, self.eps_end)(progress)
