"""Attacks: a victim and an observation to an observation inside the ball. The caller projects onto the ball."""

from wocar.attacks.action import CriticAction, RandomAction
from wocar.attacks.base import ActionAttack, Attack, Disturbance, Perturbation
from wocar.attacks.critic import CriticAttack
from wocar.attacks.diagnostics import zero_gradient_share
from wocar.attacks.pgd import PGD, MinBest
from wocar.attacks.simple import MaxDiff, Random

__all__ = [
    "PGD",
    "ActionAttack",
    "Attack",
    "CriticAction",
    "CriticAttack",
    "Disturbance",
    "MaxDiff",
    "MinBest",
    "Perturbation",
    "Random",
    "RandomAction",
    "zero_gradient_share",
]
