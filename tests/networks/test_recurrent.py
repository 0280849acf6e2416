"""Networks with a memory: the cell against arithmetic and PyTorch, the host against JAX, the held policy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from wocar.networks import (
    LSTMState,
    RecurrentCritic,
    RecurrentNetwork,
    RecurrentPolicy,
    host_step,
    linear,
    lstm_cell,
    mlp,
    reset_state,
)
from wocar.networks.recurrent import lstm_step

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
SEEN = RNG.standard_normal((6, 3, 5)).astype(np.float32)
"""Six steps of three episodes, five numbers each."""


def lively(policy: RecurrentPolicy) -> RecurrentPolicy:
    """Weights large enough that gates saturate and the memory matters."""
    return jax.tree.map(lambda x: 3 * x, policy)


def test_one_step_of_the_cell_by_hand() -> None:
    """One input, one unit: i, f, g, o = 1x, 2x, 3x, 4x + h at x = 0.5, h = 0.2, c = -1."""
    cell = lstm_cell(np.array([[1.0], [2], [3], [4]]), np.array([[0.0], [0], [0], [1]]), np.array([0, 0, 0, 0.1]))
    after = lstm_step(cell, jnp.array([[0.5]]), LSTMState(jnp.array([[0.2]]), jnp.array([[-1.0]])))
    sigma = scipy.special.expit
    c = sigma(1.0) * -1.0 + sigma(0.5) * np.tanh(1.5)
    np.testing.assert_allclose(after.c, [[c]], rtol=1e-6)
    np.testing.assert_allclose(after.h, [[sigma(2.3) * np.tanh(c)]], rtol=1e-6)


@pytest.mark.oracle
def test_the_cell_is_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.manual_seed(0)
    theirs = torch.nn.LSTM(5, 4)
    with torch.no_grad():
        outputs, (h, c) = theirs(torch.from_numpy(SEEN))
    weights = [p.detach().numpy() for p in theirs.parameters()]
    cell = lstm_cell(weights[0], weights[1], weights[2] + weights[3])
    state = LSTMState(*np.zeros((2, 3, 4), np.float32))
    for z, expected in zip(SEEN, outputs.numpy(), strict=True):
        state = lstm_step(cell, z, state)
        np.testing.assert_allclose(state.h, expected, atol=1e-6)
    np.testing.assert_allclose(state.h, h.numpy()[0], atol=1e-6)
    np.testing.assert_allclose(state.c, c.numpy()[0], atol=1e-6)


def test_the_host_remembers_as_jax_does() -> None:
    network = lively(RecurrentPolicy.create(5, 2, KEY, hidden=8)).network
    network = eqx.tree_at(lambda n: n.embedding, network, mlp([5, 7, 8], KEY, activation="relu"))
    host, here, there = host_step(network), network.start(3), network.start(3)
    outputs = []
    for z in SEEN:
        ours, here = host(z, here)
        theirs, there = network.step(z, there)
        outputs.append(ours)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(here, there, rtol=1e-5, atol=1e-6)
    fresh, _ = host(SEEN[-1], network.start(3))
    assert np.abs(fresh - outputs[-1]).max() > 0.1


ENDS = np.array([[0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]], bool)


@pytest.mark.parametrize("chunk", [1, 4, 100])
def test_unrolled_is_step_by_step_with_a_fresh_memory_after_each_end(chunk: int) -> None:
    network = lively(RecurrentPolicy.create(5, 2, KEY, hidden=8)).network
    _, start = network.step(RNG.standard_normal((3, 5)).astype(np.float32), network.start(3))
    outputs, after = network.unroll(SEEN.swapaxes(0, 1), start, ENDS, chunk)
    state = start
    for t, z in enumerate(SEEN):
        out, state = network.step(z, state)
        np.testing.assert_allclose(outputs[:, t], out, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose([x[:, t] for x in after], state, rtol=1e-5, atol=1e-6)
        state = reset_state(state, ENDS[:, t])


def test_gradients_flow_back_to_the_start_of_a_chunk_and_of_an_episode() -> None:
    """By which earlier observations the last output of a sequence is moved, as far as gradients see."""
    network = lively(RecurrentPolicy.create(5, 2, KEY, hidden=8)).network

    def reach(chunk: int, at: int) -> list[list[bool]]:
        def last_output(z: jax.Array) -> jax.Array:
            return network.unroll(z, network.start(3), ENDS, chunk)[0][:, at].sum()

        gradient = jax.grad(last_output)(jnp.asarray(SEEN.swapaxes(0, 1)))
        return np.any(np.asarray(gradient) != 0, axis=-1).astype(int).tolist()

    assert reach(100, 5) == [[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]]
    assert reach(2, 5) == [[0, 0, 0, 0, 1, 1]] * 3
    assert reach(4, 5) == [[0, 0, 0, 0, 1, 1]] * 3
    assert reach(4, 3) == [[0, 0, 0, 1, 0, 0], [0, 1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]]


def test_gates_that_saturate_do_not_overflow_on_the_host() -> None:
    network = RecurrentNetwork.create(5, 2, KEY, hidden=4)
    with np.errstate(all="raise"):
        out, state = host_step(network)(1e8 * SEEN[0], network.start(3))
    np.testing.assert_allclose(out, network.step(1e8 * SEEN[0], network.start(3))[0], rtol=1e-5, atol=1e-6)
    assert np.isfinite(state).all()


def test_the_published_shape_has_a_small_linear_embedding_and_no_activation() -> None:
    network = RecurrentPolicy.create(5, 2, KEY, hidden=8).network
    embed, out = (part.layers for part in (network.embedding, network.output))
    assert len(embed) == len(out) == 1
    np.testing.assert_allclose(np.linalg.svd(embed[0].weight, compute_uv=False), 0.01, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.svd(out[0].weight, compute_uv=False), 1.0, rtol=1e-5)
    assert np.abs(network.cell.weight_hh).max() <= 8**-0.5


@pytest.mark.parametrize("rows", [[1], [False, True, False], np.array([1])])
def test_reset_zeroes_rows_and_leaves_the_old_state_alone(rows: list) -> None:
    state = LSTMState(np.ones((3, 4)), np.ones((3, 4)))
    fresh = reset_state(state, np.asarray(rows))
    for x in fresh:
        np.testing.assert_array_equal(x, np.array([1, 0, 1])[:, None] * np.ones(4))
    assert np.all(np.array(state) == 1)
    assert reset_state(None, np.asarray(rows)) is None


def test_a_held_policy_is_the_policy_at_that_moment() -> None:
    policy = lively(RecurrentPolicy.create(5, 2, KEY, hidden=8, init_std=0.5))
    _, state = policy.step(SEEN[0], policy.start(3))
    held = policy.held(state)
    expected, after = policy.step(SEEN[1], state)
    np.testing.assert_array_equal(held.head(SEEN[1]), expected)
    np.testing.assert_array_equal(held.mode(SEEN[1]), expected)
    np.testing.assert_array_equal(held.head(SEEN[1]), expected)  # looking does not move it
    assert np.abs(policy.held(after).head(SEEN[1]) - expected).max() > 1e-3
    actions, std = RNG.standard_normal((3, 2)).astype(np.float32), np.exp(held.log_std)
    logp = scipy.stats.norm.logpdf(actions, np.asarray(expected), std).sum(axis=1)
    np.testing.assert_allclose(held.log_prob(SEEN[1], actions), logp, rtol=1e-5)
    np.testing.assert_allclose(held.entropy(SEEN[1]), np.full(3, scipy.stats.norm.entropy(scale=std).sum()), rtol=1e-5)
    assert not held.discrete


def test_a_held_policy_with_discrete_actions() -> None:
    policy = lively(RecurrentPolicy.create(5, 4, KEY, hidden=8, init_std=None))
    held = policy.held(policy.step(SEEN[0], policy.start(3))[1])
    p = scipy.special.softmax(np.asarray(held.head(SEEN[1]), np.float64), axis=1)
    actions = np.array([0, 3, 1])
    np.testing.assert_allclose(held.log_prob(SEEN[1], actions), np.log(p[np.arange(3), actions]), rtol=1e-5)
    np.testing.assert_allclose(held.entropy(SEEN[1]), scipy.stats.entropy(p, axis=1), rtol=1e-5)
    np.testing.assert_array_equal(held.mode(SEEN[1]), p.argmax(axis=1))
    assert held.discrete
    assert held.log_std is None


def test_a_held_policy_passes_through_jit_and_gradients_row_by_row() -> None:
    policy = lively(RecurrentPolicy.create(5, 2, KEY, hidden=8))
    _, state = policy.step(SEEN[0], policy.start(3))
    gradient = eqx.filter_jit(lambda policy, z: jax.grad(lambda z: policy.head(z)[1].sum())(z))(
        policy.held(state), jnp.asarray(SEEN[1])
    )
    gradient = np.asarray(gradient)
    assert np.abs(gradient[1]).max() > 0
    assert not np.any(gradient[[0, 2]])


def test_the_critic_gives_a_number_per_row() -> None:
    critic = RecurrentCritic.create(5, KEY, hidden=4)
    value, state = critic.step(SEEN[0], critic.start(3))
    assert value.shape == (3,)
    np.testing.assert_allclose(critic.held(state)(SEEN[1]), critic.step(SEEN[1], state)[0])


def test_a_linear_layer_of_given_weights_embeds() -> None:
    network = RecurrentNetwork.create(5, 2, KEY, hidden=4)
    eye = eqx.nn.Sequential([linear(np.eye(4, 5), np.zeros(4))])
    moved = eqx.tree_at(lambda n: n.embedding, network, eye)
    state = network.start(3)
    expected = lstm_step(network.cell, SEEN[0, :, :4], state)
    np.testing.assert_allclose(moved.step(SEEN[0], state)[1], expected, rtol=1e-6)


def test_onward_adds_the_moments_after_some_rows() -> None:
    policy = lively(RecurrentPolicy.create(5, 2, KEY, hidden=8))
    before = policy.step(SEEN[0], policy.start(3))[1]
    after = policy.step(SEEN[1], before)[1]
    rows = jnp.array([2, 0])
    both = policy.held(before).onward(jnp.asarray(SEEN[1]), rows)
    shown = jnp.concatenate([jnp.asarray(SEEN[1]), jnp.asarray(SEEN[2])[rows]])
    expected = jnp.concatenate([policy.step(SEEN[1], before)[0], policy.step(SEEN[2], after)[0][rows]])
    np.testing.assert_allclose(both.head(shown), expected, rtol=1e-5, atol=1e-6)
