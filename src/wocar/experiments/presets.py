"""Methods and their settings per task; each entry holds only what differs from the defaults."""

import dataclasses
from typing import Any

from wocar.mechanisms.objective import Vanilla
from wocar.training.a2c import A2C, A2CConfig
from wocar.training.config import RunConfig
from wocar.training.loop import Algorithm
from wocar.training.ppo import PPO, PPOConfig
from wocar.types import UserError

METHODS: dict[str, str] = {
    "ppo": "proximal policy optimisation",
    "a2c": "advantage actor-critic",
}

PPO_TASKS: dict[str, dict[str, Any]] = {
    "Hopper": {},
    "Walker2d": {"policy_lr": 4e-4, "value_lr": 3e-4, "value_clip": True},
    "HalfCheetah": {"value_lr": 1e-4, "value_clip": True, "init_std": 0.5},
    "Ant": {"policy_lr": 5e-5, "value_lr": 1e-5, "value_clip": True},
}
RUN_TASKS: dict[str, dict[str, Any]] = {"Ant": {"steps": 10_000_000}}
A2C_TASKS: dict[str, dict[str, Any]] = {}


def default_config(method: str, env: str) -> RunConfig:
    """The preset of a method on a task."""
    if method not in METHODS:
        raise UserError(f"unknown method {method!r}; methods: {', '.join(METHODS)}")
    task = env.split("-v")[0]
    algorithm: PPOConfig | A2CConfig
    if method.endswith("a2c"):
        algorithm = A2CConfig(**A2C_TASKS.get(task, {}))
    else:
        algorithm = PPOConfig(**PPO_TASKS.get(task, {}))
    return dataclasses.replace(
        RunConfig(method=method, env=env, algorithm=algorithm), **RUN_TASKS.get(task, {})
    )


def make_algorithm(config: RunConfig) -> Algorithm:
    objective = Vanilla()
    if isinstance(config.algorithm, A2CConfig):
        return A2C(config.algorithm, objective)
    return PPO(config.algorithm, objective)
