"""Methods and their settings per task; each entry holds only what differs from the defaults."""

import dataclasses
from typing import Any

from wocar.envs import atari
from wocar.mechanisms.car import Car, CarConfig
from wocar.mechanisms.objective import PolicyObjective, Vanilla
from wocar.mechanisms.policy_config import RadialConfig, RobustConfig, WocarConfig
from wocar.mechanisms.q_config import RadialQConfig, RobustQConfig, WocarQConfig
from wocar.mechanisms.q_objective import QObjective, StateAdversarialQ
from wocar.mechanisms.radial import Radial
from wocar.mechanisms.radial_dqn import RadialQ
from wocar.mechanisms.state_adversarial import StateAdversarial
from wocar.mechanisms.wocar import Wocar
from wocar.mechanisms.wocar_dqn import WocarQ
from wocar.methods.baselines import BASELINES, baseline_config
from wocar.methods.q_settings import (
    ATARI,
    ATARI_ROBUST,
    ATARI_ROBUST_TASKS,
    ATARI_TASKS,
    ATARI_WOCAR,
    FINE_TUNE_DQN,
    FINE_TUNE_GAME,
    FINE_TUNE_GAME_STEPS,
    FINE_TUNE_GAME_WOCAR,
    FINE_TUNE_GAMES,
    FINE_TUNE_GAMES_WOCAR,
    FINE_TUNE_STEPS,
    FINE_TUNE_WOCAR,
    RADIAL_ATARI,
    RADIAL_EPS,
    SMALL_ATARI,
    SMALL_ATARI_TASKS,
    SMALL_DQN,
    SMALL_DQN_TASKS,
    SMALL_ROBUST,
    SMALL_ROBUST_TASKS,
    SMALL_WOCAR,
    STEPS,
)
from wocar.methods.task_settings import (
    A2C_GAMES,
    EPS,
    LSTM_TASKS,
    PPO_TASKS,
    RAW_EPS,
    ROBUST_LSTM_TASKS,
    ROBUST_PPO_TASKS,
    RUN_TASKS,
    Settings,
)
from wocar.training.a2c import A2C, A2CConfig
from wocar.training.dqn import DQN, DQNConfig
from wocar.training.on_policy import Algorithm
from wocar.training.ppo import PPO, PPOConfig
from wocar.training.recurrent_ppo import RecurrentPPOConfig
from wocar.training.run_config import RunConfig
from wocar.types import EnvSpec, Limits, UserError

METHODS: dict[str, str] = {
    "ppo": "proximal policy optimisation",
    "a2c": "advantage actor-critic",
    "lstm-ppo": "PPO with a memory: an LSTM each for policy and value",
    "sa-ppo": "PPO with the state-adversarial regulariser",
    "sa-ppo-w": "SA-PPO weighed by state importance: wocar-ppo without its worst-attack term",
    "sa-a2c": "A2C with the state-adversarial regulariser",
    "wocar-ppo": "worst-case-aware robust PPO",
    "wocar-lstm-ppo": "worst-case-aware robust PPO with an LSTM",
    "wocar-a2c": "worst-case-aware robust A2C",
    "dqn": "deep Q-learning, for discrete actions and pixels",
    "sa-dqn": "DQN with the state-adversarial regulariser",
    "wocar-dqn": "worst-case-aware robust DQN",
    "radial-dqn": "DQN whose worse actions may not look better within bounds; goes on from --init-from AGENT (RADIAL)",
    **BASELINES,
}
PRESETS = ("paper", "reference", "small", "fine-tune")

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

A2C_GAME_ROBUST: dict[str, Any] = {"eps": 1 / 255, "reg_solver": "convex"}
A2C_GAME_WOCAR: dict[str, Any] = {"bounds": "ibp", "critic_epochs": 1, "critic_minibatches": 1}
"""Intervals and single steps: convolutions are slow in loops."""
FINE_TUNED = {*FINE_TUNE_WOCAR, *FINE_TUNE_GAMES}
Q_OBJECTIVES: dict[str, Any] = {"sa-dqn": RobustQConfig, "wocar-dqn": WocarQConfig, "radial-dqn": RadialQConfig}


def default_config(method: str, env: str, preset: str = "paper") -> RunConfig:
    """The preset of a method on a task: "paper", "reference" for the released code's choices, "small" for two cores."""
    if method not in METHODS:
        raise UserError(f"unknown method {method!r}; methods: {', '.join(METHODS)}")
    if preset not in PRESETS:
        raise UserError(f"unknown preset {preset!r}; presets: {', '.join(PRESETS)}")
    task = env.split("-v")[0]
    if preset == "fine-tune" and (method != "wocar-dqn" or not {task, *(atari.parse(env) or ())} & FINE_TUNED):
        raise UserError(f"only wocar-dqn has a fine-tune preset, on {', '.join(sorted(FINE_TUNED))}")
    if method.endswith("dqn"):
        return _dqn_config(method, env, preset)
    if method in BASELINES:
        return baseline_config(method, env, preset)
    if preset == "small":
        raise UserError("only DQN on games has a small preset")
    if atari.parse(env):
        return _game_config(method, env)
    config = RunConfig(method=method, env=env, algorithm=_algorithm(method, task), robust=_robust(method, task, preset))
    return dataclasses.replace(config, **RUN_TASKS.get(task, {}))


