"""Floor of a Gaussian policy's standard deviation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.methods.presets import default_config, make_algorithm
from wocar.training.networks import Networks
from wocar.training.run_config import with_settings
from wocar.types import ActionSpace, EnvSpec, Transitions

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
