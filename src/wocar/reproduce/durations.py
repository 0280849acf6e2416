"""How long tasks take, roughly: on one core of a usual machine, from what was measured on Hopper."""

from collections.abc import Sequence

from wocar.evaluation.suites import BUDGET_STEPS, SUITES

STARTING = 12.0
"""Seconds until a command does its work: imports and compilation."""
RATES = {"ppo": 4500.0, "a2c": 3500.0, "dqn": 250.0}
"""Steps a second of a vanilla training on vectors (DQN: on images)."""
SLOWER = {"wocar": 1.5, "sa-": 1.2, "radial": 1.3, "atla": 2.2, "lstm": 3.0}
TASKS = {"Walker2d": 1.3, "HalfCheetah": 1.2, "Ant": 3.0, "GoHome": 0.5}
PIXELS = 12.0
"""How much slower than vectors images are, but for DQN, whose rate is for images."""
ATTACK_SECONDS = {"robust-sarsa": 1.2, "maxdiff": 0.5, "pgd-10": 0.6, "pgd-50": 2.5}
"""For each episode."""


def train_seconds(method: str, env: str, steps: int) -> float:
    base = method.rsplit("-", 1)[-1]
    rate = RATES.get(base, 1000.0)
    for part, factor in SLOWER.items():
        rate /= factor if part in method else 1.0
    return STARTING + steps / rate * _task(env, base)


def audit_seconds(words: Sequence[str], episodes: int, radii: int, env: str) -> float:
    """Every setting of every attack is tried on half the episodes, the chosen ones are run on all."""
    grids = _grids(words)
    budget = int(words[words.index("--budget-steps") + 1]) if "--budget-steps" in words else BUDGET_STEPS
    seconds = STARTING
    for name, settings in grids.items():
        each = ATTACK_SECONDS.get(name, 0.25) * _task(env, "")
        seconds += radii * each * (settings * min(25, episodes) + episodes)
        if name in ("sa-rl", "pa-ad"):
            seconds += radii * settings * budget / RATES["ppo"] * 1.3 * _task(env, "")
    return seconds


def estimate_seconds(words: Sequence[str]) -> float:
    return STARTING + (10.0 if "--sweeps" in words else 120.0)


def _grids(words: Sequence[str]) -> dict[str, int]:
    """Attack to the number of its settings."""
    if "--suite" in words:
        return {name: len(grid) for name, grid in SUITES[words[words.index("--suite") + 1]]["attacks"].items()}
    return dict.fromkeys(words[words.index("--attacks") + 1].split(","), 1)


def _task(env: str, base: str) -> float:
    factor = next((value for name, value in TASKS.items() if env.startswith(name)), 1.0)
    return PIXELS if env.endswith("-v5") and base != "dqn" else factor
