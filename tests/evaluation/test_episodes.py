"""Who sees what, and when it is forgotten: attackers and memories inside evaluation episodes."""

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.attacks.base import Disturbance, Perturbation
from wocar.attacks.simple import MaxDiff, Random
from wocar.bounds import Ball
from wocar.envs import env_spec
from wocar.episodes import run_episodes
from wocar.networks import GaussianPolicy, RecurrentPolicy, ScaledNormaliser, linear

KEY = jax.random.key(0)


class Clock(gymnasium.Env):
    """Shows the number of the step, ends after 2 or 3 of them, and pays the action."""

    observation_space = gymnasium.spaces.Box(-9, 9, (1,))
    action_space = gymnasium.spaces.Box(-9, 9, (1,))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.now, self.last = 0, int(self.np_random.choice([2, 3]))
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.now += 1
        return np.float32([self.now]), float(action[0]), self.now == self.last, False, {}


gymnasium.register("Clock-v0", Clock)


def clock_agent(policy: Any) -> Agent:
    return Agent(env_spec("Clock-v0"), ScaledNormaliser.identity((1,)), policy)


def forgetless() -> Agent:
    """An agent whose action is h after the step: large weights, so that a memory kept too long would show."""
    policy = jax.tree.map(lambda x: 3 * x, RecurrentPolicy.create(1, 1, KEY, hidden=4))
    return clock_agent(eqx.tree_at(lambda p: p.network.embedding.layers[0].weight, policy, jnp.ones((4, 1))))


def expected_returns(agent: Agent, lengths: np.ndarray, shift: float = 0.0) -> np.ndarray:
    """Each episode alone, by the policy's own step from a fresh memory."""
    returns = []
    for length in lengths:
        state, total = agent.policy.start(1), 0.0
        for t in range(length):
            action, state = agent.policy.step(np.float32([[t + shift]]), state)
            total += float(action[0, 0])
        returns.append(total)
    return np.array(returns)


@pytest.mark.parametrize("n_envs", [1, 3])
def test_a_recurrent_victim_forgets_between_episodes(n_envs: int) -> None:
    agent = forgetless()
    done = run_episodes(agent, 8, 0, env_id="Clock-v0", n_envs=n_envs)
    assert set(done.lengths) == {2, 3}
    np.testing.assert_allclose(done.returns, expected_returns(agent, done.lengths), rtol=1e-4)


class Recorder:
    """Adds 0.5 to what is seen, and checks the policy it is given."""

    def __init__(self) -> None:
        self.resets: list[np.ndarray] = []
        self.heads: list[np.ndarray] = []

    def __call__(self, policy: Any, z: np.ndarray) -> np.ndarray:
        self.heads.append(np.asarray(policy.head(jnp.asarray(z + 0.5))))
        return (z + 0.5).astype(np.float32)

    def begin(self, env: Any) -> None:
        assert env.n == 2

    def reset(self, rows: np.ndarray, n: int) -> None:
        assert n == 2
        self.resets.append(rows)


class Turner:
    """Doubles the actions; sees the true observation."""

    def __init__(self, agent: Agent, recorder: Recorder) -> None:
        self.agent, self.recorder = agent, recorder

    def __call__(self, policy: Any, z: np.ndarray, actions: np.ndarray) -> np.ndarray:
        assert np.all(z == np.round(z))
        np.testing.assert_allclose(actions, self.recorder.heads[-1], rtol=1e-4, atol=1e-5)
        return 2 * actions


def test_the_attackers_see_the_victims_memory_and_are_told_when_episodes_begin() -> None:
    agent, perturb = forgetless(), Recorder()
    done = run_episodes(agent, 6, 0, env_id="Clock-v0", n_envs=2, perturb=perturb, disturb=Turner(agent, perturb))
    np.testing.assert_allclose(done.returns, 2 * expected_returns(agent, done.lengths, shift=0.5), rtol=1e-4)
    assert perturb.resets[0].tolist() == [0, 1]
    begun = np.concatenate(perturb.resets)
    assert sorted(begun.tolist()) == [0] * 3 + [1] * 3


def test_attacks_of_the_package_work_on_both_kinds_of_victims() -> None:
    """Where the action is the observation, a radius of 0.5 moves each step's reward by at most 0.5."""
    identity = eqx.nn.Sequential([linear(np.eye(1), np.zeros(1))])
    plain = clock_agent(GaussianPolicy(identity, jnp.zeros(1)))
    quiet = run_episodes(plain, 4, 0, n_envs=2)
    np.testing.assert_allclose(quiet.returns, quiet.lengths * (quiet.lengths - 1) / 2)
    perturb = Perturbation(MaxDiff(steps=3), Ball(0.5), 0)
    moved = run_episodes(plain, 4, 0, n_envs=2, perturb=perturb)
    change = np.abs(moved.returns - quiet.returns)
    assert np.all(change <= 0.5 * quiet.lengths + 1e-5)
    assert change.max() > 0.4
    assert perturb.used == pytest.approx(1.0, abs=0.2)
    recurrent = forgetless()
    before = run_episodes(recurrent, 4, 0, n_envs=2).returns
    for attack in (MaxDiff(steps=3), Random()):
        after = run_episodes(recurrent, 4, 0, n_envs=2, perturb=Perturbation(attack, Ball(0.5), 0)).returns
        assert np.abs(after - before).max() > 1e-3


class Shift:
    """An action attack that asks for more than its radius."""

    def disturb(self, policy: Any, radius: Any, obs: Any, actions: jax.Array, key: jax.Array) -> jax.Array:
        return actions + 100.0


def test_a_disturbed_action_reaches_the_world_and_not_the_memory() -> None:
    agent = forgetless()
    disturb = Disturbance(Shift(), 0.25, agent.spec.actions, 0)
    done = run_episodes(agent, 4, 0, n_envs=2, disturb=disturb)
    np.testing.assert_allclose(
        done.returns, expected_returns(agent, done.lengths) + 0.25 * done.lengths, rtol=1e-4, atol=1e-5
    )
