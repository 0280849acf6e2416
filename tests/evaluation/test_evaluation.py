"""Evaluation: no favour for short episodes, numbers that can be checked by hand, the same numbers twice."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.cli import main
from wocar.envs import env_seeds, env_spec
from wocar.evaluation.episodes import EVALUATION_STREAM, run_episodes
from wocar.evaluation.statistics import summarise
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


def test_summary_by_hand() -> None:
    summary = summarise(np.array([1.0, 2.0, 3.0, 6.0]))
    assert summary.mean == 3.0
    assert summary.std == pytest.approx((14 / 4) ** 0.5)
    assert 1.0 <= summary.low < 3.0 < summary.high <= 6.0
    assert summarise(np.array([4.0])) == (4.0, 0.0, 4.0, 4.0)
    assert summarise(np.array([1.0, 5.0]), seed=1) == summarise(np.array([1.0, 5.0]), seed=1)


def test_the_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for k in range(200):
        summary = summarise(rng.normal(10, 3, 40), resamples=400, seed=k)
        assert summary.low <= summary.mean <= summary.high
        inside += summary.low <= 10 <= summary.high
    assert 0.88 < inside / 200 < 0.99


def run_audit(folder: Path, *options: str) -> dict[str, Any]:
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(folder / "agent"), "--json", str(folder / "audit.json"), *options])
    assert not stop.value.code
    return json.loads((folder / "audit.json").read_text())


def test_the_audit_on_disk_says_how_it_was_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = make_agent("CartPole-v1")
    agent.save(tmp_path / "agent")
    result = run_audit(tmp_path, "--attacks", "none", "--episodes", "3", "--seed", "7")
    assert "none" in capsys.readouterr().out
    row = result["attacks"]["none"]
    done = run_episodes(agent, 3, 7)
    assert row["mean"] == done.returns.mean()
    assert row["std"] == done.returns.std()
    assert row["interval"][0] <= row["mean"] <= row["interval"][1]
    assert (row["episodes"], row["seed"], row["eps"]) == (3, 7, 0.0)
    assert row["mean_length"] == done.lengths.mean()
    assert (result["env"], result["worst"], result["flags"]) == ("CartPole-v1", "none", [])
    assert result["meta"]["method"] == "ppo"
    assert {"command", "versions", "machine"} <= set(result)
    assert run_audit(tmp_path, "--attacks", "none", "--episodes", "3", "--seed", "7")["attacks"] == result["attacks"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--episodes", "0"], "--episodes must be positive"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--eps", "nan"], "--eps must not be negative"),
        (["--attacks", "laser"], "unknown attack 'laser'"),
        (["--env", "Nowhere-v0"], "unknown environment"),
        (["--env", "Hopper-v4"], "Hopper-v4"),
        (["--episodes", "many"], "many"),
        (["--json", "nowhere/result.json"], "nowhere/result.json"),
    ],
)
def test_mistakes_are_told_in_one_line(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_agent("CartPole-v1").save(tmp_path / "agent")
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(tmp_path / "agent"), "--attacks", "none", "--episodes", "1", *options])
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 1


def test_an_agent_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(tmp_path / "nothing")])
    assert stop.value.code == 2
    assert "no agent in" in capsys.readouterr().err
