"""Bounds by hand, their order, their gradients, and what they refuse."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from equinox import nn

from wocar.bounds import Ball, network_bounds
from wocar.bounds.interval import interval_bounds
from wocar.types import Interval

OUTSIDE = ("ibp", "crown-ibp", "crown")

bounds = eqx.filter_jit(network_bounds)


def test_by_hand(build_dense) -> None:
    """relu(x + y) - relu(x - y) for x in [-1, 1], y in [1, 3], so x + y in [0, 4] and x - y in [-4, 0].

    IBP: [0, 4] - [0, 0]. l_2 ball of radius 1 around (0, 2): x + y in 2 +- sqrt(2), x - y < 0.
    """
    network, weights = build_dense([2, 2, 1], "relu"), (jnp.array([[1.0, 1], [1, -1]]), jnp.array([[1.0, -1]]))
    biases = jnp.zeros(2), jnp.zeros(1)
    network = eqx.tree_at(lambda n: (n[0].weight, n[2].weight, n[0].bias, n[2].bias), network, weights + biases)
    state = jnp.array([[0.0, 2.0]])
    for method in OUTSIDE:
        np.testing.assert_allclose(bounds(network, Ball(1.0), state, method), [[[0]], [[4]]], atol=1e-6)
        in_l2 = bounds(network, Ball(1.0, "l2"), state, method)
        np.testing.assert_allclose(in_l2, [[[2 - 2**0.5]], [[2 + 2**0.5]]], atol=1e-6)


def test_linear_relaxation_is_exact_on_a_linear_network(build_dense) -> None:
    """Two dense layers without an activation: one matrix; IBP is loose, following back is not."""
    network, state, eps = build_dense([3, 8, 2], "tanh"), jnp.ones((1, 3)), 0.2
    network = nn.Sequential([network[0], nn.Identity(), network[2]])
    reach = eps * jnp.abs(network[2].weight @ network[0].weight).sum(axis=1)
    output = jax.vmap(network)(state)
    np.testing.assert_allclose(bounds(network, Ball(eps), state, "crown"), [output - reach, output + reach], atol=1e-5)
    assert (bounds(network, Ball(eps), state, "ibp").upper > output + reach + 0.01).all()


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_wider_balls_have_wider_bounds(build_dense, norm) -> None:
    """IBP point by point; the slopes of linear relaxation change with the radius, there the widths grow on average."""
    network, states = build_dense([4, 8, 8, 3], "tanh"), jax.random.normal(jax.random.key(0), (16, 4))
    for method in OUTSIDE:
        inner, outer = (bounds(network, Ball(eps, norm), states, method) for eps in (0.1, 0.13))
        assert (outer.upper - outer.lower).mean() > (inner.upper - inner.lower).mean()
        if method == "ibp":
            assert (outer.lower <= inner.lower).all()
            assert (outer.upper >= inner.upper).all()


def test_an_l2_ball_is_inside_the_linf_ball(build_dense) -> None:
    network, states = build_dense([4, 8, 8, 3], "tanh"), jax.random.normal(jax.random.key(0), (16, 4))
    for method in OUTSIDE:
        small, large = (bounds(network, Ball(0.1, norm), states, method) for norm in ("l2", "linf"))
        assert (small.lower >= large.lower - 1e-6).all()
        assert (small.upper <= large.upper + 1e-6).all()
        assert (small.upper - small.lower).mean() < 0.8 * (large.upper - large.lower).mean()


@pytest.mark.parametrize(("activation", "norm"), [("tanh", "linf"), ("relu", "l2")])
@pytest.mark.parametrize("method", OUTSIDE)
def test_gradients_are_finite(build_dense, activation, method, norm) -> None:
    """With no radius, with some, and with dead neurons: the length of a zero row has no derivative."""
    network = build_dense([4, 8, 8, 3], activation)
    dead = eqx.tree_at(lambda n: (n[0].weight, n[0].bias), network, replace_fn=lambda x: x.at[:4].set(0.0))
    states = jax.random.normal(jax.random.key(0), (4, 4))

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(network: nn.Sequential, eps: jax.Array) -> jax.Array:
        box = network_bounds(network, Ball(eps, norm), states, method)
        return jnp.sum(box.upper - box.lower) + jnp.sum(box.upper**2)

    for weights in (network, dead):
        for eps in (jnp.float32(0), jnp.float32(1e-7), jnp.float32(0.2)):
            leaves = jax.tree.leaves(eqx.filter(gradient(weights, eps), eqx.is_array))
            assert all(np.isfinite(leaf).all() for leaf in leaves)
            assert any((leaf != 0).any() for leaf in leaves)


@pytest.mark.parametrize("method", [*OUTSIDE, "pgd"])
def test_without_a_radius_the_gradient_is_the_output_s(build_dense, method) -> None:
    network, states = build_dense([4, 8, 3], "tanh"), jax.random.normal(jax.random.key(0), (4, 4))

    def gradient(output) -> list[jax.Array]:
        value = eqx.filter_grad(lambda network: (output(network) ** 2).sum())
        return jax.tree.leaves(eqx.filter(eqx.filter_jit(value)(network), eqx.is_array))

    exact = gradient(lambda network: jax.vmap(network)(states))
    ours = gradient(lambda network: network_bounds(network, Ball(0.0), states, method).upper)
    for a, b in zip(ours, exact, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_a_batch_of_any_size_is_its_states_one_by_one(build_dense, monkeypatch) -> None:
    monkeypatch.setattr("wocar.bounds.linear.CACHED_FLOATS", 3 * 64)
    network, states = build_dense([3, 8, 8, 2], "tanh"), jax.random.normal(jax.random.key(0), (7, 3))
    eps = jnp.linspace(0.0, 0.3, 7)
    together = bounds(network, Ball(eps), states, "crown")
    for i in range(7):
        alone = bounds(network, Ball(eps[i]), states[i : i + 1], "crown")
        np.testing.assert_allclose([side[i] for side in together], [side[0] for side in alone], atol=1e-5)


def test_a_pixel_seen_twice_counts_twice() -> None:
    """A 1 x 3 kernel of ones over two pixels, replicated at the edges: 2x + y, so an l_2 ball reaches sqrt(5) eps."""
    conv = nn.Conv2d(1, 1, (1, 3), padding=((0, 0), (1, 1)), padding_mode="REPLICATE", key=jax.random.key(0))
    conv = eqx.tree_at(lambda x: (x.weight, x.bias), conv, (jnp.ones((1, 1, 1, 3)), jnp.zeros((1, 1, 1))))
    for method in OUTSIDE:
        box = bounds(nn.Sequential([conv]), Ball(1.0, "l2"), jnp.zeros((1, 1, 1, 2)), method)
        assert (box.upper >= 5**0.5 - 1e-6).all()


def test_unknown_layers_and_methods_are_named(build_dense) -> None:
    network = nn.Sequential([nn.Linear(2, 2, key=jax.random.key(0)), nn.Lambda(jnp.cos)])
    for method in OUTSIDE:
        with pytest.raises(TypeError, match="cos"):
            network_bounds(network, Ball(0.1), jnp.ones((1, 2)), method)
    with pytest.raises(TypeError, match="LayerNorm"):
        interval_bounds(nn.Sequential([nn.LayerNorm(2)]), Ball(0.1), jnp.ones((1, 2)))
    with pytest.raises(ValueError, match="magic"):
        network_bounds(network, Ball(0.1), jnp.ones((1, 2)), "magic")  # type: ignore[arg-type]


def test_bounds_are_intervals(build_dense) -> None:
    box = bounds(build_dense([2, 4, 3], "tanh"), Ball(0.1), np.zeros((5, 2), np.float32))
    assert isinstance(box, Interval)
    assert box.lower.shape == (5, 3)
    assert box.lower.dtype == jnp.float32
