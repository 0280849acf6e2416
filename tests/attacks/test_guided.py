"""What a worst critic teaches an adversary: directions and displacements by hand."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.attacks.director import LinearDirector
from wocar.attacks.guided import directed_lesson, lesson, steepest_direction
from wocar.attacks.learned import Direction, Displacement
from wocar.bounds import Ball
from wocar.networks import GaussianPolicy
from wocar.networks.layers import linear

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


def test_a_director_teaches_its_direction_and_its_corner() -> None:
    director = LinearDirector(jnp.zeros((2, 3)), jnp.array([6.0, -8.0]))
    told = directed_lesson(Direction(), director)(VICTIM, Ball(0.1), OBS)
    np.testing.assert_allclose(told, np.tile([0.6, -0.8], (5, 1)), atol=1e-6)
    corner = np.sign(WEIGHT.T @ [6.0, -8.0])
    told = directed_lesson(Displacement(), director)(VICTIM, Ball(0.1), OBS)
    np.testing.assert_allclose(told, np.tile(corner, (5, 1)), atol=1e-4)
