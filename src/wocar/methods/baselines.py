"""The published rivals and their settings per task, as their own papers and releases give them."""

from typing import Any

from wocar.envs import atari
from wocar.mechanisms.car import CarConfig
from wocar.mechanisms.policy_config import RadialConfig, RobustConfig
from wocar.methods.task_settings import A2C_GAMES, EPS, LSTM_TASKS, PPO_TASKS, ROBUST_PPO_TASKS, RUN_TASKS, Settings
from wocar.training.a2c import A2CConfig
from wocar.training.adversary_config import AdversaryConfig
from wocar.training.ppo import PPOConfig
from wocar.training.recurrent_ppo import RecurrentPPOConfig
from wocar.training.run_config import RunConfig
from wocar.types import UserError

BASELINES: dict[str, str] = {
    "radial-ppo": "PPO whose loss is also that of the least favourable policy within bounds (RADIAL)",
    "car-ppo": "PPO whose loss is also that at adversarial observations, the worst samples weighed most (CAR)",
    "atla-ppo": "PPO in turn with an SA-RL adversary that attacks it (ATLA)",
    "atla-lstm-sa-ppo": "ATLA with LSTMs and the state-adversarial regulariser",
    "pa-atla-a2c": "A2C in turn with a PA-AD adversary",
    "pa-atla-ppo": "PPO in turn with a PA-AD adversary, with the state-adversarial regulariser (PA-ATLA)",
}

RADIAL_STEPS = 4_096_000
RADIAL_PPO_TASKS: Settings = {"HalfCheetah": {"anneal_lr": False}}
RADIAL_TASKS: Settings = {"Hopper": {"eps_schedule": "smoothed"}, "Walker2d": {"eps": 0.075}}

CAR_TASKS: Settings = {
    "Hopper": {"car_weight": 1.0},
    "Walker2d": {"car_temperature": 10.0},
    "Ant": {"car_temperature": 1e4},
}

ATLA_STEPS = 10_000_000
"""2441 iterations of 2048 steps of the agent and as many of the adversary."""
ATLA_PPO_TASKS: Settings = {
    "Hopper": {"ent_coef": 0.01},
    "Walker2d": {"ent_coef": 3e-4},
    "HalfCheetah": {"policy_lr": 1e-4, "value_lr": 1e-3, "ent_coef": 3e-4},
    "Ant": {"ent_coef": 3e-4},
}
ATLA_LSTM_TASKS: Settings = {
    "Hopper": {"ent_coef": 0.01},
    "Walker2d": {"ent_coef": 1e-3},
    "HalfCheetah": {"policy_lr": 1e-3, "value_lr": 3e-3, "ent_coef": 3e-4},
    "Ant": {"ent_coef": 3e-4},
}
PA_ATLA_PPO_TASKS: Settings = {
    "Hopper": {"value_lr": 3e-4, "ent_coef": 0.01},
    "Walker2d": {"ent_coef": 3e-4},
    "Ant": {"policy_lr": 3e-4, "value_lr": 3e-4, "ent_coef": 3e-4},
}
ATLA_SA_TASKS: Settings = {
    "Hopper": {"kappa_reg": 0.3},
    "Walker2d": {"kappa_reg": 0.3},
    "HalfCheetah": {"kappa_reg": 0.03},
    "Ant": {"kappa_reg": 0.1},
}
PA_ATLA_SA_TASKS: Settings = {
    **ATLA_SA_TASKS,
    "Walker2d": {"kappa_reg": 0.1, "reg_solver": "convex", "eps_ramp": 0.3},
}
Rates = tuple[float, float, float, float]
ADVERSARIES: dict[str, dict[str, Rates]] = {
    "atla-ppo": {  # rates as in the optimisers' states of the published agents, where the published settings differ
        "Hopper": (1e-3, 1e-4, 0.0, 0.2),
        "Walker2d": (1e-4, 1e-4, 1e-5, 0.2),
        "HalfCheetah": (1e-3, 3e-4, 1e-4, 0.2),
        "Ant": (1e-5, 3e-6, 1e-5, 0.2),
    },
    "atla-lstm-sa-ppo": {
        "Hopper": (1e-2, 1e-2, 1e-3, 0.2),
        "Walker2d": (3e-4, 1e-2, 0.0, 0.4),
        "HalfCheetah": (1e-2, 3e-4, 1e-3, 0.2),
        "Ant": (1e-3, 3e-4, 1e-3, 0.2),
    },
    "pa-atla-ppo": {
        "Hopper": (1e-2, 1e-3, 3e-4, 0.4),
        "Walker2d": (1e-3, 1e-4, 1e-5, 0.2),
        "HalfCheetah": (1e-2, 1e-2, 3e-4, 0.2),
        "Ant": (1e-3, 3e-4, 1e-3, 0.2),
    },
}
"""The adversary's learning rates of policy and value, its entropy bonus and its clip."""


