"""Projected ascent."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.bounds import Ball, ascend, ascend_in_ball, network_bounds
from wocar.bounds.search import shrinking

STATES = jnp.array([[0.0, 0.0], [1.0, -1.0]])
SLOPES = jnp.array([3.0, -4.0])


@pytest.mark.parametrize(("norm", "best"), [("linf", [0.5, -0.5]), ("l2", [0.3, -0.4])])
def test_a_linear_objective_is_solved_exactly(norm, best: list[float]) -> None:
    """The corner for l_inf, eps times the unit gradient for l_2: reached in `steps` steps of eps / steps."""
    found = ascend_in_ball(lambda x: x @ SLOPES, Ball(0.5, norm), STATES, STATES, steps=4)
    np.testing.assert_allclose(found - STATES, [best, best], atol=1e-6)


def test_zero_radius_stays() -> None:
    key = jax.random.key(0)
    for norm in ("linf", "l2"):
        found = ascend_in_ball(lambda x: x @ SLOPES, Ball(0.0, norm), STATES, STATES, steps=3, key=key)
        np.testing.assert_array_equal(found, STATES)


def test_last_or_best() -> None:
    """-x² from 0.1 with steps of 1: -0.9, 0.1, -0.9; the start is the best."""
    start = jnp.array([[0.1], [0.1]])

    def run(**options) -> jax.Array:
        return ascend(lambda x: -(x[:, 0] ** 2), start, lambda x: x, steps=3, step_size=1.0, **options)

    np.testing.assert_allclose(run(), -0.9, atol=1e-6)
    np.testing.assert_allclose(run(keep_best=True), 0.1, atol=1e-6)


def test_step_sizes_may_shrink() -> None:
    """1 + 0.5 + 0.25; and from the whole width to a fiftieth of it."""
    found = ascend(lambda x: x[:, 0], jnp.zeros((1, 1)), lambda x: x, steps=3, step_size=lambda k: 0.5**k)
    assert float(found[0, 0]) == pytest.approx(1.75)
    sizes = [float(shrinking(jnp.float32(3), 5)(k)) for k in range(5)]
    assert (sizes[0], sizes[-1]) == (pytest.approx(3), pytest.approx(0.06))
    assert sizes == sorted(sizes, reverse=True)


def test_langevin_noise() -> None:
    """Flat objective, steps not reduced to their sign: step k is normal with deviation a sqrt(2 a T) / (k + 2)."""
    start, a, temperature = jnp.zeros((1, 50_000)), 0.5, 0.25

    def after(steps: int) -> jax.Array:
        return ascend(
            lambda x: 0 * x.sum(axis=1),
            start,
            lambda x: x,
            steps=steps,
            step_size=a,
            direction=lambda gradient: gradient,
            key=jax.random.key(0),
            temperature=temperature,
        )

    assert float(after(1).std()) == pytest.approx(a * (2 * a * temperature) ** 0.5 / 2, rel=0.02)
    assert float((after(2) - after(1)).std()) == pytest.approx(a * (2 * a * temperature) ** 0.5 / 3, rel=0.02)


def test_no_gradient_flows_into_the_point_found() -> None:
    """d/dw of w x at the found x = 1 is x, whatever way the search came."""

    def value(w: jax.Array) -> jax.Array:
        x = ascend(lambda x: w * x[:, 0] ** 3, jnp.full((1, 1), 0.5) * w, lambda x: x, steps=1, step_size=w / 2)
        return (w * x[0, 0]).sum()

    assert float(jax.grad(value)(1.0)) == pytest.approx(1.0)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_searched_bounds_grow_from_the_output(build_dense, norm) -> None:
    """Each output's extremes: beyond the center's in every case, beyond the best of 2000 samples on average."""
    network, states = build_dense([4, 16, 3], "tanh"), jax.random.normal(jax.random.key(1), (40, 4))
    ball = Ball(jnp.linspace(0.1, 0.5, 40), norm)
    lower, upper = eqx.filter_jit(network_bounds)(network, ball, states, "pgd")
    keys = jax.random.split(jax.random.key(2), 2000)
    outputs = jax.vmap(lambda key: jax.vmap(network)(ball.sample(key, states)))(keys)
    output = jax.vmap(network)(states)
    assert (lower < output).all()
    assert (upper > output).all()
    assert (upper - lower).mean() > (outputs.max(axis=0) - outputs.min(axis=0)).mean()
