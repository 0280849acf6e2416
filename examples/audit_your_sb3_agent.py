"""Audit your Stable-Baselines3 agent: what is left of its return when an attacker perturbs what it sees?

    python examples/audit_your_sb3_agent.py [my-agent-CartPole-v1.zip]

Without a file a small agent is trained first. VecNormalize's statistics are found beside the zip.
"""

import argparse
import tempfile
from pathlib import Path

import wocar


def train_one(folder: Path, steps: int) -> Path:
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "CartPole-v1", n_steps=min(steps, 512), seed=0, device="cpu")
    model.learn(steps)
    model.save(folder / "ppo-CartPole-v1.zip")
    return folder / "ppo-CartPole-v1.zip"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("agent", nargs="?")
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--episodes", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = options.agent or train_one(Path(folder), options.steps)
        attacks = ["none", "random-corner", "maxdiff-plain", "pgd-10"]
        result = wocar.audit(file, attacks=attacks, eps=options.eps, episodes=options.episodes)
    for name, row in result["attacks"].items():
        print(f"{name:14} {row['mean']:8.1f} ± {row['std']:.1f}")
    print(f"worst: {result['worst']}")
    for flag in result["flags"]:
        print(f"flag {flag['flag']}: {flag['text']}")


if __name__ == "__main__":
    main()
