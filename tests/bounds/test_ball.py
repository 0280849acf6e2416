"""B_eps(s)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.bounds import Ball

CENTER = jax.random.uniform(jax.random.key(0), (400, 2, 3))


def distance(norm: str, x: jax.Array, center: jax.Array) -> np.ndarray:
    return np.linalg.norm(np.asarray(x - center).reshape(len(x), -1), np.inf if norm == "linf" else 2, axis=1)


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("limits", [(None, None), (0.0, 1.0)])
@settings(max_examples=10)
@given(eps=st.floats(0, 2), seed=st.integers(0, 99))
def test_points_of_the_ball_are_in_the_ball(norm, limits, eps: float, seed: int) -> None:
    ball, key = Ball(eps, norm, *limits), jax.random.key(seed)
    outside = CENTER + 2 * jax.random.normal(key, CENTER.shape)
    lower, upper = ball.interval(CENTER)
    for x in (ball.sample(key, CENTER), ball.sample_extreme(key, CENTER), ball.project(CENTER, outside)):
        assert (distance(norm, x, CENTER) <= eps + 1e-5).all()
        assert (x >= lower - 1e-6).all()
        assert (x <= upper + 1e-6).all()
        if limits[0] is not None:
            assert x.min() >= 0
            assert x.max() <= 1


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_projection_leaves_the_inside_alone_and_ends_on_the_border(norm) -> None:
    ball = Ball(0.5, norm)
    inside = ball.sample(jax.random.key(1), CENTER)
    np.testing.assert_allclose(ball.project(CENTER, inside), inside, atol=1e-6)
    np.testing.assert_allclose(distance(norm, ball.project(CENTER, CENTER + 3), CENTER), 0.5, atol=1e-6)


def test_by_hand() -> None:
    """A radius for each state; pixels stay within [0, 1]."""
    states, ball = jnp.array([[0.5, 0.5], [0.9, 0.1]]), Ball(jnp.array([0.1, 0.2]), "linf", 0.0, 1.0)
    np.testing.assert_allclose(ball.interval(states), [[[0.4, 0.4], [0.7, 0.0]], [[0.6, 0.6], [1.0, 0.3]]], atol=1e-6)
    np.testing.assert_allclose(
        ball.project(states, states + jnp.array([0.15, -1])), [[0.6, 0.4], [1.0, 0.0]], atol=1e-6
    )
    euclidean = Ball(5.0, "l2")
    np.testing.assert_allclose(euclidean.project(jnp.zeros((1, 2)), jnp.array([[6.0, 8.0]])), [[3, 4]], atol=1e-5)
    np.testing.assert_allclose(euclidean.direction(jnp.array([[6.0, -8.0], [0, 0]])), [[0.6, -0.8], [0, 0]], atol=1e-6)


def test_samples_fill_the_ball() -> None:
    """Uniform: mean distance to the center is d / (d + 1) of the radius; extremes are all the way out."""
    center, dimension = jnp.zeros((20_000, 3)), 3
    for norm in ("linf", "l2"):
        ball = Ball(2.0, norm)
        assert distance(norm, ball.sample(jax.random.key(0), center), center).mean() == pytest.approx(
            2 * dimension / (dimension + 1), abs=0.02
        )
        extreme = ball.sample_extreme(jax.random.key(0), center)
        np.testing.assert_allclose(distance(norm, extreme, center), 2.0, atol=1e-5)
        np.testing.assert_allclose(extreme.mean(axis=0), 0, atol=0.05)


def test_a_scheduled_radius_does_not_recompile() -> None:
    traces = []

    @eqx.filter_jit
    def project(ball: Ball, x: jax.Array) -> jax.Array:
        traces.append(1)
        return ball.project(jnp.zeros_like(x), x)

    for eps in (0, 0.1, np.float64(0.2), jnp.float32(0.3)):
        np.testing.assert_allclose(project(Ball(eps), jnp.ones((1, 2))), float(eps), atol=1e-6)
    assert len(traces) == 1


def test_unknown_norm() -> None:
    with pytest.raises(ValueError, match="l1"):
        Ball(0.1, "l1")  # type: ignore[arg-type]
