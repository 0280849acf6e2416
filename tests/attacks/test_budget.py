"""No attack leaves its budget, and every attack repeats itself."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.attacks import (
    PGD,
    CriticAction,
    CriticAttack,
    Disturbance,
    MaxDiff,
    MinBest,
    Perturbation,
    Random,
    RandomAction,
)
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.bounds import Ball
from wocar.networks import ActionCritic, CategoricalPolicy, DiscreteCritic, GaussianPolicy, ValueCritic
from wocar.networks.layers import linear
from wocar.types import ActionSpace

SIZE, ACTIONS = 5, 3
KEYS = jax.random.split(jax.random.key(1), 5)
CONTINUOUS = GaussianPolicy.create(SIZE, ACTIONS, KEYS[0], hidden=(8,))
DISCRETE = CategoricalPolicy.create(SIZE, ACTIONS, KEYS[1], hidden=(8,))
VALUE, Q = ValueCritic.create(SIZE, KEYS[2], hidden=(8,)), ActionCritic.create(SIZE, ACTIONS, KEYS[3], hidden=(8,))
DISCRETE_Q = DiscreteCritic.create(SIZE, ACTIONS, KEYS[4], hidden=(8,))
CASES = [
    (Random(), CONTINUOUS),
    (Random(extreme=True), CONTINUOUS),
    (MaxDiff(), CONTINUOUS),
    (MaxDiff(noise=0.0, wide_start=True), DISCRETE),
    (CriticAttack(VALUE), CONTINUOUS),
    (PGD(restarts=2), CONTINUOUS),
    (PGD(steps=30, random_start=True), DISCRETE),
    (MinBest(), DISCRETE),
    (MinBest(10), DISCRETE),
    (RobustSarsa(Q, maxdiff=0.1), CONTINUOUS),
    (RobustSarsa(DISCRETE_Q), DISCRETE),
]


@pytest.mark.parametrize(("norm", "limits"), [("linf", (0.0, 1.0)), ("l2", (0.0, 1.0)), ("linf", (None, None))])
@pytest.mark.parametrize(("attack", "policy"), CASES, ids=lambda x: type(x).__name__)
def test_attacks_stay_inside_and_repeat_themselves(attack: Any, policy: Any, norm: Any, limits: tuple) -> None:
    @settings(max_examples=3)
    @given(st.integers(0, 2**31), st.floats(0.0, 0.5))
    def check(seed: int, eps: float) -> None:
        obs = np.random.default_rng(seed).uniform(0, 1, (6, SIZE)).astype(np.float32)
        first, second = (Perturbation(attack, Ball(eps, norm, *limits), seed) for _ in range(2))
        shown = [first(policy, obs), first(policy, obs)]
        np.testing.assert_array_equal(shown, [second(policy, obs), second(policy, obs)])
        for x in shown:
            length = np.abs(x - obs).max(axis=1) if norm == "linf" else np.linalg.norm(x - obs, axis=1)
            assert x.shape == obs.shape
            assert (length <= eps + 1e-6).all()
            assert limits[0] is None or (x.min() >= 0 and x.max() <= 1)
        assert first.calls == 2
        assert 0 <= first.used <= 1 + 1e-4

    check()


def test_a_call_is_not_like_the_one_before_and_seeds_differ() -> None:
    obs, ball = np.zeros((4, SIZE), np.float32), Ball(0.1)
    one, other = Perturbation(Random(), ball, 0), Perturbation(Random(), ball, 1)
    first, second = one(CONTINUOUS, obs), one(CONTINUOUS, obs)
    assert (first != second).all()
    assert (other(CONTINUOUS, obs) != first).all()


def test_the_budget_used_by_chance_is_known() -> None:
    """Uniform in [-eps, eps]: half of it; corners: all of it; nothing where there is no budget."""
    obs = np.zeros((200, SIZE), np.float32)
    for attack, eps, used in ((Random(), 0.1, 0.5), (Random(True), 0.1, 1.0), (Random(True), 0.0, 0.0)):
        perturb = Perturbation(attack, Ball(eps), 0)
        for _ in range(5):
            perturb(CONTINUOUS, obs)
        assert abs(perturb.used - used) < 0.03


class Ages(NamedTuple):
    steps: jax.Array


class Older(eqx.Module):
    """Moves each state by the number of steps it remembers."""

    def start(self, n: int) -> Ages:
        return Ages(jnp.zeros((n, 1)))

    def perturb_carry(
        self, policy: Any, ball: Ball, obs: jax.Array, key: jax.Array, carry: Ages
    ) -> tuple[jax.Array, Ages]:
        return obs + carry.steps, Ages(carry.steps + 1)

    def perturb(self, policy: Any, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        raise AssertionError("an attack with memory is asked with it")


def test_memory_is_kept_from_step_to_step_and_forgotten_row_by_row() -> None:
    perturb, obs = Perturbation(Older(), Ball(10.0), 0), np.zeros((3, 2), np.float32)
    perturb.reset(np.arange(3), 3)
    seen = [perturb(CONTINUOUS, obs)[:, 0].tolist() for _ in range(2)]
    perturb.reset(np.array([1]), 3)
    seen += [perturb(CONTINUOUS, obs)[:, 0].tolist()]
    assert seen == [[0, 0, 0], [1, 1, 1], [2, 0, 2]]


BOX = ActionSpace(ACTIONS, -np.ones(ACTIONS, np.float32), np.ones(ACTIONS, np.float32))
LINEAR_Q = ActionCritic(eqx.nn.Sequential([linear(np.array([[0.0] * SIZE + [1.0, -2.0, 0.5]]), np.zeros(1))]))


@settings(max_examples=10)
@given(st.integers(0, 2**31), st.floats(0.0, 0.5), st.sampled_from([RandomAction(), CriticAction(Q)]))
def test_disturbed_actions_stay_near_and_go_no_further_out_of_range(seed: int, radius: float, attack: Any) -> None:
    rng = np.random.default_rng(seed)
    obs, actions = (rng.standard_normal((6, n)).astype(np.float32) for n in (SIZE, ACTIONS))
    first, second = (Disturbance(attack, radius, BOX, seed)(CONTINUOUS, obs, actions) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (np.abs(first - actions) <= radius + 1e-6).all()
    assert (np.abs(first) <= np.maximum(1, np.abs(actions))).all()


def test_the_worst_action_of_a_linear_critic() -> None:
    obs, actions = np.zeros((2, SIZE), np.float32), np.array([[0, 0, 0], [0.9, 0.9, -3.0]], np.float32)
    disturb = Disturbance(CriticAction(LINEAR_Q), 0.25, BOX, 0)
    expected = [[-0.25, 0.25, -0.25], [0.65, 1.0, -3.0]]
    np.testing.assert_allclose(disturb(CONTINUOUS, obs, actions), expected, rtol=1e-5)
    assert abs(disturb.used - (4 * 0.25 + 0.1) / 6 / 0.25) < 1e-5


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0])
def test_discrete_actions_are_replaced_with_the_given_probability(radius: float) -> None:
    bias = jnp.array([1.0, -1.0, 0.0])
    critic = eqx.tree_at(lambda c: c.network.layers[-1].bias, DISCRETE_Q, bias)
    critic = eqx.tree_at(lambda c: c.network.layers[-1].weight, critic, replace_fn=jnp.zeros_like)
    obs, actions = np.zeros((2000, SIZE), np.float32), np.full(2000, 2)
    disturb = Disturbance(CriticAction(critic), radius, ActionSpace(ACTIONS), 0)
    taken = disturb(DISCRETE, obs, actions)
    assert taken.dtype == actions.dtype
    assert set(taken.tolist()) <= {1, 2}
    assert abs((taken == 1).mean() - radius) < 0.05
    chance = Disturbance(RandomAction(), radius, ActionSpace(ACTIONS), 0)(DISCRETE, obs, actions)
    assert abs((chance != 2).mean() - radius * 2 / 3) < 0.05


def test_a_probability_is_at_most_one() -> None:
    with pytest.raises(ValueError, match="probability"):
        Disturbance(RandomAction(), 1.5, ActionSpace(ACTIONS), 0)
