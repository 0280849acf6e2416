"""Estimates of how long tasks take, on one core of a usual machine, from what was measured on Hopper.

Audits: from the times between the parts of audits by `fast-v2` with 20 episodes, on two cores that had other work too.
Four of five such audits of Hopper agents took 230 to 290 s; the estimate is 307 s.
"""

from collections.abc import Mapping, Sequence

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
ATTACK_SECONDS = {"maxdiff": 0.5, "pgd-10": 0.6, "pgd-50": 2.5}
"""For each episode."""
FITTING = {"robust-sarsa": 8.0, "rs-mad": 8.0, "worst-critic": 120.0, "director": 50.0}
"""To fit a critic or to search a director, for each of an attack's settings."""


def train_seconds(method: Method, env: str, steps: int) -> float:
    kind = method.algorithm.kind
    slower = 1.0 if kind in FOR_IMAGES and kind_of(env) == "game" else _slower(env)
    return STARTING + steps / RATES.get(kind, 1000.0) * method.cost * slower


def audit_seconds(
    grids: Mapping[str, int],
    budget: int,
    episodes: int,
    radii: int,
    env: str,
    rungs: Sequence[tuple[float, int]] = (),
) -> float:
    """Every setting of every attack is tried on half the episodes, the chosen ones are run on all."""
    seconds = STARTING
    for name, settings in grids.items():
        each = ATTACK_SECONDS.get(name, 0.25) * _slower(env)
        seconds += radii * each * (settings * min(25, episodes) + episodes)
        seconds += radii * settings * FITTING.get(name, 0.0) * _slower(env)
        if learned := known_method(name):
            trained = _trained(settings, rungs)
            seconds += radii * trained * (train_seconds(learned, env, budget) - STARTING)
    return seconds


def _trained(settings: int, rungs: Sequence[tuple[float, int]]) -> float:
    """Whole trainings of a learned attacker: at each rung a share of one for all that are left."""
    total, left = 0.0, settings
    for share, keep in (*rungs, (1.0, 1)):
        total, left = total + share * left, min(left, keep)
    return total


def estimate_seconds(sweeps: int | None) -> float:
    return STARTING + (120.0 if sweeps is None else 10.0)


def _slower(env: str) -> float:
    return PIXELS if kind_of(env) == "game" else TASKS.get(task_of(env), 1.0)
