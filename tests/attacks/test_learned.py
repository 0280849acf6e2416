"""Learned attacks: their formulas by hand on linear victims, host gradients, folders."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wocar.agent import Agent
from wocar.attacks.base import Perturbation
from wocar.attacks.learned import (
    Direction,
    PAADAttack,
    SARLAttack,
    TargetAction,
    load_attack,
    softmax_pull_back,
    sum_to_zero,
)
from wocar.bounds import Ball
from wocar.networks import CategoricalPolicy, GaussianPolicy
from wocar.networks.host_gradient import host_vjp
from wocar.networks.layers import ACTIVATIONS, forward, linear, mlp
from wocar.networks.normaliser import ScaledNormaliser
from wocar.networks.recurrent import RecurrentPolicy
from wocar.types import ActionSpace, EnvSpec, UserError

KEY = jax.random.key(0)
W = np.array([[1.0, -2.0, 0.0], [0.5, 3.0, -1.0]])
Z = np.array([[0.1, 0.2, -0.3], [1.0, -1.0, 2.0]], np.float32)


def gaussian(weight: np.ndarray, bias: np.ndarray | None = None) -> GaussianPolicy:
    network = eqx.nn.Sequential([linear(weight, np.zeros(len(weight)) if bias is None else bias)])
    return GaussianPolicy(network, jnp.zeros(len(weight)))


def categorical(weight: np.ndarray) -> CategoricalPolicy:
    return CategoricalPolicy(eqx.nn.Sequential([linear(weight, np.zeros(len(weight)))]))


def constant(action: list[float]) -> GaussianPolicy:
    """An adversary that always plays this action."""
    return gaussian(np.zeros((len(action), 3)), np.array(action))


def box(size: int) -> ActionSpace:
    return ActionSpace(size, -np.ones(size, np.float32), np.ones(size, np.float32))


def test_sa_rl_adds_the_cut_action_in_units_of_eps() -> None:
    attack = SARLAttack(constant([0.5, -3.0, 0.0]))
    shown = Perturbation(attack, Ball(0.2), 0)(gaussian(W), Z)
    np.testing.assert_allclose(shown - Z, np.tile([0.1, -0.2, 0.0], (2, 1)), atol=1e-6)


def test_sa_rl_is_scaled_into_the_l2_ball() -> None:
    long, short = (
        Perturbation(SARLAttack(constant(u)), Ball(0.2, "l2"), 0)(gaussian(W), Z) for u in ([3.0, -4.0, 0], [0.3, 0, 0])
    )
    np.testing.assert_allclose(long - Z, np.tile([0.12, -0.16, 0.0], (2, 1)), atol=1e-6)
    np.testing.assert_allclose(short - Z, np.tile([0.06, 0.0, 0.0], (2, 1)), atol=1e-6)


@pytest.mark.parametrize("actor", [Direction(), Direction(10)], ids=["sign", "pgd"])
def test_pa_ad_moves_every_coordinate_as_the_director_points(actor: Direction) -> None:
    # Jᵀd = Wᵀ(2, -1) = (1.5, -7, 1)
    attack = PAADAttack(constant([2.0, -1.0]), actor)
    shown = Perturbation(attack, Ball(0.2), 0)(gaussian(W), Z)
    if actor.steps == 1:
        np.testing.assert_allclose(shown - Z, np.tile([0.2, -0.2, 0.2], (2, 1)), atol=1e-6)
    change = (shown - Z) @ W.T
    assert (change @ np.array([2.0, -1.0]) > 0.5 * np.linalg.norm(change, axis=1)).all()


def test_pa_ad_in_the_l2_ball_follows_the_gradient() -> None:
    shown = Perturbation(PAADAttack(constant([2.0, -1.0])), Ball(0.2, "l2"), 0)(gaussian(W), Z)
    gradient = np.array([1.5, -7.0, 1.0])
    np.testing.assert_allclose(shown - Z, np.tile(0.2 * gradient / np.linalg.norm(gradient), (2, 1)), atol=1e-6)


def test_pgd_finds_more_of_the_director_s_goal_than_one_small_step() -> None:
    policy = GaussianPolicy(mlp([3, 16, 2], KEY), jnp.zeros(2))
    direction = np.random.default_rng(0).standard_normal((len(Z), 2)).astype(np.float32)
    ball = Ball(0.5)

    def goal(shown: jax.Array) -> np.ndarray:
        change = np.asarray(policy.head(shown) - policy.head(Z))
        length = np.linalg.norm(change, axis=1)
        return (change * direction).sum(axis=1) / (length * np.linalg.norm(direction, axis=1)) + length

    small = ball.scaled(0.1)
    start = small.project(Z, Direction().move(policy, small, jnp.asarray(Z), jnp.asarray(direction)))
    found = ball.project(Z, Direction(10).move(policy, ball, jnp.asarray(Z), jnp.asarray(direction)))
    assert (goal(found) > goal(start)).all()


def test_a_direction_among_probabilities_by_hand() -> None:
    # logits (z1, 0): π1 = σ(z1); d = (1, -1) raises π1, so z1 goes up and z2, which no logit sees, stays
    policy = categorical(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    up, down = (Perturbation(PAADAttack(constant([d])), Ball(0.1), 0)(policy, Z) - Z for d in (1.0, -1.0))
    np.testing.assert_allclose(up, np.tile([0.1, 0, 0], (2, 1)), atol=1e-6)
    np.testing.assert_allclose(down, -up, atol=1e-6)


def test_a_target_action_is_reached() -> None:
    policy = categorical(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    target = categorical(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    target = eqx.tree_at(lambda p: p.network.layers[0].bias, target, jnp.array([0.0, 1.0, 0.0]))
    shown = Perturbation(PAADAttack(target, TargetAction()), Ball(2.0), 0)(policy, Z)
    assert (np.asarray(policy.mode(shown)) == 1).all()
    np.testing.assert_allclose((shown - Z)[:, 1], 2.0, atol=1e-5)  # log π of the target rises with its own coordinate


@given(
    hnp.arrays(np.float32, (2, 4), elements=st.floats(-5, 5, width=32), unique=True),
    hnp.arrays(np.float32, (2, 3), elements=st.floats(-3, 3, width=32)),
)
@settings(max_examples=30)
def test_softmax_pull_back_is_the_gradient_up_to_a_positive_factor(logits: np.ndarray, direction: np.ndarray) -> None:
    with jax.enable_x64(True):
        logits, direction = logits.astype(np.float64), direction.astype(np.float64)
        wanted = sum_to_zero(direction)
        exact = np.asarray(jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) * wanted))(jnp.asarray(logits)))
    found = softmax_pull_back(logits, direction)
    for row, truth in zip(found, exact, strict=True):
        factor = np.linalg.norm(row) / max(np.linalg.norm(truth), 1e-30)
        np.testing.assert_allclose(row, factor * truth, atol=1e-9 * max(np.linalg.norm(row), 1))


def test_softmax_pull_back_survives_a_certain_victim() -> None:
    logits = jnp.array([[300.0, 0.0, -5.0]])
    assert not np.any(jax.grad(lambda x: jax.nn.softmax(x)[0, 1])(logits))
    pulled = np.asarray(softmax_pull_back(logits, jnp.array([[-1.0, 1.0]])))
    assert np.sign(pulled)[0].tolist() == [-1, 1, 1]


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid"])
def test_host_vjp_is_that_of_jax(activation: str) -> None:
    network = mlp([3, 8, 8, 2], KEY, activation=activation)
    cotangent = np.random.default_rng(0).standard_normal((2, 2)).astype(np.float32)
    vjp = host_vjp(network)
    assert vjp is not None
    output, back = vjp(Z)
    exact, exact_back = jax.vjp(lambda x: forward(network, x), jnp.asarray(Z))
    np.testing.assert_allclose(output, exact, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(back(cotangent), exact_back(jnp.asarray(cotangent))[0], rtol=1e-4, atol=1e-6)


def test_host_vjp_leaves_other_layers_to_jax() -> None:
    assert host_vjp(eqx.nn.Sequential([eqx.nn.Lambda(ACTIVATIONS["flatten"]), *mlp([3, 2], KEY).layers])) is None


def test_a_recurrent_adversary_remembers_until_its_episode_ends() -> None:
    adversary = RecurrentPolicy.create(3, 3, KEY, hidden=4)
    adversary = eqx.tree_at(lambda p: p.network.embedding, adversary, mlp([3, 4], KEY))
    perturb = Perturbation(SARLAttack(adversary), Ball(0.2), 0)
    victim = gaussian(W)
    first, second = perturb(victim, Z), perturb(victim, Z)
    head, state = adversary.step(jnp.asarray(Z), adversary.start(2))
    np.testing.assert_allclose(first, Z + 0.2 * np.clip(head, -1, 1), atol=1e-6)
    np.testing.assert_allclose(second, Z + 0.2 * np.clip(adversary.step(jnp.asarray(Z), state)[0], -1, 1), atol=1e-6)
    assert not np.allclose(first, second, atol=1e-5)
    perturb.reset(np.array([0]), 2)
    third = perturb(victim, Z)
    np.testing.assert_allclose(third[0], first[0], atol=1e-6)
    assert not np.allclose(third[1], first[1], atol=1e-5)


def test_an_attack_comes_back_from_its_folder_and_fits_victims_of_its_size_only(tmp_path: Path) -> None:
    spec = EnvSpec("Task-v0", (3,), box(2))
    director = GaussianPolicy.create(3, 2, KEY, (4,))
    identity = ScaledNormaliser.identity((3,))
    meta = {"attack": "pa-ad", "actor": "pgd", "pgd_steps": 5}
    Agent(spec, identity, director, meta=meta).save(tmp_path / "run" / "agent")
    for folder in (tmp_path / "run", tmp_path / "run" / "agent"):
        attack = load_attack(folder, EnvSpec("Other-v0", (3,), box(2)))
        assert isinstance(attack, PAADAttack)
        assert attack.actor == Direction(5)
        np.testing.assert_array_equal(attack.adversary.mode(Z), director.mode(Z))
    with pytest.raises(UserError, match="does not fit"):
        load_attack(tmp_path / "run", EnvSpec("Wider-v0", (3,), box(4)))
    Agent(spec, identity, director).save(tmp_path / "agent")
    with pytest.raises(UserError, match="no attacker"):
        load_attack(tmp_path / "agent")
