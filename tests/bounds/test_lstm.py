"""Bounds through an LSTM whose state is held: no perturbation leaves them, slopes tighten them, products by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.bounds import Ball, BoundMethod, action_mask, network_bounds
from wocar.bounds.lstm import slope, times
from wocar.networks.recurrent import HeldNetwork, LSTMState, RecurrentNetwork
from wocar.types import Interval

ROWS, OBS, UNITS = 4, 3, 5


def held(seed: int, scale: float) -> HeldNetwork:
    """A network whose gates the observation moves, at random moments."""
    keys = jax.random.split(jax.random.key(seed), 3)
    network = RecurrentNetwork.create(OBS, 2, keys[0], UNITS)
    weight = scale * jax.random.normal(keys[1], (UNITS, OBS))
    network = eqx.tree_at(lambda n: n.embedding.layers[0].weight, network, weight)
    h, c = jax.random.normal(keys[2], (2, ROWS, UNITS))
    return HeldNetwork(network, LSTMState(jnp.tanh(h), 2 * c))


@eqx.filter_jit
def all_bounds(network: HeldNetwork, eps: jax.Array, obs: jax.Array) -> tuple[Interval, ...]:
    return tuple(network_bounds(network, Ball(eps), obs, m) for m in ("ibp", "crown", "pgd"))  # type: ignore[arg-type]


@eqx.filter_jit
def sampled(network: HeldNetwork, eps: jax.Array, obs: jax.Array, key: jax.Array) -> jax.Array:
    ball, keys = Ball(eps), jax.random.split(key, 16)
    inside = [network(ball.sample(k, obs)) for k in keys[:8]]
    return jnp.stack([*inside, *(network(ball.sample_extreme(k, obs)) for k in keys[8:])])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), eps=st.floats(0, 2), scale=st.floats(0.1, 4))
def test_bounds_hold_samples_and_what_a_search_finds(seed: int, eps: float, scale: float) -> None:
    network, obs = held(seed, scale), jax.random.normal(jax.random.key(seed), (ROWS, OBS))
    radius = jnp.float32(eps)
    ibp, crown, found = all_bounds(network, radius, obs)
    others = sampled(network, radius, obs, jax.random.key(seed + 1))
    for lower, upper in (ibp, crown):
        assert bool(jnp.all((lower - 1e-4 <= others) & (others <= upper + 1e-4)))
        assert bool(jnp.all((lower - 1e-4 <= found.lower) & (found.upper <= upper + 1e-4)))
    assert bool(jnp.all((ibp.lower <= crown.lower + 1e-5) & (crown.upper <= ibp.upper + 1e-5)))


@eqx.filter_jit
def bounds_and_samples(network: HeldNetwork, ball: Ball, obs: jax.Array, key: jax.Array) -> tuple:
    keys = jax.random.split(key, 16)
    inside = [*(ball.sample(k, obs) for k in keys[:8]), *(ball.sample_extreme(k, obs) for k in keys[8:])]
    methods: tuple[BoundMethod, ...] = ("ibp", "crown", "pgd")
    return *(network_bounds(network, ball, obs, m) for m in methods), jnp.stack([network(x) for x in inside])


@pytest.mark.parametrize("norm", ["linf", "l2"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), eps=st.floats(0, 2))
def test_bounds_hold_with_a_radius_for_each_dimension(norm, seed: int, eps: float) -> None:
    network, obs = held(seed, 1.0), jax.random.normal(jax.random.key(seed), (ROWS, OBS))
    scale = jnp.maximum(jax.random.normal(jax.random.key(seed + 2), (OBS,)), 0.0)
    ball = Ball(eps, norm, -1.0, 1.0, scale)
    ibp, crown, found, others = bounds_and_samples(network, ball, jnp.clip(obs, -1, 1), jax.random.key(seed + 1))
    for lower, upper in (ibp, crown):
        assert bool(jnp.all((lower - 1e-4 <= others) & (others <= upper + 1e-4)))
        assert bool(jnp.all((lower - 1e-4 <= found.lower) & (found.upper <= upper + 1e-4)))


def test_slopes_find_what_intervals_lose() -> None:
    network, obs = held(0, 1.0), jax.random.normal(jax.random.key(1), (ROWS, OBS))
    ibp, crown, found = (float(jnp.mean(b.upper - b.lower)) for b in all_bounds(network, jnp.float32(0.005), obs))
    assert found <= crown < 0.75 * ibp
    assert crown < 1.2 * found


def test_l2_is_within_linf_and_holds_its_own() -> None:
    network, obs = held(0, 1.0), jax.random.normal(jax.random.key(1), (ROWS, OBS))
    small, large = (network_bounds(network, Ball(0.3, norm), obs, "crown") for norm in ("l2", "linf"))
    assert bool(jnp.all((large.lower <= small.lower) & (small.upper <= large.upper)))
    out = network(Ball(0.3, "l2").sample_extreme(jax.random.key(2), obs))
    assert bool(jnp.all((small.lower - 1e-5 <= out) & (out <= small.upper + 1e-5)))


def test_a_mask_knows_each_moment() -> None:
    network, obs = held(0, 1.0), jnp.zeros((ROWS, OBS))
    greedy = jnp.argmax(network(obs), axis=-1)
    assert len(set(greedy.tolist())) == 2
    np.testing.assert_array_equal(action_mask(network, Ball(0.0), obs), jax.nn.one_hot(greedy, 2, dtype=bool))
    assert action_mask(network, Ball(5.0), obs).all()


def test_products_and_slopes_by_hand() -> None:
    product = times(
        Interval(jnp.array([-1.0, 2.0]), jnp.array([3.0, 4.0])), Interval(jnp.array([-2.0]), jnp.array([5.0]))
    )
    np.testing.assert_array_equal(product.lower, [-6.0, -8.0])
    np.testing.assert_array_equal(product.upper, [15.0, 20.0])
    found = slope(jnp.tanh, Interval(jnp.array([-1.0, 1.0]), jnp.array([2.0, 2.0])))
    np.testing.assert_allclose(found.lower, [1 - np.tanh(2.0) ** 2] * 2, rtol=1e-5)
    np.testing.assert_allclose(found.upper, [1.0, 1 - np.tanh(1.0) ** 2], rtol=1e-5)
