"""A policy learns from examples what they show, and keeps its spread."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wocar.attacks.imitation import imitate
from wocar.networks import GaussianPolicy
from wocar.networks.layers import mlp


def test_an_adversary_learns_its_lesson_and_keeps_its_spread() -> None:
    adversary = GaussianPolicy(mlp([3, 32, 2], jax.random.key(0)), jnp.full(2, -1.0))
    obs = np.random.default_rng(0).standard_normal((2000, 3)).astype(np.float32)
    wanted = np.stack([np.sin(obs[:, 0]), obs[:, 1] * obs[:, 2] / 2], axis=1)

    def error(policy: Any) -> float:
        return float(np.mean((np.asarray(policy.mode(obs)) - wanted) ** 2))

    taught = imitate(adversary, obs, wanted, 0, steps=1500)
    assert error(taught) < 0.05 * error(adversary)
    np.testing.assert_array_equal(taught.log_std, adversary.log_std)
