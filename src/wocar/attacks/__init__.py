"""Victim and observation to an observation inside the ball. The caller projects: an attack cannot cheat its budget."""

from wocar.attacks.base import Attack, perturbation
from wocar.attacks.simple import MaxDiff, Random

__all__ = ["Attack", "MaxDiff", "Random", "perturbation"]
