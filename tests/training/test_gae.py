"""GAE by hand, and on a task whose value is known: time limits are bootstrapped, ends are not."""

import gymnasium
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.envs import make_env
from wocar.training.gae import gae as plain_gae

gae = jax.jit(plain_gae)


def rows(*values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


def flags(*steps: int, length: int) -> np.ndarray:
    return np.isin(np.arange(length), steps)[None]


def test_by_hand() -> None:
    """γ = λ = 1/2, so δ = r + V'/2 - V and the trace falls by 1/4 a step."""
    rewards, values, next_values = rows([1, 2, 3]), rows([4, 2, 0]), rows([2, 0, 8])
    none = flags(length=3)
    delta = [1 + 1 - 4, 2 + 0 - 2, 3 + 4 - 0]
    expected = [delta[0] + (delta[1] + delta[2] / 4) / 4, delta[1] + delta[2] / 4, delta[2]]
    np.testing.assert_allclose(gae(rewards, values, next_values, none, none, 0.5, 0.5), [expected], rtol=1e-6)


def test_a_truncation_bootstraps_a_termination_does_not_and_both_stop_the_trace() -> None:
    rewards, values, next_values = rows([1, 2, 3]), rows([4, 2, 0]), rows([2, 6, 8])
    none, middle = flags(length=3), flags(1, length=3)
    truncated = gae(rewards, values, next_values, none, middle, 0.5, 0.5)
    np.testing.assert_allclose(truncated, [[-2 + 3 / 4, 2 + 3 - 2, 7]], rtol=1e-6)
    terminated = gae(rewards, values, next_values, middle, none, 0.5, 0.5)
    np.testing.assert_allclose(terminated, [[-2 + 0 / 4, 2 - 2, 7]], rtol=1e-6)


def test_environments_do_not_mix() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((3, 4, 9)).astype(np.float32)
    terminated, truncated = rng.random((2, 4, 9)) < 0.2
    together = gae(*numbers, terminated, truncated, 0.9, 0.8)
    for i in range(4):
        one = slice(i, i + 1)
        alone = gae(*numbers[:, one], terminated[one], truncated[one], 0.9, 0.8)
        np.testing.assert_allclose(alone, together[one], rtol=1e-5, atol=1e-6)


@given(st.integers(0, 2**31 - 1), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=20)
def test_the_recursion_in_plain_python(seed: int, gamma: float, lam: float) -> None:
    rng = np.random.default_rng(seed)
    rewards, values, next_values = rng.standard_normal((3, 1, 12))
    terminated, truncated = rng.random((2, 1, 12)) < 0.2
    expected, trace = np.zeros(12), 0.0
    for t in reversed(range(12)):
        bootstrap = 0.0 if terminated[0, t] else gamma * next_values[0, t]
        kept = 0.0 if terminated[0, t] or truncated[0, t] else gamma * lam * trace
        expected[t] = trace = rewards[0, t] + bootstrap - values[0, t] + kept
    np.testing.assert_allclose(
        gae(rewards, values, next_values, terminated, truncated, gamma, lam), [expected], rtol=1e-4, atol=1e-5
    )


class Salary(gymnasium.Env):
    """Reward 1 a step; the observation counts the steps; `limit` steps end the task where `ends` says so."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(0, 100, (1,))

    def __init__(self, ends: bool) -> None:
        self.ends = ends

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        return np.full(1, self.t, np.float32), 1.0, self.ends and self.t == 4, False, {}


gymnasium.register("Salary-v0", lambda: Salary(False), max_episode_steps=4)
gymnasium.register("SalaryEnds-v0", lambda: Salary(True), max_episode_steps=4)


@pytest.mark.parametrize("lam", [0.0, 0.9, 1.0])
@pytest.mark.parametrize(("env_id", "endless"), [("Salary-v0", True), ("SalaryEnds-v0", False)])
def test_the_value_of_a_constant_reward(env_id: str, endless: bool, lam: float) -> None:
    """V ← V + A in a table: 1 / (1 - γ) where only the time limit ends, else the finite sum."""
    gamma, env = 0.8, make_env(env_id, 1, 0)
    obs, steps = env.reset(), []
    while len(steps) < 12:
        step = env.step(np.zeros(1, int))
        if not step.is_reset[0]:
            steps.append((int(obs[0, 0]), int(step.obs[0, 0]), step.rewards[0], step.terminated[0], step.truncated[0]))
        obs = step.obs
    at, after, rewards, terminated, truncated = (np.array(column)[None] for column in zip(*steps, strict=True))
    assert terminated.sum() == (0 if endless else 3)
    assert truncated.sum() == (3 if endless else 0)
    table = np.zeros(5)
    for _ in range(60):
        advantages = np.asarray(gae(rewards, table[at], table[after], terminated, truncated, gamma, lam))
        table[at[0, :4]] += advantages[0, :4]
        table[4] = table[3] if endless else 1e6  # beyond the limit: one more step of the same task, or nothing at all
    horizon = np.array([1 / (1 - gamma)] * 4 if endless else [sum(gamma**k for k in range(4 - t)) for t in range(4)])
    np.testing.assert_allclose(table[:4], horizon, rtol=1e-3)
