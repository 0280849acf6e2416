"""A_adv and the minimum over it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.bounds import (
    Ball,
    action_ball,
    action_box,
    action_mask,
    any_action,
    ascend,
    attacked_value,
    worst_action_in_box,
    worst_action_in_mask,
)
from wocar.types import Interval

STATES = jax.random.normal(jax.random.key(5), (8, 4))
METHODS = ("ibp", "crown", "pgd")

box_of = eqx.filter_jit(action_box)
mask_of = eqx.filter_jit(action_mask)


@eqx.filter_jit
def outputs_inside(network, ball: Ball) -> jax.Array:
    keys = jax.random.split(jax.random.key(7), 200)
    return jax.vmap(lambda key: jax.vmap(network)(ball.sample(key, STATES)))(keys)


@pytest.mark.parametrize("method", ["ibp", "crown"])
@settings(max_examples=10)
@given(seed=st.integers(0, 999), eps=st.floats(0, 0.5))
def test_the_box_holds_every_mean_within_the_range(build_dense, method, seed: int, eps: float) -> None:
    policy, low, high = build_dense([4, 8, 8, 2], "tanh", seed), jnp.array([-1.0, -0.2]), jnp.array([1.0, 0.4])
    box = box_of(policy, Ball(eps), STATES, low, high, method)
    means = jnp.clip(outputs_inside(policy, Ball(eps)), low, high)
    assert (means >= box.lower - 1e-4).all()
    assert (means <= box.upper + 1e-4).all()
    assert (box.lower >= low).all()
    assert (box.upper <= high).all()


def test_a_box_beyond_the_range_shrinks_to_its_edge(build_dense) -> None:
    policy = build_dense([4, 8, 8, 2], "tanh")
    policy = eqx.tree_at(lambda n: n[-1].bias, policy, jnp.array([50.0, -50.0]))
    box = box_of(policy, Ball(0.1), STATES, -1.0, 1.0, "crown")
    np.testing.assert_array_equal(box.lower, box.upper)
    np.testing.assert_array_equal(box.lower[0], [1, -1])


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=10)
@given(seed=st.integers(0, 999), eps=st.floats(0, 0.5))
def test_the_mask_holds_every_reachable_action(build_dense, method, seed: int, eps: float) -> None:
    scores = build_dense([4, 8, 8, 5], "relu", seed)
    mask = np.asarray(mask_of(scores, Ball(eps), STATES, method))
    greedy = np.asarray(jax.vmap(scores)(STATES).argmax(axis=1))
    assert mask[np.arange(len(STATES)), greedy].all()
    if method != "pgd":
        taken = np.asarray(outputs_inside(scores, Ball(eps)).argmax(axis=2))
        assert mask[np.arange(len(STATES)), taken].all()


def test_without_a_radius_only_the_greedy_action_is_in(build_dense) -> None:
    scores = build_dense([4, 8, 8, 5], "relu")
    for method in METHODS:
        mask = mask_of(scores, Ball(0.0), STATES, method)
        np.testing.assert_array_equal(mask, jax.nn.one_hot(jax.vmap(scores)(STATES).argmax(axis=1), 5, dtype=bool))


def test_a_searched_set_holds_what_a_grid_over_the_ball_finds_and_nothing_else(build_dense) -> None:
    """Bounds of each score alone allow actions that no point of the ball causes."""
    scores, states = build_dense([2, 32, 32, 5], "tanh", 3), 2 * jax.random.normal(jax.random.key(1), (60, 2))
    edge = jnp.linspace(-0.4, 0.4, 41)
    grid = jnp.stack(jnp.meshgrid(edge, edge), axis=-1).reshape(-1, 1, 2)
    caused = jax.vmap(jax.vmap(scores))(states + grid).argmax(axis=2)
    true = np.asarray(jax.nn.one_hot(caused, 5, dtype=bool).any(axis=0))
    found, allowed = (np.asarray(mask_of(scores, Ball(0.4), states, method)) for method in ("pgd", "crown"))
    assert not (found & ~allowed).any() and (allowed & ~true).sum() > 10
    assert (true & ~found).sum() <= 0.01 * true.sum() and (found & ~true).sum() <= 0.01 * true.sum()


def test_discrete_by_hand() -> None:
    q_values = jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    mask = jnp.array([[False, True, True], [True, False, False]])
    np.testing.assert_array_equal(worst_action_in_mask(q_values, mask), [1, 0])
    greedy = jnp.array([2, 0])
    np.testing.assert_allclose(attacked_value(q_values, worst_action_in_mask(q_values, mask), greedy), [2, 3])
    np.testing.assert_allclose(
        attacked_value(q_values, worst_action_in_mask(q_values, any_action(q_values)), greedy, 0.25), [2.5, 2.5]
    )


def test_action_ball_by_hand() -> None:
    box = action_ball(jnp.array([[0.0, 0.9], [-3.0, 0.5]]), 0.25, jnp.array([-1.0, -1.0]), jnp.array([1.0, 1.0]))
    np.testing.assert_allclose(box.lower, [[-0.25, 0.65], [-1.0, 0.25]])
    np.testing.assert_allclose(box.upper, [[0.25, 1.0], [-1.0, 0.75]])


def critic_and_boxes(build_dense, actions: int) -> tuple:
    """A random critic, a start, and boxes around it up to 1 wide."""
    network = build_dense([4 + actions, 32, 32, 1], "tanh", seed=actions)
    a, b, c = jax.random.split(jax.random.key(actions), 3)
    obs, lower = jax.random.normal(a, (64, 4)), -jax.random.uniform(b, (64, actions)) / 2
    box = Interval(lower, lower + jax.random.uniform(c, (64, actions), minval=0.5))

    def q(action: jax.Array) -> jax.Array:
        return jax.vmap(network)(jnp.concatenate([obs, action], axis=1))[:, 0]

    return q, jnp.zeros((64, actions)), box


@pytest.mark.parametrize("actions", [1, 2, 3])
def test_the_worst_action_is_near_that_of_a_dense_grid(build_dense, actions: int) -> None:
    """Of the drop from the clean action to the grid's minimum, at most 3 % is missed on average."""
    q, start, box = critic_and_boxes(build_dense, actions)
    side = np.linspace(0, 1, {1: 2001, 2: 41, 3: 15}[actions])
    grid = np.stack(np.meshgrid(*[side] * actions, indexing="ij"), axis=-1).reshape(-1, 1, actions)
    least = jax.jit(lambda g: jax.lax.map(lambda t: q(box.lower + t * (box.upper - box.lower)), g).min(axis=0))(grid)
    action = jax.jit(lambda start, box: worst_action_in_box(q, start, box))(start, box)
    assert (action >= box.lower).all()
    assert (action <= box.upper).all()
    clean, found = q(jnp.clip(start, *box)), q(action)
    assert (found <= clean).all()
    assert (found - least).mean() < 0.03 * (clean - least).mean()


def test_ten_shrinking_steps_end_no_higher_than_fifty_equal_ones(build_dense) -> None:
    q, start, box = critic_and_boxes(build_dense, 3)
    fifty = ascend(
        lambda a: -q(a),
        jnp.clip(start, *box),
        lambda a: jnp.clip(a, *box),
        steps=50,
        step_size=(box.upper - box.lower) / 50,
        keep_best=True,
    )
    assert q(worst_action_in_box(q, start, box)).mean() <= q(fifty).mean() + 1e-3


def test_an_empty_box_returns_its_point() -> None:
    point = jnp.array([[0.3, -0.2]])
    found = worst_action_in_box(lambda a: a.sum(axis=1), jnp.zeros((1, 2)), Interval(point, point))
    np.testing.assert_allclose(found, point)
