"""The agent of the README's second command: PPO of Stable-Baselines3 on CartPole-v1, 60,000 steps, its defaults."""

import sys

import torch
from stable_baselines3 import PPO


def main() -> None:
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu")
    model.learn(60_000)
    model.save(sys.argv[1])


if __name__ == "__main__":
    main()
