"""Attacks on linear victims, where the worst point of the ball is known."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wocar.attacks import PGD, CriticAttack, MaxDiff, MinBest, Random, zero_gradient_share
from wocar.attacks.pgd import cross_entropy
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.bounds import Ball, margin
from wocar.networks import ActionCritic, CategoricalPolicy, DiscreteCritic, GaussianPolicy, ValueCritic
from wocar.networks.layers import linear

KEY = jax.random.key(0)


def layers(*weights: list, relu: bool = False) -> eqx.nn.Sequential:
    """Dense layers without biases, with relu between them where asked."""
    parts: list = []
    for w in weights:
        w = np.asarray(w, float)
        parts += [linear(w, np.zeros(len(w))), eqx.nn.Lambda(jax.nn.relu)]
    return eqx.nn.Sequential(parts[:-1] if relu else parts[::2])


def gaussian(w: list) -> GaussianPolicy:
    return GaussianPolicy(layers(w), jnp.zeros(len(w)))


@eqx.filter_jit
def search(attack: Any, policy: Any, ball: Ball, obs: jax.Array) -> jax.Array:
    return ball.project(obs, attack.perturb(policy, ball, obs, KEY))


def states(n: int, size: int) -> jax.Array:
    return jax.random.normal(jax.random.key(7), (n, size))


@pytest.mark.parametrize("attack", [MaxDiff(noise=0.0), PGD(), PGD(restarts=3), PGD(momentum=0.5)])
def test_the_largest_change_of_a_linear_action_is_at_a_corner(attack: MaxDiff | PGD) -> None:
    """|w (x - s)| is largest at s ± eps sign(w); MaxDiff's ten tenths of eps may end two of them before it."""
    obs = states(32, 3)
    shown = search(attack, gaussian([[1.0, -2.0, 0.5]]), Ball(0.1), obs)
    offset = np.asarray(shown - obs) * np.sign([1.0, -2.0, 0.5])
    assert (np.abs(offset) > (0.08 if isinstance(attack, MaxDiff) else 0.0979)).all()
    assert (np.abs(np.sign(offset).sum(axis=1)) == 3).all()
    assert {-1.0, 1.0} == set(np.sign(offset[:, 0]).tolist())


def test_for_l2_the_largest_change_is_along_the_weights() -> None:
    obs, w = states(16, 3), np.array([1.0, -2.0, 0.5])
    shown = search(MaxDiff(steps=30, noise=0.0), gaussian([w.tolist()]), Ball(0.1, "l2"), obs)
    cosine = np.abs(np.asarray(shown - obs) @ w) / np.linalg.norm(w)
    assert (cosine > 0.098).all()


def test_langevin_noise_costs_strength() -> None:
    policy, obs = gaussian([[0.02, -0.04, 0.01]]), states(64, 3)  # a gradient smaller than the noise

    def reached(attack: MaxDiff) -> float:
        return float(attack.objective(policy, obs)(search(attack, policy, Ball(0.1), obs)).mean())

    assert reached(MaxDiff(noise=1.0)) < 0.7 * reached(MaxDiff(noise=0.0))


def nonzero() -> st.SearchStrategy[float]:
    return st.tuples(st.floats(0.1, 2.0), st.sampled_from([-1.0, 1.0])).map(lambda pair: pair[0] * pair[1])


@settings(max_examples=25)
@given(
    st.lists(nonzero(), min_size=4, max_size=4),
    st.lists(st.floats(-2, 2), min_size=4, max_size=4),
    st.sampled_from(["linf", "l2"]),
    st.floats(0.1, 1.0),
    st.booleans(),
)
def test_pgd_flips_the_argmax_exactly_when_the_margin_allows_it(
    w: list[float], s: list[float], norm: str, eps: float, minbest: bool
) -> None:
    """Scores (w·s, 0): the choice can change iff |w·s| < eps · dual norm of w."""
    weights, obs = np.asarray(w, np.float32), np.asarray([s], np.float32)
    value, reach = float(weights @ obs[0]), eps * float(np.linalg.norm(weights, 1 if norm == "linf" else 2))
    assume(abs(value) > 0.02 and abs(abs(value) - reach) > 0.02)
    policy = CategoricalPolicy(layers([w, [0.0] * 4]))
    ball = Ball(eps, norm)  # type: ignore[arg-type]
    shown = search(MinBest() if minbest else PGD(), policy, ball, jnp.asarray(obs))
    flipped = int(policy.mode(shown)[0]) != int(policy.mode(jnp.asarray(obs))[0])
    assert flipped == (abs(value) < reach)
    chosen = jnp.argmax(policy.head(jnp.asarray(obs)), axis=-1)
    assert bool(margin(policy.head(shown), chosen)[0] > 0) == flipped


