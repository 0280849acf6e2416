"""Bounds from outside hold everything that can be found from inside."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from equinox import nn
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.bounds import Ball, network_bounds
from wocar.types import Interval

TOLERANCE = 1e-4


@eqx.filter_jit
def outputs_inside(network: nn.Sequential, ball: Ball, states: jax.Array, key: jax.Array) -> jax.Array:
    """Outputs at the center, at samples and at extreme points: (points, B, outputs)."""
    keys = jax.random.split(key, 20)
    points = [jax.vmap(sample, in_axes=(0, None))(keys, states) for sample in (ball.sample, ball.sample_extreme)]
    return jax.lax.map(jax.vmap(network), jnp.concatenate([states[None], *points]))


bounds = eqx.filter_jit(network_bounds)


def check_inside(outputs: jax.Array, box: Interval) -> None:
    assert (box.lower <= box.upper).all()
    assert (outputs >= box.lower - TOLERANCE).all()
    assert (outputs <= box.upper + TOLERANCE).all()


def check(network: nn.Sequential, ball: Ball, states: jax.Array, seed: int) -> None:
    outputs = outputs_inside(network, ball, states, jax.random.key(seed))
    found = bounds(network, ball, states, "pgd")
    ibp = bounds(network, ball, states, "ibp")
    for method in ("ibp", "crown-ibp", "crown"):
        box = bounds(network, ball, states, method)
        check_inside(outputs, box)
        check_inside(jnp.stack(found), box)
        assert (box.lower >= ibp.lower - TOLERANCE).all()
        assert (box.upper <= ibp.upper + TOLERANCE).all()
        if not ball.eps:
            np.testing.assert_allclose(box, [outputs[0], outputs[0]], atol=1e-5)


seeds, scales = st.integers(0, 10_000), st.floats(0.1, 5)
radii = st.one_of(st.just(0.0), st.floats(1e-6, 0.5))
limits = st.sampled_from([(-np.inf, np.inf), (0.0, 1.0), (-np.inf, 0.9)])
factors = st.lists(st.sampled_from([0.0, 0.3, 1.0, 4.0]), min_size=4, max_size=4)


@pytest.mark.parametrize(("activation", "norm"), [("tanh", "linf"), ("relu", "l2")])
@settings(max_examples=25)
@given(seed=seeds, scale=scales, eps=radii, limits=limits)
def test_dense(build_dense, activation, norm, seed: int, scale: float, eps: float, limits: tuple) -> None:
    states = 0.9 * jax.random.uniform(jax.random.key(seed), (3, 4))
    ball = Ball(eps, norm, *(jnp.float32(limit) for limit in limits))
    check(build_dense([4, 8, 8, 3], activation, seed, scale), ball, states, seed)


@pytest.mark.parametrize(
    ("activation", "norm"), [("elu", "linf"), ("leaky-relu", "l2"), ("silu", "linf"), ("gelu", "l2")]
)
@settings(max_examples=25)
@given(seed=seeds, scale=scales, eps=radii)
def test_smooth_relus(build_dense, activation, norm, seed: int, scale: float, eps: float) -> None:
    states = jax.random.normal(jax.random.key(seed), (3, 4))
    network, ball = build_dense([4, 8, 3], activation, seed, scale), Ball(jnp.float32(eps), norm)
    outputs = outputs_inside(network, ball, states, jax.random.key(seed))
    for method in ("ibp", "crown"):
        check_inside(outputs, bounds(network, ball, states, method))


@pytest.mark.parametrize(("activation", "norm"), [("tanh", "linf"), ("tanh", "l2"), ("relu", "l2")])
@settings(max_examples=15)
@given(seed=seeds, eps=radii, limits=limits, factors=factors)
def test_dense_with_a_radius_for_each_dimension(
    build_dense, activation, norm, seed: int, eps: float, limits: tuple, factors: list[float]
) -> None:
    states = 0.9 * jax.random.uniform(jax.random.key(seed), (3, 4))
    ball = Ball(eps, norm, *(jnp.float32(limit) for limit in limits), jnp.array(factors))
    network = build_dense([4, 8, 8, 3], activation, seed)
    if any(factors):
        check(network, ball, states, seed)
    else:
        outputs = outputs_inside(network, ball, states, jax.random.key(seed))
        for method in ("ibp", "crown-ibp", "crown", "pgd"):
            np.testing.assert_allclose(bounds(network, ball, states, method), [outputs[0], outputs[0]], atol=1e-4)


@pytest.mark.parametrize("method", ["ibp", "crown-ibp", "crown"])
@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_bounds_of_one_layer_are_exact_whatever_the_radii(build_dense, method, norm) -> None:
    """A layer's range over the ball is w s + b ± eps ||w · scale||, the norm being the dual one."""
    network, states, scale = build_dense([4, 3], "tanh"), jnp.ones((2, 4)), jnp.array([0.0, 0.5, 1.0, 3.0])
    (layer,) = network.layers
    weight = layer.weight * scale  # type: ignore[attr-defined]
    reach = 0.2 * jnp.linalg.norm(weight, 1 if norm == "linf" else 2, axis=1)
    lower, upper = bounds(network, Ball(0.2, norm, scale=scale), states, method)
    here = jax.vmap(network)(states)
    np.testing.assert_allclose(lower, here - reach, atol=1e-5)
    np.testing.assert_allclose(upper, here + reach, atol=1e-5)


@pytest.mark.parametrize(("activation", "norm"), [("relu", "linf"), ("sigmoid", "l2")])
@settings(max_examples=10)
@given(seed=seeds, eps=radii)
def test_convolutional_with_a_radius_for_each_pixel(build_convolutional, activation, norm, seed: int, eps) -> None:
    states = 0.9 * jax.random.uniform(jax.random.key(seed), (2, 1, 7, 7))
    scale = jnp.maximum(jax.random.normal(jax.random.key(seed + 1), (1, 7, 7)), 0.0)
    check(build_convolutional(activation, seed), Ball(eps, norm, 0.0, 1.0, scale), states, seed)


@pytest.mark.parametrize(("activation", "norm"), [("relu", "linf"), ("sigmoid", "l2")])
@settings(max_examples=10)
@given(seed=seeds, scale=scales, eps=radii, limits=limits)
def test_convolutional(build_convolutional, activation, norm, seed: int, scale: float, eps: float, limits) -> None:
    states = 0.9 * jax.random.uniform(jax.random.key(seed), (2, 1, 7, 7))
    ball = Ball(eps, norm, *(jnp.float32(limit) for limit in limits))
    check(build_convolutional(activation, seed, scale), ball, states, seed)


@settings(max_examples=3)
@given(
    sizes=st.lists(st.sampled_from([1, 3, 8]), min_size=2, max_size=4),
    activation=st.sampled_from(["tanh", "relu", "sigmoid"]),
    norm=st.sampled_from(["linf", "l2"]),
    seed=seeds,
)
def test_any_depth_and_width(build_dense, sizes: list[int], activation, norm, seed: int) -> None:
    """No limits, a radius for each state, a last layer that saturates."""
    network = nn.Sequential([*build_dense(sizes, activation, seed).layers, nn.Lambda(jnp.tanh)])
    states, ball = jax.random.normal(jax.random.key(seed), (2, sizes[0])), Ball(jnp.array([0.1, 0.3]), norm)
    check_inside(outputs_inside(network, ball, states, jax.random.key(seed)), bounds(network, ball, states, "crown"))
