"""Settings of DQN and its kind per task; each entry holds only what differs from the defaults."""

from typing import Any

from wocar.methods.task_settings import Settings

STEPS: dict[str, int] = {"CartPole": 100_000, "LunarLander": 300_000, "GoHomeGrid": 20_000}
SMALL_DQN: dict[str, Any] = {
    "learning_rate": 1e-3,
    "target_update_interval": 1,
    "tau": 0.005,
    "loss": "squared",
    "normalise_obs": False,
}
SMALL_DQN_TASKS: Settings = {
    "CartPole": {"learning_rate": 5e-4, "hidden": (128, 128), "exploration_final_eps": 0.02},
    "LunarLander": {
        **{"learning_rate": 5e-4, "hidden": (128, 128), "loss": "huber", "n_step": 3},
        **{"exploration_fraction": 0.3, "exploration_hold": 8},
    },
    "GoHomeGrid": {"gamma": 0.95},
}
SMALL_ROBUST: dict[str, Any] = {"eps_begin": 0.3, "eps_end": 0.8}
SMALL_ROBUST_TASKS: Settings = {
    "CartPole": {"kappa_reg": 0.5, "reg_lead": 0.5},
    "LunarLander": {"kappa_reg": 0.3},
    "GoHomeGrid": {"kappa_reg": 0.5, "reg_lead": 0.3},
}
SMALL_WOCAR: dict[str, Any] = {"kappa_wst": 0.3, "kappa_begin": 0.5}
FINE_TUNE_STEPS: dict[str, int] = {"CartPole": 48_000, "LunarLander": 160_000}
FINE_TUNE_DQN: Settings = {
    "CartPole": {"tau": 0.0003, "exploration_fraction": 0.5, "exploration_final_eps": 0.01},
    "LunarLander": {
        "tau": 0.0005,
        **{"exploration_initial_eps": 0.5, "exploration_final_eps": 0.1, "exploration_hold": 4},
    },
}
"""For `--init-from` an agent of DQN: targets this slow learn nothing from the beginning."""
FINE_TUNE_WOCAR: Settings = {
    "CartPole": {
        **{"eps": 0.1, "eps_begin": 0.0, "eps_end": 0.4, "bounds": "ibp", "kappa_wst": 0.1, "kappa_begin": 0.3},
        **{"kappa_reg": 20.0, "reg_lead": 3.0, "reg_reference": "values"},
    },
    "LunarLander": {
        **{"eps": 0.045, "eps_begin": 0.0, "eps_end": 0.4, "bounds": "ibp", "kappa_wst": 0.001, "kappa_reg": 10.0},
        "reg_reference": "values",
    },
}

ATARI: dict[str, Any] = {
    "n_steps": 1,
    "train_freq": 4,
    "learning_rate": 1e-4,
    "anneal_lr": False,
    "batch_size": 32,
    "buffer_size": 500_000,
    "learning_starts": 50_000,
    "exploration_fraction": 0.1,
    "exploration_final_eps": 0.01,
    "target_update_interval": 500,
    "per_alpha": 0.6,
}
ATARI_TASKS: Settings = {"freeway": {"exploration_fraction": 1 / 60}}
SMALL_ATARI: dict[str, Any] = {
    "network": "small",
    "learning_rate": 2.5e-4,
    "anneal_lr": True,
    "buffer_size": 200_000,
    "learning_starts": 10_000,
    "n_step": 3,
}
"""For a machine of two cores: an hour of training where the paper's settings take days."""
SMALL_ATARI_TASKS: Settings = {"freeway": {"exploration_fraction": 0.1, "exploration_hold": 64}}
ATARI_ROBUST: dict[str, Any] = {
    "eps": 1 / 255,
    "eps_begin": 0.25,
    "eps_end": 0.9,
    "eps_schedule": "smoothed",
    "kappa_reg": 0.005,
    "reg_solver": "convex",
}
ATARI_WOCAR: dict[str, Any] = {"bounds": "ibp", "kappa_begin": 1 / 3, "kappa_schedule": "exponential"}
ATARI_ROBUST_TASKS: Settings = {"bank_heist": {"kappa_reg": 0.02}, "road_runner": {"kappa_reg": 0.01}}
FINE_TUNE_GAME_STEPS: dict[str, int] = {"pong": 100_000, "freeway": 60_000}
FINE_TUNE_GAME: dict[str, Any] = {
    **{"target_update_interval": 1, "tau": 0.001, "exploration_initial_eps": 0.1, "exploration_fraction": 0.5},
}
FINE_TUNE_GAMES: Settings = {
    "pong": {"learning_rate": 5e-4, "learning_starts": 4_000},
    "freeway": {"learning_starts": 3_000, "exploration_hold": 8},
}
FINE_TUNE_GAME_WOCAR: dict[str, Any] = {
    **{"eps_begin": 0.0, "eps_schedule": "linear", "reg_solver": "pgd", "reg_reference": "values"},
    **{"kappa_reg": 0.5, "kappa_begin": 0.5},
}
FINE_TUNE_GAMES_WOCAR: Settings = {
    "pong": {"eps_end": 0.2, "reg_steps": 2, "reg_lead": 0.2, "kappa_wst": 0.05},
    "freeway": {"eps_end": 0.4, "reg_lead": 0.1, "kappa_wst": 0.02},
}
RADIAL_ATARI: dict[str, Any] = {
    "learning_rate": 1.25e-4,
    "batch_size": 128,
    "buffer_size": 200_000,
    "target_update_interval": 1_000,
    "exploration_initial_eps": 0.01,
    "per_alpha": 0.0,
}
RADIAL_EPS: dict[str, Any] = {"eps": 1 / 255, "eps_begin": 1 / 90, "eps_end": 8 / 9}