def baseline_config(method: str, env: str, preset: str) -> RunConfig:
    if preset != "paper":
        raise UserError(f"{method} has the preset paper only, not {preset}")
    task = env.split("-v")[0]
    if method == "pa-atla-a2c":
        return _pa_atla_a2c(method, env, task)
    if method == "car-ppo":
        return _car_ppo(method, env, task)
    return _radial_ppo(method, env, task) if method == "radial-ppo" else _atla(method, env, task)


def _radial_ppo(method: str, env: str, task: str) -> RunConfig:
    ppo = PPOConfig(**merged(task, PPO_TASKS, ROBUST_PPO_TASKS, RADIAL_PPO_TASKS))
    robust = RadialConfig(**{"eps": _eps(task), **merged(task, RADIAL_TASKS)})
    return RunConfig(method, env, steps=RADIAL_STEPS, algorithm=ppo, robust=robust)


def _car_ppo(method: str, env: str, task: str) -> RunConfig:
    ppo = PPOConfig(**merged(task, PPO_TASKS, ROBUST_PPO_TASKS))
    robust = CarConfig(**{"eps": _eps(task), **merged(task, CAR_TASKS)})
    return RunConfig(method, env, algorithm=ppo, robust=robust, **merged(task, RUN_TASKS))


def _atla(method: str, env: str, task: str) -> RunConfig:
    recurrent = method == "atla-lstm-sa-ppo" or (method, task) == ("pa-atla-ppo", "HalfCheetah")  # as published
    own = PA_ATLA_PPO_TASKS if method == "pa-atla-ppo" else ATLA_PPO_TASKS
    algorithm: PPOConfig = PPOConfig(**merged(task, PPO_TASKS, own))
    if recurrent:
        algorithm = RecurrentPPOConfig(**merged(task, PPO_TASKS, LSTM_TASKS, ATLA_LSTM_TASKS))
    robust = None
    if method != "atla-ppo":
        table = PA_ATLA_SA_TASKS if method == "pa-atla-ppo" else ATLA_SA_TASKS
        robust = RobustConfig(**{"eps": _eps(task), **merged(task, table)})
    return RunConfig(
        method,
        env,
        steps=ATLA_STEPS * (2 if task == "Ant" and robust else 1),
        algorithm=algorithm,
        robust=robust,
        adversary=_adversary(method, task),
    )


def _pa_atla_a2c(method: str, env: str, task: str) -> RunConfig:
    """Games: eps 3/255 and 64 steps an update, as released; the adversary learns as fast as the agent."""
    game = atari.parse(env) is not None
    a2c = A2CConfig(**A2C_GAMES, n_steps=64) if game else A2CConfig()
    rates: dict[str, Any] = {"adversary_policy_lr": a2c.policy_lr, "adversary_value_lr": a2c.value_lr}
    adversary = AdversaryConfig("pa-ad", 3 / 255 if game else _eps(task), **rates)
    return RunConfig(method, env, steps=20_000_000 if game else RunConfig.steps, algorithm=a2c, adversary=adversary)


def _adversary(method: str, task: str) -> AdversaryConfig:
    names = ("adversary_policy_lr", "adversary_value_lr", "adversary_ent_coef", "adversary_clip_range")
    rates: dict[str, Any] = dict(zip(names, ADVERSARIES[method].get(task, ()), strict=False))
    return AdversaryConfig("pa-ad" if method.startswith("pa-") else "sa-rl", _eps(task), **rates)


def _eps(task: str) -> float:
    return EPS.get(task, RobustConfig.eps)


def merged(task: str, *tables: Settings) -> dict[str, Any]:
    """The settings of a task in several tables; later ones win."""
    return {name: value for table in tables for name, value in table.get(task, {}).items()}
