"""The agents that are hardened, trained with Stable-Baselines3: `python train_sb3.py TASK ...`, into this folder."""

import sys
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.callbacks import EvalCallback, StopTrainingOnRewardThreshold
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecNormalize


def falling(rate: float) -> Callable[[float], float]:
    return lambda left: rate * left


def hopper(name: str = "sb3-ppo-Hopper-v5", steps: int = 1_000_000, first: int = 327_680) -> None:
    """PPO, VecNormalize; minibatches of 64 for the first steps, then 256 with a learning rate that falls to 0."""
    env = VecNormalize(make_vec_env("Hopper-v5", n_envs=8, seed=0))
    model = PPO("MlpPolicy", env, n_steps=256, seed=0, device="cpu")
    model.learn(first)
    model.save(name)
    env.save(f"{name}_vecnormalize.pkl")
    env = VecNormalize.load(f"{name}_vecnormalize.pkl", make_vec_env("Hopper-v5", n_envs=8, seed=1))
    rate: Any = falling(3e-4)
    model = PPO.load(name, env=env, device="cpu", batch_size=256, learning_rate=rate)
    model.learn(steps - first, reset_num_timesteps=False)
    model.save(name)
    env.save(f"{name}_vecnormalize.pkl")


def halfcheetah(name: str = "sb3-ppo-HalfCheetah-v5", steps: int = 1_000_000) -> None:
    """PPO, VecNormalize; networks, discount and noise of the RL Zoo, larger minibatches, a falling learning rate."""
    env = VecNormalize(make_vec_env("HalfCheetah-v5", n_envs=8, seed=0), gamma=0.98)
    shape = {"net_arch": [256, 256], "activation_fn": torch.nn.ReLU, "log_std_init": -2.0, "ortho_init": False}
    how = {"n_steps": 256, "batch_size": 128, "gamma": 0.98, "gae_lambda": 0.92, "max_grad_norm": 0.8}
    rate: Any = falling(3e-4)
    model = PPO("MlpPolicy", env, learning_rate=rate, **how, policy_kwargs=shape, seed=0, device="cpu")
    model.learn(steps)
    model.save(name)
    env.save(f"{name}_vecnormalize.pkl")


def cartpole(name: str = "sb3-dqn-CartPole-v1", steps: int = 50_000) -> None:
    """DQN with the RL Zoo's settings, checked on five episodes every 5000 steps; ends at a return of 500."""
    learning = {"learning_rate": 2.3e-3, "batch_size": 64, "learning_starts": 1000, "gamma": 0.99}
    timing = {"train_freq": 256, "gradient_steps": 128, "target_update_interval": 10, "buffer_size": 100_000}
    exploring = {"exploration_fraction": 0.16, "exploration_final_eps": 0.04}
    shape = {"net_arch": [256, 256]}
    env = gym.make("CartPole-v1")
    model = DQN("MlpPolicy", env, **learning, **timing, **exploring, policy_kwargs=shape, seed=0, device="cpu")
    solved = StopTrainingOnRewardThreshold(500)
    model.learn(steps, EvalCallback(Monitor(gym.make("CartPole-v1")), solved, eval_freq=5000))
    model.save(name)


def cartpole_a2c(name: str = "sb3-a2c-CartPole-v1", steps: int = 200_000) -> None:
    model = A2C("MlpPolicy", make_vec_env("CartPole-v1", n_envs=8, seed=0), seed=0, device="cpu")
    model.learn(steps)
    model.save(name)


def pendulum_sac(name: str = "sb3-sac-Pendulum-v1", steps: int = 15_000) -> None:
    model = SAC("MlpPolicy", gym.make("Pendulum-v1"), learning_rate=1e-3, seed=0, device="cpu")
    model.learn(steps)
    model.save(name)


def pendulum_td3(name: str = "sb3-td3-Pendulum-v1", steps: int = 15_000) -> None:
    noise = NormalActionNoise(np.zeros(1), np.full(1, 0.1))
    env = gym.make("Pendulum-v1")
    model = TD3("MlpPolicy", env, learning_rate=1e-3, gamma=0.98, action_noise=noise, seed=0, device="cpu")
    model.learn(steps)
    model.save(name)


TASKS = {f.__name__: f for f in (hopper, halfcheetah, cartpole, cartpole_a2c, pendulum_sac, pendulum_td3)}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for task in sys.argv[1:]:
        TASKS[task]()