def _game_config(method: str, env: str) -> RunConfig:
    """A2C on Atari games, after Kostrikov's."""
    if not method.endswith("a2c"):
        raise UserError(f"{method} has no settings for games; a2c, dqn and theirs do")
    robust: RobustConfig | None = RobustConfig(**A2C_GAME_ROBUST) if method == "sa-a2c" else None
    if method == "wocar-a2c":
        robust = WocarConfig(**A2C_GAME_ROBUST, **A2C_GAME_WOCAR)
    return RunConfig(method, env, steps=10_000_000, algorithm=A2CConfig(**A2C_GAMES), robust=robust)


def _algorithm(method: str, task: str) -> PPOConfig | A2CConfig:
    if method.endswith("a2c"):
        return A2CConfig()
    settings = PPO_TASKS.get(task, {})
    if "lstm" in method:
        robust = ROBUST_LSTM_TASKS.get(task, {}) if method.startswith("wocar-") else {}
        return RecurrentPPOConfig(**{**settings, **LSTM_TASKS.get(task, {}), **robust})
    robust = ROBUST_PPO_TASKS.get(task, {}) if method.startswith(("sa-", "wocar-")) else {}
    return PPOConfig(**{**settings, **robust})


def _robust(method: str, task: str, preset: str) -> RobustConfig | WocarConfig | None:
    settings = {"eps": EPS.get(task, RobustConfig.eps), **ROBUST_TASKS.get(task, {})}
    if method == "sa-ppo-w":
        return WocarConfig(**settings, kappa_wst=0.0)
    if method.startswith("sa-"):
        return RobustConfig(**settings)
    if not method.startswith("wocar-"):
        return None
    if preset == "reference":
        return WocarConfig(**{**settings, **REFERENCE, **REFERENCE_TASKS.get(task, {})})
    return WocarConfig(**{**settings, **WOCAR_TASKS.get(task, {})})


def _dqn_config(method: str, env: str, preset: str) -> RunConfig:
    game = atari.parse(env)
    if preset == "reference":
        raise UserError("DQN has no reference preset: the released versions contradict each other")
    if game is not None:
        return _atari_config(method, env, game[0], preset)
    kind, task = Q_OBJECTIVES.get(method), env.split("-v")[0]
    robust = {"eps": RAW_EPS.get(task, RobustQConfig.eps), **SMALL_ROBUST}
    if kind is not RadialQConfig:
        robust |= SMALL_ROBUST_TASKS.get(task, {})
    algorithm, steps = {**SMALL_DQN, **SMALL_DQN_TASKS.get(task, {})}, STEPS.get(task, 200_000)
    if kind is WocarQConfig:
        robust |= SMALL_WOCAR
        algorithm["n_step"] = 1
    if preset == "fine-tune":
        robust, algorithm, steps = (
            robust | FINE_TUNE_WOCAR[task],
            algorithm | FINE_TUNE_DQN[task],
            FINE_TUNE_STEPS[task],
        )
    return RunConfig(
        method, env, steps=steps, algorithm=DQNConfig(**algorithm), robust=kind(**robust) if kind else None
    )


def _atari_config(method: str, env: str, game: str, preset: str) -> RunConfig:
    settings, steps = {**ATARI, **ATARI_TASKS.get(game, {})}, 6_000_000
    if preset != "paper":
        settings, steps = settings | {**SMALL_ATARI, **SMALL_ATARI_TASKS.get(game, {})}, 800_000
    kind, robust = Q_OBJECTIVES.get(method), {**ATARI_ROBUST, **ATARI_ROBUST_TASKS.get(game, {})}
    if kind is WocarQConfig:
        robust |= ATARI_WOCAR
        settings["n_step"] = 1
    if kind is RadialQConfig:
        robust = RADIAL_EPS
        settings |= RADIAL_ATARI
    if preset == "fine-tune":
        settings, steps = settings | FINE_TUNE_GAME | FINE_TUNE_GAMES[game], FINE_TUNE_GAME_STEPS[game]
        robust |= FINE_TUNE_GAME_WOCAR | FINE_TUNE_GAMES_WOCAR[game]
    return RunConfig(
        method=method,
        env=env,
        steps=steps,
        checkpoint_every=50_000,
        algorithm=DQNConfig(**settings),
        robust=kind(**robust) if kind else None,
    )


def make_algorithm(config: RunConfig, spec: EnvSpec) -> Algorithm | DQN:
    if isinstance(config.algorithm, DQNConfig):
        return DQN(config.algorithm, _q_objective(config.robust, spec))
    objective: PolicyObjective = Vanilla()
    limits = _limits(spec)
    if isinstance(config.robust, WocarConfig):
        objective = Wocar(config.robust, spec.actions, limits)
    elif isinstance(config.robust, RadialConfig):
        objective = Radial(config.robust, limits)
    elif isinstance(config.robust, CarConfig):
        objective = Car(config.robust, limits)
    elif config.robust is not None:
        objective = StateAdversarial(config.robust, limits)  # type: ignore[arg-type]
    if isinstance(config.algorithm, A2CConfig):
        return A2C(config.algorithm, objective)
    return PPO(config.algorithm, objective)


def _limits(spec: EnvSpec) -> Limits:
    """Pixels are shown as numbers between 0 and 1."""
    return (0.0, 1.0) if len(spec.obs_shape) == 3 else None


def _q_objective(robust: Any, spec: EnvSpec) -> QObjective:
    limits = _limits(spec)
    if isinstance(robust, WocarQConfig):
        return WocarQ(robust, spec.actions, limits)
    if isinstance(robust, RadialQConfig):
        return RadialQ(robust, limits)
    return Vanilla() if robust is None else StateAdversarialQ(robust, limits)
