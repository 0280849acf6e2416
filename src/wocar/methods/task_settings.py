"""What methods share per task; each entry holds only what differs from the defaults."""

from typing import Any

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
ROBUST_LSTM_TASKS: Settings = {"HalfCheetah": {"policy_lr": 1e-3, "ent_coef": 3e-4}}
"""Where the published robust configurations with an LSTM differ from the vanilla one."""
A2C_GAMES: dict[str, Any] = {"ent_coef": 0.01, "normalise_reward": False}
EPS: dict[str, float] = {
    **{"Hopper": 0.075, "Walker2d": 0.05, "HalfCheetah": 0.15, "Ant": 0.15},
    **{"CartPole": 0.3, "LunarLander": 0.2, "GoHomeGrid": 0.2},
}
"""l_inf radius in normalised units: the paper's, and ours for small tasks."""
RAW_EPS: dict[str, float] = {"CartPole": 0.07, "LunarLander": 0.03, "GoHomeGrid": 0.1}
"""In units of the observation, for agents that do not normalise: DQN loses more than half of its return."""
