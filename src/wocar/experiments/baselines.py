"""The published rivals and their settings per task, as their own papers and releases give them."""

from typing import Any

from wocar.experiments.tasks import EPS, PPO_TASKS, ROBUST_PPO_TASKS, Settings
from wocar.mechanisms.config import RadialConfig
from wocar.training.config import RunConfig
from wocar.training.ppo import PPOConfig
from wocar.types import UserError

BASELINES: dict[str, str] = {
    "radial-ppo": "PPO whose loss is also that of the least favourable policy within bounds (RADIAL)",
}
RADIAL_STEPS = 4_096_000
RADIAL_PPO_TASKS: Settings = {"HalfCheetah": {"anneal_lr": False}}
RADIAL_TASKS: Settings = {"Hopper": {"eps_schedule": "smoothed"}, "Walker2d": {"eps": 0.075}}


def baseline_config(method: str, env: str, preset: str) -> RunConfig:
    if preset != "paper":
        raise UserError(f"{method} has the preset paper only, not {preset}")
    return _radial_ppo(method, env, env.split("-v")[0])


def _radial_ppo(method: str, env: str, task: str) -> RunConfig:
    tables = (PPO_TASKS, ROBUST_PPO_TASKS, RADIAL_PPO_TASKS)
    settings: dict[str, Any] = {"eps": EPS.get(task, RadialConfig.eps), **RADIAL_TASKS.get(task, {})}
    return RunConfig(
        method, env, steps=RADIAL_STEPS, algorithm=PPOConfig(**merged(task, *tables)), robust=RadialConfig(**settings)
    )


def merged(task: str, *tables: Settings) -> dict[str, Any]:
    """The settings of a task in several tables; later ones win."""
    return {name: value for table in tables for name, value in table.get(task, {}).items()}
