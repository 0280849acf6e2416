"""Evaluation: no favour for short episodes, the same numbers twice, mistakes told."""

import gymnasium
import jax
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.envs import env_seeds, env_spec
from wocar.episodes import EVALUATION_STREAM, run_episodes
from wocar.networks import CategoricalPolicy, GaussianPolicy, RunningNormaliser
from wocar.types import UserError


class ShortOrLong(gymnasium.Env):
    """A coin at the start decides between one step and twenty; reward 1 a step for action 0, else 2."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.left = int(self.np_random.choice([1, 20]))
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.left -= 1
        return np.zeros(1, np.float32), 1.0 + action, self.left == 0, False, {}


class OtherActions(gymnasium.Env):
    """CartPole's observations, another kind of action."""

    observation_space = gymnasium.spaces.Box(-1, 1, (4,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))


gymnasium.register("ShortOrLong-v0", ShortOrLong)
gymnasium.register("OtherActions-v0", OtherActions)


def make_agent(env: str) -> Agent:
    spec, key = env_spec(env), jax.random.key(0)
    size, actions = spec.obs_shape[0], spec.actions.size
    policy = (CategoricalPolicy if spec.actions.discrete else GaussianPolicy).create(size, actions, key, (8,))
    return Agent(spec, RunningNormaliser.create(spec.obs_shape), policy, {}, {"method": "ppo"})


@pytest.mark.parametrize(("episodes", "n_envs"), [(1, 4), (4, 4), (10, 4), (7, 1)])
def test_episodes_are_shared_out_beforehand(episodes: int, n_envs: int) -> None:
    agent, reached = make_agent("ShortOrLong-v0"), []
    done = run_episodes(agent, episodes, 5, lambda z: np.ones(len(z), int), n_envs=n_envs, on_episodes=reached.append)
    expected = []
    n = min(episodes, n_envs)
    for i, seed in enumerate(env_seeds(5, n, EVALUATION_STREAM)):
        env = ShortOrLong()
        for k in range(episodes // n + (i < episodes % n)):
            env.reset(seed=None if k else seed)
            expected.append(env.left)
    np.testing.assert_array_equal(done.lengths, expected)
    np.testing.assert_array_equal(done.returns, 2 * np.array(expected))
    np.testing.assert_allclose(done.discounted, [2 * (1 - 0.99**k) / (1 - 0.99) for k in expected], rtol=1e-6)
    assert sum(reached) == episodes


def test_short_episodes_are_not_favoured() -> None:
    """The true mean is 10.5; the first 200 episodes to end would give about 2."""
    done = run_episodes(make_agent("ShortOrLong-v0"), 200, 0, lambda z: np.zeros(len(z), int), n_envs=20)
    assert abs(done.returns.mean() - 10.5) < 3 * 9.5 / 200**0.5


@pytest.mark.parametrize("env", ["Hopper-v4", "Pendulum-v1"])
def test_evaluating_twice_gives_the_same_and_other_seeds_others(env: str) -> None:
    agent = make_agent(env)
    first, second, other = (run_episodes(agent, 3, seed, n_envs=2, threads=1 + seed % 2) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.returns, second.returns)
    assert np.all(first.returns != other.returns)


def test_the_policy_acts_with_its_mode_and_a_frozen_normaliser() -> None:
    agent = make_agent("Hopper-v4")
    before, by_hand = agent.normaliser, run_episodes(agent, 2, 0, lambda z: np.asarray(agent.policy.mode(z)))
    assert agent.normaliser is before
    np.testing.assert_allclose(run_episodes(agent, 2, 0).returns, by_hand.returns, rtol=1e-4)


@pytest.mark.parametrize("env", ["Walker2d-v4", "CartPole-v1"])
def test_an_environment_that_does_not_fit_is_told(env: str) -> None:
    with pytest.raises(UserError, match=env):
        run_episodes(make_agent("Hopper-v4"), 1, 0, env_id=env)


def test_an_environment_with_other_actions_is_told() -> None:
    with pytest.raises(UserError, match="OtherActions-v0"):
        run_episodes(make_agent("CartPole-v1"), 1, 0, env_id="OtherActions-v0")
