"""Methods and their settings per task; each entry holds only what differs from the defaults."""

import dataclasses
from typing import Any

from wocar.mechanisms.config import RobustConfig, WocarConfig
from wocar.mechanisms.objective import Objective, Vanilla
from wocar.mechanisms.state_adversarial import StateAdversarial
from wocar.mechanisms.wocar import Wocar
from wocar.training.a2c import A2C, A2CConfig
from wocar.training.config import RunConfig
from wocar.training.loop import Algorithm
from wocar.training.ppo import PPO, PPOConfig
from wocar.training.recurrent_ppo import RecurrentPPO, RecurrentPPOConfig
from wocar.types import EnvSpec, UserError

METHODS: dict[str, str] = {
    "ppo": "proximal policy optimisation",
    "a2c": "advantage actor-critic",
    "lstm-ppo": "PPO with a memory: an LSTM each for policy and value",
    "sa-ppo": "PPO with the state-adversarial regulariser",
    "sa-a2c": "A2C with the state-adversarial regulariser",
    "wocar-ppo": "worst-case-aware robust PPO",
    "wocar-a2c": "worst-case-aware robust A2C",
}
Settings = dict[str, dict[str, Any]]

RUN_TASKS: Settings = {"Ant": {"steps": 10_000_000}}
PPO_TASKS: Settings = {
    "Walker2d": {"policy_lr": 4e-4, "value_lr": 3e-4, "value_clip": True},
    "HalfCheetah": {"value_lr": 1e-4, "value_clip": True, "init_std": 0.5},
    "Ant": {"policy_lr": 5e-5, "value_lr": 1e-5, "value_clip": True},
}
ROBUST_PPO_TASKS: Settings = {"HalfCheetah": {"policy_lr": 1e-4, "value_lr": 1e-3, "ent_coef": 1e-4}}
"""Where the published robust configurations differ from the vanilla one in PPO's own settings."""
LSTM_TASKS: Settings = {
    "Walker2d": {"policy_lr": 1e-3, "value_lr": 3e-2},
    "HalfCheetah": {"policy_lr": 3e-3, "value_lr": 3e-3},
    "Ant": {"policy_lr": 3e-4, "value_lr": 3e-4},
}
EPS: dict[str, float] = {"Hopper": 0.075, "Walker2d": 0.05, "HalfCheetah": 0.15, "Ant": 0.15}
"""The paper's l_inf radius in normalised units."""
ROBUST_TASKS: Settings = {"HalfCheetah": {"kappa_reg": 0.03}, "Ant": {"kappa_reg": 0.003}}
WOCAR_TASKS: Settings = {
    "Ant": {"critic_lr": 3e-5, "kappa_wst": 0.5, "kappa_schedule": "cubic"},
}
RELEASED = {"reg_std": True, "reg_search": "minibatch", "critic_tau": 0.001}
REFERENCE: dict[str, Any] = {"bounds": "ibp", "bound_eps": 0.01, "importance": False, **RELEASED}
"""The released code's choices, with its bounds done right."""
REFERENCE_TASKS: Settings = {
    "Walker2d": {"kappa_wst": 0.512, "kappa_schedule": "cubic"},
    "HalfCheetah": {"kappa_wst": 0.5, "kappa_reg": 0.1},
    "Ant": {"critic_lr": 3e-5, "kappa_wst": 0.8},
}


def default_config(method: str, env: str, preset: str = "paper") -> RunConfig:
    """The preset of a method on a task: "paper", or "reference" for the released code's choices."""
    if method not in METHODS:
        raise UserError(f"unknown method {method!r}; methods: {', '.join(METHODS)}")
    if preset not in ("paper", "reference"):
        raise UserError(f"unknown preset {preset!r}; presets: paper, reference")
    task = env.split("-v")[0]
    config = RunConfig(method=method, env=env, algorithm=_algorithm(method, task), robust=_robust(method, task, preset))
    return dataclasses.replace(config, **RUN_TASKS.get(task, {}))


def _algorithm(method: str, task: str) -> PPOConfig | A2CConfig:
    if method.endswith("a2c"):
        return A2CConfig()
    settings = PPO_TASKS.get(task, {})
    if method == "lstm-ppo":
        return RecurrentPPOConfig(**{**settings, **LSTM_TASKS.get(task, {})})
    robust = ROBUST_PPO_TASKS.get(task, {}) if method.startswith(("sa-", "wocar-")) else {}
    return PPOConfig(**{**settings, **robust})


def _robust(method: str, task: str, preset: str) -> RobustConfig | WocarConfig | None:
    settings = {"eps": EPS.get(task, RobustConfig.eps), **ROBUST_TASKS.get(task, {})}
    if method.startswith("sa-"):
        return RobustConfig(**settings)
    if not method.startswith("wocar-"):
        return None
    if preset == "reference":
        return WocarConfig(**{**settings, **REFERENCE, **REFERENCE_TASKS.get(task, {})})
    return WocarConfig(**{**settings, **WOCAR_TASKS.get(task, {})})


def make_algorithm(config: RunConfig, spec: EnvSpec) -> Algorithm:
    objective: Objective = Vanilla()
    if isinstance(config.robust, WocarConfig):
        objective = Wocar(config.robust, spec.actions, config.algorithm.gamma)
    elif config.robust is not None:
        objective = StateAdversarial(config.robust)
    if isinstance(config.algorithm, A2CConfig):
        return A2C(config.algorithm, objective)
    if isinstance(config.algorithm, RecurrentPPOConfig):
        return RecurrentPPO(config.algorithm, objective)
    return PPO(config.algorithm, objective)