@pytest.mark.parametrize("steps", [1, 10])
def test_minbest_steps_against_the_best_action(steps: int) -> None:
    w = np.array([1.0, -3.0])
    obs = jnp.array([[2.0, 0.0], [-2.0, 0.0]])  # the first chooses action 0, the second action 1
    shown = search(MinBest(steps), CategoricalPolicy(layers([w.tolist(), [0.0, 0.0]])), Ball(0.5), obs)
    np.testing.assert_allclose(shown - obs, 0.5 * np.array([-np.sign(w), np.sign(w)]), rtol=1e-5)


def test_momentum_carries_a_search_over_a_dent() -> None:
    """The chosen score falls, rises between 0.45 and 0.65, and falls again."""
    dented = layers([[1.0], [1.0], [1.0]], [[-1.0, 5.0, -5.0], [0.0, 0.0, 0.0]], relu=True)
    biases = jnp.array([0.0, -0.45, -0.65]), jnp.array([3.0, 0.0])
    dented = eqx.tree_at(lambda net: (net.layers[0].bias, net.layers[2].bias), dented, biases)
    policy, obs = CategoricalPolicy(dented), jnp.full((1, 1), 1e-3)
    ends = [float(search(PGD(momentum=m), policy, Ball(1.0), obs)[0, 0]) for m in (0.0, 0.9)]
    assert ends[0] < 0.6
    assert ends[1] > 0.9


def test_restarts_find_what_one_search_misses() -> None:
    """μ(s) = relu(s) at 0: half of all starts lie where nothing changes."""
    policy = GaussianPolicy(layers([[1.0]], [[1.0]], relu=True), jnp.zeros(1))
    obs, ball = jnp.zeros((40, 1)), Ball(0.1)
    once, often = (search(PGD(restarts=n), policy, ball, obs)[:, 0] for n in (1, 12))
    assert 8 < int((once < 0.05).sum()) < 32
    np.testing.assert_allclose(often, 0.1, rtol=1e-5)
    assert 0.2 < zero_gradient_share(PGD(), policy, ball, obs) < 0.8
    assert zero_gradient_share(Random(), policy, ball, obs) == 0.0
    assert zero_gradient_share(PGD(), gaussian([[1.0]]), ball, obs) == 0.0


def test_critic_attack_goes_down_the_value() -> None:
    v, obs = np.array([1.0, -2.0]), states(8, 2)
    shown = search(CriticAttack(ValueCritic(layers([v.tolist()]))), None, Ball(0.3), obs)
    np.testing.assert_allclose(shown - obs, np.tile(-0.3 * np.sign(v), (8, 1)), rtol=1e-5)


def test_robust_sarsa_goes_down_the_value_of_the_action() -> None:
    """Q = 5 s·1 + c·a and μ = W x: the least is at s - eps sign(Wᵀ c), whatever Q says of s."""
    w, c = np.array([[1.0, -2.0, 0.5], [0.3, 0.4, -1.0]]), np.array([1.0, -0.5])
    critic, obs = ActionCritic(layers([[5.0, 5.0, 5.0, *c]])), states(8, 3)
    shown = search(RobustSarsa(critic), gaussian(w.tolist()), Ball(0.2), obs)
    np.testing.assert_allclose(shown - obs, np.tile(-0.2 * np.sign(w.T @ c), (8, 1)), rtol=1e-5)


def test_robust_sarsa_with_maxdiff_also_moves_what_the_critic_ignores() -> None:
    """μ = (x1, x1 - 2 x2) and Q = a1: the least Q is at x1 - eps; from there x2 + eps changes the action further."""
    policy, critic = gaussian([[1.0, 0.0], [1.0, -2.0]]), ActionCritic(layers([[0.0, 0.0, 1.0, 0.0]]))
    obs = jnp.ones((1, 2))
    alone, both = (search(RobustSarsa(critic, maxdiff=w), policy, Ball(0.2), obs)[0] for w in (0.0, 0.5))
    np.testing.assert_allclose([alone, both], [[0.8, 1.0], [0.8, 1.2]], rtol=1e-5)
    harm = RobustSarsa(critic, maxdiff=0.5).objective(policy, obs)(both[None])
    np.testing.assert_allclose(harm, [0.5 * (0.2**2 + 0.6**2) / 2 - 0.5 * 0.8], rtol=1e-4)


def test_robust_sarsa_moves_a_discrete_victim_to_the_worst_action() -> None:
    policy = CategoricalPolicy(layers([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
    nothing = layers(np.zeros((3, 2)).tolist())
    critic = DiscreteCritic(eqx.tree_at(lambda net: net.layers[0].bias, nothing, jnp.array([-5.0, 1.0, 1.0])))
    obs = jnp.array([[0.1, 0.3], [-0.2, -0.2]])  # choose actions 1 and 2
    assert policy.mode(obs).tolist() == [1, 2]
    assert policy.mode(search(RobustSarsa(critic), policy, Ball(0.5), obs)).tolist() == [0, 0]


def test_cross_entropy_by_hand() -> None:
    scores = jnp.log(jnp.array([[1.0, 3.0], [1.0, 1.0]]))
    np.testing.assert_allclose(cross_entropy(scores, jnp.array([0, 1])), np.log([4.0, 2.0]), rtol=1e-6)
