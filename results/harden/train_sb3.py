"""The agent that is hardened: PPO of Stable-Baselines3 on Hopper-v5, 1M steps, VecNormalize.

Minibatches of 64 for the first 327,680 steps, then of 256 with a learning rate that falls to 0: that takes less time.
"""

from collections.abc import Callable

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

NAME, STEPS, FIRST = "sb3-ppo-Hopper-v5", 1_000_000, 327_680


def falling(left: float) -> float:
    return 3e-4 * left


def main() -> None:
    torch.set_num_threads(1)
    env = VecNormalize(make_vec_env("Hopper-v5", n_envs=8, seed=0))
    model = PPO("MlpPolicy", env, n_steps=256, seed=0, device="cpu")
    model.learn(FIRST)
    model.save(NAME)
    env.save(f"{NAME}_vecnormalize.pkl")
    env = VecNormalize.load(f"{NAME}_vecnormalize.pkl", make_vec_env("Hopper-v5", n_envs=8, seed=1))
    rate: Callable[[float], float] = falling
    model = PPO.load(NAME, env=env, device="cpu", batch_size=256, learning_rate=rate)
    model.learn(STEPS - FIRST, reset_num_timesteps=False)
    model.save(NAME)
    env.save(f"{NAME}_vecnormalize.pkl")


if __name__ == "__main__":
    main()
