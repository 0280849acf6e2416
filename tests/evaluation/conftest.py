"""Small tasks in which the harm of an attack is known by hand."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import gymnasium
import jax
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.envs import env_spec
from wocar.networks import CategoricalPolicy, GaussianPolicy, RunningNormaliser, ScaledNormaliser, linear


class Follow(gymnasium.Env):
    """Say the two numbers you see: the reward is minus the sum of what you are off by. Ten steps."""

    observation_space = gymnasium.spaces.Box(-5, 5, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
    length: float = 10

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.left = self.length
        return self._look(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward = -float(np.abs(action - self.seen).sum())
        self.left -= 1
        return self._look(), reward, self.left == 0, False, {}

    def _look(self) -> np.ndarray:
        self.seen = self.np_random.uniform(-1, 1, 2)
        return self.seen


class Endless(Follow):
    length = np.inf


gymnasium.register("Follow-v0", Follow, max_episode_steps=1000)
gymnasium.register("Endless-v0", Endless)


MakeAgent = Callable[..., Agent]


@pytest.fixture
def follower() -> MakeAgent:
    return make_follower


@pytest.fixture
def fresh_agent() -> MakeAgent:
    return make_fresh_agent


def make_follower(env: str = "Follow-v0", gain: float = 1.0) -> Agent:
    """Says what it sees, times the gain: an attacker of radius eps costs it 2 eps a step."""
    policy = GaussianPolicy(eqx.nn.Sequential([linear(gain * np.eye(2), np.zeros(2))]), jax.numpy.zeros(2))
    return Agent(env_spec(env), ScaledNormaliser.identity((2,)), policy, {}, {"method": "by hand"})


def make_fresh_agent(env: str, seed: int = 0) -> Agent:
    """Random networks."""
    spec, key = env_spec(env), jax.random.key(seed)
    size, actions = spec.obs_shape[0], spec.actions.size
    policy = (CategoricalPolicy if spec.actions.discrete else GaussianPolicy).create(size, actions, key, (8,))
    return Agent(spec, RunningNormaliser.create(spec.obs_shape), policy, {}, {"method": "ppo"})
