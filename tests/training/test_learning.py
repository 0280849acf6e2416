"""The algorithms learn: small tasks to a threshold that a broken gradient does not reach."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from wocar.envs import env_spec
from wocar.episodes import run_episodes
from wocar.methods.presets import make_algorithm
from wocar.training.a2c import A2CConfig
from wocar.training.loop import train
from wocar.training.ppo import PPOConfig
from wocar.training.run_config import RunConfig

RUNS_LONG = True


class Aim(gymnasium.Env):
    """Eight shots: reward 1 minus the squared distance of the action to the place shown."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Box(-2, 2, (2,))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.shots = 0
        return self._place(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward = 1 - float(np.sum((action - self.place) ** 2))
        self.shots += 1
        return self._place(), reward, self.shots == 8, False, {}

    def _place(self) -> np.ndarray:
        self.place = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.place


gymnasium.register("Aim-v0", Aim)
PPO = PPOConfig(n_envs=8, minibatches=4, policy_lr=1e-3, value_lr=1e-3)
A2C = A2CConfig(n_envs=8, n_steps=16, policy_lr=3e-3, value_lr=3e-3)


@pytest.mark.parametrize(
    ("env", "algorithm", "steps", "threshold"),
    [
        ("CartPole-v1", PPO, 25_000, 250),  # untrained: about 20; at most 500
        ("CartPole-v1", A2C, 25_000, 100),
        ("Aim-v0", PPO, 12_000, 7),  # untrained: about 2.7; at most 8
    ],
    ids=["ppo-cartpole", "a2c-cartpole", "ppo-aim"],
)
def test_learning(env: str, algorithm: PPOConfig | A2CConfig, steps: int, threshold: float, tmp_path: Path) -> None:
    method = "ppo" if algorithm is PPO else "a2c"
    config = RunConfig(method=method, env=env, steps=steps, out=tmp_path / "run", algorithm=algorithm)
    spec = env_spec(env)
    agent = train(config, make_algorithm(config, spec), spec)
    assert run_episodes(agent, 16, 0, n_envs=8).returns.mean() > threshold
