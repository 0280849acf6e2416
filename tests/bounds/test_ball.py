"""B_eps(s)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.bounds import Ball
from wocar.bounds.host_ball import HostBall

CENTER = jax.random.uniform(jax.random.key(0), (400, 2, 3))


SCALE = jnp.array([[1.0, 0.0, 2.0], [0.5, 0.0, 1.0]])
"""Dimensions with radii of their own; two cannot be moved."""


def distance(norm: str, x: jax.Array, center: jax.Array) -> np.ndarray:
    return np.linalg.norm(np.asarray(x - center).reshape(len(x), -1), np.inf if norm == "linf" else 2, axis=1)


def scaled_distance(norm: str, x: jax.Array, center: jax.Array) -> np.ndarray:
    """Of the movable dimensions, each divided by its scale."""
    movable = np.asarray(SCALE) > 0
    return distance(norm, np.asarray(x)[:, movable] / SCALE[movable], np.asarray(center)[:, movable] / SCALE[movable])


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


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("limits", [(None, None), (0.0, 1.0)])
@settings(max_examples=10)
@given(eps=st.floats(0, 2), seed=st.integers(0, 99))
def test_each_dimension_has_its_own_radius(norm, limits, eps: float, seed: int) -> None:
    ball, key = Ball(eps, norm, *limits, SCALE), jax.random.key(seed)
    outside = CENTER + 2 * jax.random.normal(key, CENTER.shape)
    lower, upper = ball.interval(CENTER)
    for x in (ball.sample(key, CENTER), ball.sample_extreme(key, CENTER), ball.project(CENTER, outside)):
        assert (scaled_distance(norm, x, CENTER) <= eps * (1 + 1e-5) + 1e-6).all()
        np.testing.assert_array_equal(np.where(SCALE > 0, 0, x), np.where(SCALE > 0, 0, CENTER))
        assert (x >= lower - 1e-6).all()
        assert (x <= upper + 1e-6).all()


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_a_scaled_ball_is_as_large_as_it_says(norm) -> None:
    """Projections end on its border, samples fill it, a step along `direction` is the steepest within it."""
    ball, key = Ball(0.5, norm, scale=SCALE), jax.random.key(1)
    inside = ball.sample(key, CENTER)
    np.testing.assert_allclose(ball.project(CENTER, inside), inside, atol=1e-6)
    far = CENTER + 3 + jax.random.uniform(key, CENTER.shape)
    np.testing.assert_allclose(scaled_distance(norm, ball.project(CENTER, far), CENTER), 0.5, atol=1e-5)
    np.testing.assert_allclose(scaled_distance(norm, ball.sample_extreme(key, CENTER), CENTER), 0.5, atol=1e-5)
    many = jnp.zeros((20_000, 2, 3))
    mean = scaled_distance(norm, ball.sample(key, many), many).mean()
    assert mean == pytest.approx(0.5 * 4 / 5, abs=0.01)  # four dimensions can be moved
    gradient = jax.random.normal(key, CENTER.shape)
    steepest = ball.radius(CENTER) * ball.direction(gradient)
    others = jax.vmap(lambda k: ball.sample_extreme(k, CENTER))(jax.random.split(key, 200)) - CENTER
    gains = jnp.sum(others * gradient, axis=(-2, -1))
    assert (jnp.sum(steepest * gradient, axis=(-2, -1)) >= gains.max(axis=0) - 1e-5).all()
    np.testing.assert_allclose(scaled_distance(norm, CENTER + steepest, CENTER), 0.5, atol=1e-5)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_shares_of_the_budget(norm) -> None:
    """All the way out is 1, whatever the radii; dimensions that cannot be moved do not count."""
    for ball in (Ball(0.5, norm), Ball(0.5, norm, scale=SCALE)):
        assert float(ball.used(CENTER, CENTER)) == 0
        assert float(ball.used(CENTER, ball.sample_extreme(jax.random.key(0), CENTER))) == pytest.approx(1, abs=1e-5)
        offset = ball.offset(CENTER, CENTER + ball.radius(CENTER) * 0.25)
        np.testing.assert_allclose(offset, np.where(ball.radius(CENTER) > 0, np.full(CENTER.shape, 0.25), 0), atol=1e-6)


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("limits", [(None, None), (0.0, 1.0)])
@pytest.mark.parametrize("scale", [None, SCALE])
def test_the_ball_in_numpy_is_the_same_ball(norm, limits, scale) -> None:
    ball = Ball(0.4, norm, *limits, scale)
    host, u = HostBall.of(ball), jax.random.normal(jax.random.key(0), CENTER.shape)
    expected = ball.project(CENTER, CENTER + ball.radius(CENTER) * u)
    center, step = np.asarray(CENTER), np.asarray(u)
    np.testing.assert_allclose(host.moved(center, host.in_unit_ball(step)), expected, atol=1e-6)
    np.testing.assert_allclose(host.direction(step), ball.direction(u), atol=1e-6)
    expected = ball.project(CENTER, CENTER + ball.radius(CENTER) * ball.direction(u))
    np.testing.assert_allclose(host.moved(center, host.direction(step)), expected, atol=1e-6)


def test_by_hand() -> None:
    """A radius for each state; pixels stay within [0, 1]."""
    states, ball = jnp.array([[0.5, 0.5], [0.9, 0.1]]), Ball(jnp.array([0.1, 0.2]), "linf", 0.0, 1.0)
    np.testing.assert_allclose(ball.interval(states), [[[0.4, 0.4], [0.7, 0.0]], [[0.6, 0.6], [1.0, 0.3]]], atol=1e-6)
    np.testing.assert_allclose(
        ball.project(states, states + jnp.array([0.15, -1])), [[0.6, 0.4], [1.0, 0.0]], atol=1e-6
    )
    euclidean = Ball(5.0, "l2")
    np.testing.assert_allclose(euclidean.project(jnp.zeros((1, 2)), jnp.array([[6.0, 8.0]])), [[3, 4]], atol=1e-5)
    ellipse = Ball(1.0, "l2", scale=jnp.array([2.0, 0.5]))
    np.testing.assert_allclose(ellipse.project(jnp.zeros((1, 2)), jnp.array([[6.0, 2.0]])), [[1.2, 0.4]], atol=1e-6)
    np.testing.assert_allclose(ellipse.direction(jnp.array([[1.5, 8.0]])), [[0.6, 0.8]], atol=1e-6)
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
