"""The collector against an environment that writes its counters and the action it got into the observation."""

import jax
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.networks import GaussianPolicy, RunningNormaliser
from wocar.rollout import Collector, Rollout
from wocar.training.reward import RewardScaler
from wocar.types import ActionSpace, EnvSpec, Step, Transitions

SPEC = EnvSpec("Counter", (4,), ActionSpace(1, -np.ones(1, np.float32), np.ones(1, np.float32)))
ENV, EPISODE, STEP, ACTION = range(4)


class Counter:
    """Observation [environment, episode, step, last action]; odd episodes terminate, even ones are truncated."""

    spec = SPEC

    def __init__(self, lengths: list[int]) -> None:
        self.n, self.lengths = len(lengths), np.array(lengths)
        self.given: list[np.ndarray] = []

    def reset(self) -> np.ndarray:
        self.obs = np.zeros((self.n, 4))
        self.obs[:, ENV] = np.arange(self.n)
        self.given.append(self.obs.copy())
        return self.obs.copy()

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        ids = np.arange(self.n) if ids is None else ids
        obs = self.obs[ids]
        is_reset = obs[:, STEP] == self.lengths[ids]
        obs[:, EPISODE] += is_reset
        obs[:, STEP] = np.where(is_reset, 0, obs[:, STEP] + 1)
        obs[:, ACTION] = np.where(is_reset, 0.0, actions[:, 0])
        self.obs[ids] = obs
        self.given.append(obs.copy())
        ends, odd = obs[:, STEP] == self.lengths[ids], obs[:, EPISODE] % 2 == 1
        rewards = np.where(is_reset, -1e6, 100 * obs[:, EPISODE] + obs[:, STEP]).astype(np.float32)
        return Step(obs.copy(), rewards, ends & odd, ends & ~odd, is_reset)

    def close(self) -> None:
        pass


def collect(lengths: list[int], steps: int, rollouts: int) -> tuple[Counter, list[Rollout]]:
    env = Counter(lengths)
    normaliser = RunningNormaliser.create((4,), clip=1e9)
    agent = Agent(SPEC, normaliser, GaussianPolicy.create(4, 1, jax.random.key(0), (8,)))
    collector = Collector(env, np.random.default_rng(0))
    return env, [collector.collect(agent, steps) for _ in range(rollouts)]


@pytest.mark.parametrize("lengths", [[1, 2, 3, 50], [1, 1, 1], [7], [40, 40], [3, 8, 1]])
def test_every_environment_gives_exactly_its_transitions(lengths: list[int]) -> None:
    _, rollouts = collect(lengths, 8, 3)
    whole = Transitions(
        *(np.concatenate(parts, axis=1) for parts in zip(*(r.transitions[:6] for r in rollouts), strict=True))
    )
    n, length = len(lengths), np.array(lengths)[:, None]
    t = np.broadcast_to(np.arange(24), (n, 24))
    episode, step = t // length, t % length
    np.testing.assert_array_equal(whole.obs[..., ENV], np.broadcast_to(np.arange(n)[:, None], (n, 24)))
    np.testing.assert_array_equal(whole.obs[..., EPISODE], episode)
    np.testing.assert_array_equal(whole.obs[..., STEP], step)
    np.testing.assert_array_equal(whole.next_obs[..., ENV], whole.obs[..., ENV])
    np.testing.assert_array_equal(whole.next_obs[..., EPISODE], episode)
    np.testing.assert_array_equal(whole.next_obs[..., STEP], step + 1)
    np.testing.assert_array_equal(whole.next_obs[..., ACTION], whole.actions[..., 0])
    np.testing.assert_array_equal(whole.rewards, 100 * episode + step + 1)
    ends = step + 1 == length
    np.testing.assert_array_equal(whole.terminated, ends & (episode % 2 == 1))
    np.testing.assert_array_equal(whole.truncated, ends & (episode % 2 == 0))
    inside = ~ends[:, :-1]
    np.testing.assert_array_equal(whole.obs[:, 1:][inside], whole.next_obs[:, :-1][inside])


def test_episode_returns_and_lengths_reach_across_rollouts() -> None:
    _, rollouts = collect([5, 2], 4, 2)
    assert sorted(rollouts[0].episode_lengths) == [2, 2]
    assert sorted(rollouts[0].episode_returns) == [1 + 2, 101 + 102]
    assert sorted(rollouts[1].episode_lengths) == [2, 2, 5]
    assert sorted(rollouts[1].episode_returns) == [15, 201 + 202, 301 + 302]


@pytest.mark.parametrize("lengths", [[1, 2, 3, 50], [1, 1, 1], [40, 40]])
def test_seen_is_every_observation_given_resets_too(lengths: list[int]) -> None:
    env, rollouts = collect(lengths, 8, 3)
    np.testing.assert_array_equal(np.concatenate([r.seen for r in rollouts]), np.concatenate(env.given))


def test_the_reward_scaler_follows_discounted_returns_within_episodes() -> None:
    rewards = np.array([[1.0, 2.0, 4.0], [3.0, 0.0, 30.0]], np.float32)
    ends = np.array([[False, True, False], [False, False, False]])
    blank = Transitions(*(np.zeros((2, 3)) for _ in range(6)))
    rollout = blank._replace(rewards=rewards, terminated=ends, truncated=np.zeros_like(ends))
    scaler = RewardScaler.create(2).update(rollout, 0.5)
    returns = [1.0, 2.5, 4.0, 3.0, 1.5, 30.75]
    np.testing.assert_allclose(scaler.returns.std, np.std(returns, ddof=1))
    np.testing.assert_allclose(scaler.running, [4.0, 30.75])
    np.testing.assert_allclose(scaler(rewards), rewards / np.std(returns, ddof=1), rtol=1e-6)
    np.testing.assert_array_equal(scaler(np.array([1e6, -1e6])), [10, -10])
    np.testing.assert_array_equal(scaler.fresh().running, [0, 0])
    again = scaler.update(blank._replace(rewards=np.ones((2, 1)), terminated=ends[:, :1], truncated=ends[:, :1]), 0.5)
    np.testing.assert_allclose(again.running, [3.0, 16.375])
