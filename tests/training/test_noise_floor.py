"""Floor of a Gaussian policy's standard deviation, and environments with directors."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar import api
from wocar.agent import Agent
from wocar.bounds import Ball
from wocar.envs import make_env
from wocar.methods.presets import default_config, make_algorithm
from wocar.networks import CategoricalPolicy, GaussianPolicy, PixelNormaliser, RunningNormaliser, cnn
from wocar.training.directed_env import DirectedEnv
from wocar.training.networks import Networks
from wocar.training.run_config import with_settings
from wocar.types import ActionSpace, EnvSpec, Transitions, UserError

SPEC = EnvSpec("toy", (4,), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32)))


def rollout(steps: int) -> Transitions:
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(4, steps + 1, 4)).astype(np.float32)
    actions = np.zeros((4, steps, 2), np.float32)  # the more likely the less noise
    rewards, ends = rng.normal(size=(4, steps)).astype(np.float32), np.zeros((4, steps), bool)
    return Transitions(obs[:, :-1], actions, rewards, obs[:, 1:], ends, ends)


@pytest.mark.parametrize("method", ["ppo", "a2c", "lstm-ppo"])
def test_the_noise_stays_above_its_floor(method: str) -> None:
    small = {"n_envs": 4, "n_steps": 16, "init_std": 0.3, "policy_lr": 0.1, "hidden": (8,)}
    low = with_settings(default_config(method, "toy", "paper"), small)
    for config, floor in ((low, 0.0), (with_settings(low, {"min_std": 0.5}), 0.5)):
        algorithm = make_algorithm(config, SPEC)
        learner = algorithm.init(SPEC, jax.random.key(0))
        stds = [jnp.exp(learner.policy.log_std)]
        for k in range(3):
            learner, _ = algorithm.update(learner, rollout(16), jax.random.key(k), jnp.float32(0))
            stds.append(jnp.exp(learner.policy.log_std))
        assert (jnp.min(jnp.array(stds)) < 0.4) == (floor == 0)
        assert jnp.min(jnp.array(stds)) >= floor - 1e-6


def test_discrete_policies_have_no_floor() -> None:
    spec = EnvSpec("toy", (4,), ActionSpace(3))
    policy, *_ = Networks((8,), 1.0, 0.5).create(spec, jax.random.key(0))
    assert policy.discrete


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
