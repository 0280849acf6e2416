"""Networks against NumPy and SciPy: normaliser, initialisation, host functions, distributions."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wocar.bounds import Ball, network_bounds
from wocar.networks import (
    ActionCritic,
    CategoricalPolicy,
    DiscreteCritic,
    GaussianPolicy,
    GreedyPolicy,
    PixelNormaliser,
    RunningNormaliser,
    ScaledNormaliser,
    SquashedPolicy,
    ValueCritic,
    cnn,
    conv2d,
    forward,
    host_function,
    mlp,
    uniform_weights,
)
from wocar.networks.convolution import PatchConv2d
from wocar.networks.layers import build_layers, describe_layers

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
OBS = RNG.standard_normal((7, 5)).astype(np.float32)


def in_batches(data: np.ndarray, cuts: list[int]) -> RunningNormaliser:
    """The normaliser after seeing data cut at the given places."""
    normaliser = RunningNormaliser.create(data.shape[1:])
    for part in np.split(data, sorted(cuts)):
        normaliser = normaliser.update(part) if len(part) else normaliser
    return normaliser


@given(
    arrays(np.float64, st.tuples(st.integers(2, 30), st.just(2)), elements=st.floats(-1e3, 1e3)),
    st.lists(st.integers(0, 30), max_size=5),
)
@settings(max_examples=60)
def test_the_normaliser_is_mean_and_sample_std_however_the_data_come(data: np.ndarray, cuts: list[int]) -> None:
    normaliser = in_batches(data, cuts)
    assert normaliser.count == len(data)
    np.testing.assert_allclose(normaliser.mean, data.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(normaliser.std, data.std(axis=0, ddof=1), rtol=1e-9, atol=1e-9)


@given(st.floats(-1e6, 1e6), st.lists(st.integers(1, 9), min_size=1, max_size=6))
@settings(max_examples=60)
def test_a_dimension_that_never_changes_gives_exactly_zero(value: float, sizes: list[int]) -> None:
    normaliser = RunningNormaliser.create((2,))
    for size in sizes:
        normaliser = normaliser.update(np.stack([np.full(size, value), np.arange(size)], axis=1))
    assert normaliser(np.array([[value, 0.0]]))[0, 0] == 0.0
    assert normaliser.std[0] == 0.0 or normaliser.count < 2


def test_the_normaliser_clips_and_starts_as_the_identity() -> None:
    fresh = RunningNormaliser.create((2,), clip=3.0)
    np.testing.assert_allclose(fresh(np.array([[1.5, -7.0]])), [[1.5, -3.0]], rtol=1e-6)
    assert fresh(np.zeros((1, 2))).dtype == np.float32
    seen = fresh.update(np.array([[0.0, 1.0], [2.0, 3.0]]))
    np.testing.assert_allclose(seen(np.array([[1.0, 1e9]])), [[0.0, 3.0]])
    np.testing.assert_allclose(seen(np.array([[1 + 2**0.5, 2.0]])), [[1.0, 0.0]], rtol=1e-6)


def test_constants_scale_as_another_library_would() -> None:
    normaliser = ScaledNormaliser(np.array([1.0, 2.0]), np.array([2.0, 0.5]), clip=3.0)
    z = normaliser(np.array([[2.0, 1.5], [100.0, 2.0]]))
    np.testing.assert_allclose(z, [[0.5, -1.0], [3.0, 0.0]])
    assert z.dtype == np.float32
    assert normaliser.limits is None
    identity = ScaledNormaliser.identity((2,))
    np.testing.assert_array_equal(identity(np.float32([[1e30, -7.25]])), np.float32([[1e30, -7.25]]))


def test_pixels_lie_between_zero_and_one() -> None:
    normaliser = PixelNormaliser()
    z = normaliser(np.array([[0, 51, 255]], np.uint8))
    np.testing.assert_allclose(z, [[0.0, 0.2, 1.0]], rtol=1e-6)
    assert z.dtype == np.float32
    assert normaliser.limits == (0.0, 1.0)


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid"])
def test_the_host_function_equals_forward(activation: str) -> None:
    network = mlp([5, 8, 6, 3], KEY, activation=activation)
    x = np.concatenate([OBS, 300 * OBS])
    np.testing.assert_allclose(host_function(network)(x), forward(network, jnp.asarray(x)), rtol=1e-5, atol=1e-5)


def test_a_layer_the_host_does_not_know_still_runs() -> None:
    network = eqx.nn.Sequential([*mlp([5, 3], KEY).layers, eqx.nn.Lambda(jnp.cos)])
    np.testing.assert_allclose(host_function(network)(OBS), forward(network, jnp.asarray(OBS)), atol=1e-5)


def test_forward_is_the_network_on_every_row() -> None:
    network = mlp([5, 8, 3], KEY)
    np.testing.assert_allclose(forward(network, OBS), jax.vmap(network)(OBS), rtol=1e-6, atol=1e-6)


def test_weights_are_orthogonal_with_their_gains_and_biases_zero() -> None:
    layers = mlp([6, 8, 8, 3], KEY, head_gain=0.01).layers
    dense = [layer for layer in layers if isinstance(layer, eqx.nn.Linear)]
    for layer, gain in zip(dense, [2**0.5, 2**0.5, 0.01], strict=True):
        np.testing.assert_allclose(np.linalg.svd(layer.weight, compute_uv=False), gain, rtol=1e-5)
        assert not np.any(layer.bias)
    assert not np.allclose(dense[0].weight[:, :3], dense[1].weight[:, :3])
    policy = GaussianPolicy.create(5, 3, KEY, (8,))
    np.testing.assert_allclose(np.linalg.svd(policy.network.layers[-1].weight, compute_uv=False), 0.01, rtol=1e-5)


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid"])
def test_an_architecture_survives_its_description(activation: str) -> None:
    network = mlp([5, 8, 3], KEY, activation=activation)
    again = build_layers(describe_layers(network))
    assert jax.tree.structure(again) == jax.tree.structure(network)
    assert [x.shape for x in jax.tree.leaves(again) if hasattr(x, "shape")] == [(8, 5), (8,), (3, 8), (3,)]
    with pytest.raises(TypeError, match="no description"):
        describe_layers(eqx.nn.Sequential([eqx.nn.Lambda(jnp.cos)]))
    with pytest.raises(ValueError, match="unknown layer"):
        build_layers([{"kind": "cos"}])


PIXELS = RNG.random((2, 2, 12, 12)).astype(np.float32)
SMALL = {"channels": (3, 4), "kernels": (4, 3), "strides": (2, 1), "dense": 6}


def test_a_convolution_by_hand() -> None:
    """Corner sums of a 3 x 3 picture: the kernel [[1, 2], [3, 4]], bias 10, padded by nothing or by one zero."""
    picture = jnp.arange(9.0).reshape(1, 1, 3, 3)
    weight = np.array([[[[1, 2], [3, 4]]]])
    plain = forward(eqx.nn.Sequential([conv2d(weight, np.array([10.0]))]), picture)
    np.testing.assert_allclose(plain[0, 0], [[37, 47], [67, 77]])
    padded = forward(eqx.nn.Sequential([conv2d(weight, np.array([10.0]), (2, 2), (1, 1))]), picture)
    np.testing.assert_allclose(
        padded[0, 0], [[10, 10 + 3 + 2 * 4], [10 + 2 * 3 + 4 * 6, 10 + 4 + 2 * 5 + 3 * 7 + 4 * 8]]
    )


def test_a_cnn_runs_on_pictures_in_policies_and_critics() -> None:
    network = cnn((2, 12, 12), 3, KEY, **SMALL)
    assert forward(network, PIXELS).shape == (2, 3)
    np.testing.assert_allclose(forward(network, PIXELS), jax.vmap(network)(PIXELS), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(host_function(network)(PIXELS), forward(network, PIXELS), rtol=1e-5, atol=1e-6)
    assert GreedyPolicy(network).mode(PIXELS).shape == (2,)
    assert DiscreteCritic(network)(PIXELS).shape == (2, 3)
    assert ValueCritic(cnn((2, 12, 12), 1, KEY, **SMALL))(PIXELS).shape == (2,)
    with pytest.raises(ValueError, match="too small"):
        cnn((4, 8, 8), 3, KEY)


def test_the_default_cnn_is_dqns() -> None:
    described = describe_layers(cnn((4, 44, 44), 6, KEY))
    assert [d["kind"] for d in described] == ["conv2d", "relu"] * 3 + ["flatten", "linear", "relu", "linear"]
    assert [(d["in"], d["out"]) for d in described if "in" in d] == [(4, 32), (32, 64), (64, 64), (256, 512), (512, 6)]


def test_convolutions_are_orthogonal_and_survive_their_description() -> None:
    network = cnn((2, 12, 12), 3, KEY, **SMALL)
    first = network.layers[0]
    np.testing.assert_allclose(np.linalg.svd(first.weight.reshape(3, -1), compute_uv=False), 2**0.5, rtol=1e-5)
    assert not np.any(first.bias)
    padded = eqx.nn.Sequential([PatchConv2d(2, 3, (4, 3), (2, 1), (1, 2), key=KEY), *network.layers])
    again = build_layers(describe_layers(padded))
    assert jax.tree.structure(again) == jax.tree.structure(padded)
    shapes = [[x.shape for x in jax.tree.leaves(tree) if hasattr(x, "shape")] for tree in (again, padded)]
    assert shapes[0] == shapes[1]
    for odd in ({"dilation": 2}, {"groups": 2}, {"use_bias": False}, {"padding": "SAME"}, {"padding_mode": "CIRCULAR"}):
        with pytest.raises(TypeError, match="no description"):
            describe_layers(eqx.nn.Sequential([eqx.nn.Conv2d(2, 4, 3, key=KEY, **odd)]))


@pytest.mark.parametrize(
    "shape",
    [
        {"kernel_size": 8, "stride": 4},
        {"kernel_size": (4, 2), "stride": 2},
        {"kernel_size": (3, 5), "stride": (2, 3)},
        {"kernel_size": 2, "use_bias": False},
        {"kernel_size": 3, "padding": 1},
        {"kernel_size": 3, "padding": "SAME"},
        {"kernel_size": 3, "dilation": 2},
        {"kernel_size": 3, "groups": 2},
    ],
    ids=str,
)
def test_convolutions_by_patches_are_equinoxs(shape: dict[str, Any]) -> None:
    x = jax.random.normal(KEY, (5, 4, 21, 26))
    ours, theirs = PatchConv2d(4, 6, key=KEY, **shape), eqx.nn.Conv2d(4, 6, key=KEY, **shape)

    def loss(layer: eqx.nn.Conv2d, x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(jax.vmap(layer)(x)))

    np.testing.assert_allclose(jax.vmap(ours)(x), jax.vmap(theirs)(x), atol=1e-5)
    for wanted, found in zip(*(jax.tree.leaves(eqx.filter_grad(loss)(la, x)) for la in (theirs, ours)), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-3)
    np.testing.assert_allclose(jax.grad(loss, 1)(ours, x), jax.grad(loss, 1)(theirs, x), atol=1e-4)


def test_a_squashed_policy_stays_in_its_range_and_is_the_formula() -> None:
    body, low, high = mlp([5, 8, 2], KEY), jnp.array([-2.0, 0.0]), jnp.array([1.0, 0.5])
    policy = SquashedPolicy(body, low, high)
    expected = low + (jnp.tanh(forward(body, OBS)) + 1) / 2 * (high - low)
    np.testing.assert_allclose(policy.mode(OBS), expected, rtol=1e-5, atol=1e-6)
    far = policy.head(1e6 * OBS)
    assert np.all((far >= low - 1e-6) & (far <= high + 1e-6))


def test_bounds_of_a_squashed_policys_network_hold_its_actions() -> None:
    policy = SquashedPolicy(mlp([5, 8, 2], KEY), jnp.array([-2.0, 0.0]), jnp.array([1.0, 0.5]))
    ball = Ball(0.1)
    lower, upper = network_bounds(policy.network, ball, jnp.asarray(OBS))
    seen = policy.mode(ball.sample_extreme(KEY, jnp.asarray(OBS)))
    assert np.all((lower <= seen + 1e-6) & (seen <= upper + 1e-6))
    assert np.all(upper - lower < 0.5 * (policy.high - policy.low))


def test_feed_forward_policies_have_nothing_to_hold() -> None:
    for policy in (GaussianPolicy.create(5, 2, KEY), GreedyPolicy.create(5, 2, KEY)):
        assert policy.held(None) is policy
    assert isinstance(GreedyPolicy.create(5, 2, KEY), GreedyPolicy)


def test_gaussian_log_prob_and_entropy_are_scipys() -> None:
    policy = GaussianPolicy.create(5, 2, KEY, (8,), init_std=0.5)
    policy = eqx.tree_at(lambda p: p.log_std, policy, jnp.array([-1.0, 0.7]))
    actions = RNG.standard_normal((7, 2)).astype(np.float32)
    mean, std = np.asarray(policy.head(OBS), np.float64), np.exp([-1.0, 0.7])
    expected = scipy.stats.norm.logpdf(actions, mean, std).sum(axis=1)
    np.testing.assert_allclose(policy.log_prob(OBS, actions), expected, rtol=1e-5)
    entropy = scipy.stats.norm.entropy(scale=std).sum()
    np.testing.assert_allclose(policy.entropy(OBS), np.full(7, entropy), rtol=1e-5)
    np.testing.assert_array_equal(policy.mode(OBS), policy.head(OBS))


def test_categorical_log_prob_and_entropy_are_scipys() -> None:
    policy = CategoricalPolicy(mlp([5, 8, 4], KEY))
    actions = RNG.integers(0, 4, 7)
    p = scipy.special.softmax(np.asarray(policy.head(OBS), np.float64), axis=1)
    np.testing.assert_allclose(policy.log_prob(OBS, actions), np.log(p[np.arange(7), actions]), rtol=1e-5)
    np.testing.assert_allclose(policy.entropy(OBS), [scipy.stats.entropy(row) for row in p], rtol=1e-5)
    np.testing.assert_array_equal(policy.mode(OBS), p.argmax(axis=1))


def test_shapes_of_critics() -> None:
    actions = np.zeros((7, 2), np.float32)
    assert ValueCritic.create(5, KEY, (8,))(OBS).shape == (7,)
    assert ActionCritic.create(5, 2, KEY, (8,))(OBS, actions).shape == (7,)
    assert DiscreteCritic.create(5, 4, KEY, (8,))(OBS).shape == (7, 4)


def test_uniform_weights_stay_within_their_reach() -> None:
    network = uniform_weights(mlp([100, 50, 3], KEY, activation="relu"), KEY)
    for layer in (x for x in network.layers if isinstance(x, eqx.nn.Linear)):
        reach = layer.in_features**-0.5
        values = np.concatenate([np.ravel(layer.weight), np.ravel(layer.bias)]) / reach
        assert np.abs(values).max() <= 1
        assert scipy.stats.kstest(values, scipy.stats.uniform(-1, 2).cdf).pvalue > 1e-3
    again = uniform_weights(mlp([100, 50, 3], KEY, activation="relu"), KEY)
    np.testing.assert_array_equal(forward(network, jnp.ones((1, 100))), forward(again, jnp.ones((1, 100))))
