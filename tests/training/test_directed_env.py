"""Environments whose observations directors perturb, and PPO in them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from wocar import api
from wocar.agent import Agent
from wocar.bounds import Ball
from wocar.envs import env_spec, make_env
from wocar.methods.presets import default_config, make_algorithm
from wocar.networks import CategoricalPolicy, GaussianPolicy, PixelNormaliser, RunningNormaliser, cnn
from wocar.training.directed_env import Directed, DirectedEnv
from wocar.training.loop import make_envs
from wocar.training.run_config import with_settings
from wocar.types import ActionSpace, EnvSpec, UserError


def test_a_director_pushes_the_action_for_an_episode() -> None:
    env = make_env("Hopper-v4", 4, 0)
    policy = GaussianPolicy.create(11, 3, jax.random.key(0), (16,))
    agent = Agent(env.spec, RunningNormaliser.create((11,)), policy)
    directed = DirectedEnv(env, 0.5, np.random.default_rng(0))
    directed.set_agent(agent, Ball(0.1))
    shown, bias = directed.reset(), directed._maps.bias.copy()
    (clean,) = directed._seen
    z = agent.normaliser(clean)
    directions = directed._maps.directions(z)
    assert directions[:2].any(axis=1).all() and not directions[2:].any()
    np.testing.assert_array_equal(shown[2:], z[2:])
    np.testing.assert_allclose(np.abs(shown[:2] - z[:2]), 0.1, atol=1e-5)
    gain = ((agent.head(shown[:2]) - agent.head(z[:2])) * directions[:2]).sum(axis=1)
    assert (gain > 0).all()
    ended = np.zeros(4, bool)
    for _ in range(300):
        step = directed.step(np.ones((4, 3), np.float32))
        ended |= step.is_reset
        np.testing.assert_array_equal(directed._maps.bias[2:], 0)
        changed = (directed._maps.bias != bias).any(axis=1)
        assert not (changed & ~ended).any()
    assert ended[:2].all()
    env.close()


def test_a_director_pushes_frames_too() -> None:
    spec = EnvSpec("toy", (1, 36, 36), ActionSpace(3))
    env: Any = SimpleNamespace(n=2, spec=spec, reset=lambda: np.full((2, 1, 36, 36), 128, np.uint8))
    policy = CategoricalPolicy(cnn(spec.obs_shape, 3, jax.random.key(0), (4, 4), (8, 4), (4, 2), 8))
    directed = DirectedEnv(env, 0.5, np.random.default_rng(1))
    directed.set_agent(Agent(spec, PixelNormaliser(), policy), Ball(0.1, "linf", 0.0, 1.0))
    shown = directed.reset()
    assert np.abs(shown[0] - 128 / 255).max() > 0.05
    np.testing.assert_allclose(shown[1], 128 / 255, atol=1e-6)


def test_a_directed_run_resumes_bit_for_bit(tmp_path: Path) -> None:
    settings = {"n_envs": 4, "n_steps": 16, "policy_epochs": 1, "value_epochs": 1, "minibatches": 2, "hidden": (8,)}
    run = {"steps": 256, "checkpoint_every": 128, "threads": 1, "director_share": 0.5, **settings}
    whole = api.train("sa-ppo", "Hopper-v4", out=tmp_path / "whole", seed=1, **run)
    api.train("sa-ppo", "Hopper-v4", out=tmp_path / "half", seed=1, **run)
    checkpoints = sorted((tmp_path / "half" / "checkpoints").iterdir())
    assert len(checkpoints) == 2
    for path in checkpoints[-1].iterdir():
        path.unlink()
    checkpoints[-1].rmdir()
    again = api.train("sa-ppo", out=tmp_path / "half", resume=True)
    assert again.digest() == whole.digest()


def test_an_lstm_has_no_directors() -> None:
    config = with_settings(default_config("wocar-lstm-ppo", "Hopper-v4"), {"director_share": 0.5})
    with pytest.raises(UserError, match="not for an LSTM"):
        config.check()


def test_environments_push_by_what_was_hunted_against_the_policy_of_the_moment(tmp_path: Path) -> None:
    """Not against the one that kept most so far: its normaliser is another."""
    small: Any = {"n_envs": 4, "n_steps": 16, "minibatches": 2, "checkpoint_every": 128, "threads": 1}
    pushes = {"hunt_begin": 0.2, "director_share": 0.5, "director_hunted": 1.0}
    config = with_settings(default_config("wocar-ppo", "Hopper-v4"), {"steps": 384, "out": tmp_path, **small, **pushes})
    spec = env_spec("Hopper-v4")
    trainer = Directed(config, make_algorithm(config, spec), spec)
    assert trainer.hunter is not None
    for iteration in range(config.iterations):
        if iteration % config.segment == 0:
            trainer.begin(make_envs(config, iteration), np.random.default_rng(iteration))
        before = trainer.learner.policy
        trainer.iterate(iteration)
        assert trainer.env._agent.policy is before
    assert trainer.hunter.hunts == 3
    known = {tuple(bias) for bias in trainer.hunter.directors.bias}
    directed, free = trainer.env._maps.bias[:2], trainer.env._maps.bias[2:]
    assert trainer.env._hunted_share == 1 and directed.any() and not free.any()
    exact = sum(tuple(bias) in known for _ in range(40) for bias in drawn_again(trainer))
    assert 10 <= exact <= 50  # a third of 80 unchanged


def drawn_again(trainer: Directed) -> np.ndarray:
    trainer.env._draw(trainer.env._directed)
    return trainer.env._maps.bias[:2]
