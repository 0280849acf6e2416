"""Estimates of how long tasks take, on one core of a usual machine, from what was measured on Hopper."""

from collections.abc import Mapping

from wocar.methods.method import Method
from wocar.methods.registry import known_method
from wocar.methods.tasks import kind_of, task_of

STARTING = 12.0
"""Seconds until a command does its work: imports and compilation."""
RATES = {"ppo": 4500.0, "recurrent-ppo": 1500.0, "a2c": 3500.0, "dqn": 250.0, "sac": 120.0}
"""Steps a second of an algorithm alone, on vectors; where it is for images mostly, on these."""
FOR_IMAGES = {"dqn"}
TASKS = {"Walker2d": 1.3, "HalfCheetah": 1.2, "Ant": 3.0, "GoHome": 0.5, "GoHomeDiscrete": 0.5, "GoHomeGrid": 0.5}
PIXELS = 12.0
"""How much slower than vectors images are."""
ATTACK_SECONDS = {"robust-sarsa": 1.2, "maxdiff": 0.5, "pgd-10": 0.6, "pgd-50": 2.5}
"""For each episode."""


def train_seconds(method: Method, env: str, steps: int) -> float:
    kind = method.algorithm.kind
    slower = 1.0 if kind in FOR_IMAGES and kind_of(env) == "game" else _slower(env)
    return STARTING + steps / RATES.get(kind, 1000.0) * method.cost * slower


def audit_seconds(grids: Mapping[str, int], budget: int, episodes: int, radii: int, env: str) -> float:
    """Every setting of every attack is tried on half the episodes, the chosen ones are run on all."""
    seconds = STARTING
    for name, settings in grids.items():
        each = ATTACK_SECONDS.get(name, 0.25) * _slower(env)
        seconds += radii * each * (settings * min(25, episodes) + episodes)
        if learned := known_method(name):
            seconds += radii * settings * (train_seconds(learned, env, budget) - STARTING)
    return seconds


def estimate_seconds(sweeps: int | None) -> float:
    return STARTING + (120.0 if sweeps is None else 10.0)


def _slower(env: str) -> float:
    return PIXELS if kind_of(env) == "game" else TASKS.get(task_of(env), 1.0)
