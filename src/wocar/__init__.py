"""Reinforcement-learning agents that keep their reward when an adversary perturbs what they see."""

__version__ = "0.1.0"
