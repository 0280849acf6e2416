"""What a worst critic teaches an adversary: directions and displacements by hand, and that the lesson is learnt."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.attacks.guided import imitate, lesson, steepest_direction
from wocar.attacks.learned import Direction, Displacement
from wocar.bounds import Ball
from wocar.networks import GaussianPolicy
from wocar.networks.layers import linear, mlp

KEY = jax.random.key(0)
WEIGHT = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, -1.0]])
VICTIM = GaussianPolicy(eqx.nn.Sequential([linear(WEIGHT, np.zeros(2))]), jnp.zeros(2))
OBS = jax.random.normal(KEY, (5, 3))


class Slope(eqx.Module):
    """Q(z, a) = 3 a_0 - 4 a_1 + z_0."""

    def __call__(self, obs: Any, actions: Any) -> jax.Array:
        return 3 * actions[..., 0] - 4 * actions[..., 1] + obs[..., 0]


def test_the_director_is_told_the_steepest_descent() -> None:
    np.testing.assert_allclose(steepest_direction(Slope(), VICTIM, OBS), np.tile([-0.6, 0.8], (5, 1)), atol=1e-6)
    told = lesson(Direction(), Slope())(VICTIM, Ball(0.1), OBS)
    np.testing.assert_allclose(told, np.tile([-0.6, 0.8], (5, 1)), atol=1e-6)


def test_the_displacement_is_the_corner_where_the_value_is_least() -> None:
    corner = -np.sign(WEIGHT.T @ [3.0, -4.0])
    for eps in (0.1, 0.5):
        told = lesson(Displacement(), Slope())(VICTIM, Ball(eps), OBS)
        np.testing.assert_allclose(told, np.tile(corner, (5, 1)), atol=1e-4)


def test_an_adversary_learns_its_lesson_and_keeps_its_spread() -> None:
    adversary = GaussianPolicy(mlp([3, 32, 2], KEY), jnp.full(2, -1.0))
    obs = np.random.default_rng(0).standard_normal((2000, 3)).astype(np.float32)
    wanted = np.stack([np.sin(obs[:, 0]), obs[:, 1] * obs[:, 2] / 2], axis=1)

    def error(policy: Any) -> float:
        return float(np.mean((np.asarray(policy.mode(obs)) - wanted) ** 2))

    taught = imitate(adversary, obs, wanted, KEY, steps=1500)
    assert error(taught) < 0.05 * error(adversary)
    np.testing.assert_array_equal(taught.log_std, adversary.log_std)
