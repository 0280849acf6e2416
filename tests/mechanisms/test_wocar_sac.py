"""WocaR-SAC: contexts, pushes and behaviour by themselves; its worst critic against values known by hand."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.mechanisms.test_robust_sac import SPEC, algorithm, batch, trained
from wocar.bounds import Ball
from wocar.mechanisms.behaviour import DIRECTOR, NONE, Behaviour
from wocar.mechanisms.contexts import Context, Shares, draw_contexts, worst_context
from wocar.mechanisms.directors import no_directors
from wocar.mechanisms.push import pull_of, pushed
from wocar.mechanisms.sac_objective import ActorSignal, Critics, SACBatch
from wocar.networks import ActionCritic, ContextCritic, SquashedGaussianPolicy

ONLY_WORST = {"kappa_wst": 1.0, "kappa_director": 0.0, "kappa_natural": 0.0, "kappa_reg": 0.0}


def test_contexts_are_drawn_by_their_shares_and_never_two_at_once() -> None:
    found = draw_contexts(jax.random.key(0), 20_000, 3, Shares(0.2, 0.3, 0.1, 0.4))
    directed = np.any(np.asarray(found.director) != 0, axis=1)
    assert set(np.unique(found.director)) == {-1.0, 0.0, 1.0}
    assert np.mean(found.worst) == pytest.approx(0.2, abs=0.01) and np.mean(found.natural) == pytest.approx(
        0.1, abs=0.01
    )
    assert np.mean(directed) == pytest.approx(0.3 * 26 / 27, abs=0.01)
    assert np.mean(found.mean) == pytest.approx(0.4, abs=0.01)
    assert np.max(np.asarray(found.worst) + np.asarray(found.natural) + directed) == 1
    np.testing.assert_array_equal(found.attacked, np.asarray(found.worst + found.natural) + directed > 0)


def test_a_context_folds_into_the_first_bias() -> None:
    plain = ActionCritic.create(4, 2, jax.random.key(0), (8, 8))
    critic = ContextCritic.create(plain, 5)
    obs, actions = jax.random.normal(jax.random.key(1), (7, 4)), jax.random.normal(jax.random.key(2), (7, 2))
    t = jax.random.normal(jax.random.key(3), (5,))
    np.testing.assert_array_equal(critic(obs, actions, jnp.tile(t, (7, 1))), plain(obs, actions))
    critic = eqx.tree_at(lambda c: c.context, critic, jax.random.normal(jax.random.key(4), (8, 5)))
    np.testing.assert_allclose(critic.at(t)(obs, actions), critic(obs, actions, jnp.tile(t, (7, 1))), rtol=1e-5)
    assert not np.allclose(critic.at(t)(obs, actions), plain(obs, actions))


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_a_director_pushes_the_action_its_way_inside_the_ball(norm: Any) -> None:
    policy = SquashedGaussianPolicy.create(4, -np.ones(2), np.ones(2), jax.random.key(0), (8, 8))
    obs, ball = jax.random.normal(jax.random.key(1), (64, 4)), Ball(0.2, norm)
    director = jnp.tile(jnp.array([1.0, -1.0]), (64, 1))
    zero = jnp.zeros(64)
    critic = ContextCritic.create(ActionCritic.create(4, 2, jax.random.key(0), (8, 8)), 5)
    pull = pull_of(Context(director, zero, zero, zero), Critics(critic, critic), obs)
    shown = pushed(policy, ball, obs, obs, pull, steps=2)
    moved = jnp.sum(director * (policy.unit_mode(shown) - policy.unit_mode(obs)), axis=-1)
    assert float((moved > 0).mean()) > 0.95
    np.testing.assert_allclose(ball.project(obs, shown), shown, atol=1e-6)


def test_an_episodes_attacker_stays_until_the_next_one() -> None:
    behaviour, rng = Behaviour(0.1, 0.2, 0.5, 0.3), np.random.default_rng(0)
    none = no_directors(2, 4)
    first = behaviour.begin(4000, 4, 2, rng, none)
    shares = np.bincount(first.kind, minlength=4) / 4000
    assert shares[DIRECTOR] == pytest.approx(0.5, abs=0.03) and shares[NONE] == pytest.approx(0.2, abs=0.03)
    assert 1 - first.noisy.mean() == pytest.approx(0.3, abs=0.03)
    constant = ~first.weight.any(axis=(1, 2))
    assert constant.mean() == pytest.approx(0.5, abs=0.03) and set(np.unique(first.bias[constant])) == {-1, 0, 1}
    begins = np.arange(4000) < 10
    second = behaviour.drawn(first, begins, rng, none)
    for before, after in zip(first, second, strict=True):
        np.testing.assert_array_equal(before[~begins], after[~begins])
    assert not np.array_equal(first.bias[begins], second.bias[begins])


@pytest.mark.parametrize("worst_set", ["searched", "box"])
def test_the_worst_critic_learns_the_minimum_over_the_set(worst_set: str) -> None:
    """One state, reward 1 + a, discount 0.5: without a ball the value of the own action, with one less."""
    values = {}
    for eps in (0.0, 0.5):
        sac = algorithm("wocar-sac", eps=eps, kappa_mean=1.0, worst_set=worst_set, **ONLY_WORST)
        sac.config = sac.config.__class__(**(vars(sac.config) | {"learning_rate": 1e-2, "tau": 0.05}))
        learner, one = sac.init(SPEC, jax.random.key(0)), np.zeros((64, 4), np.float32)
        actions = np.random.default_rng(0).uniform(-1, 1, (64, 2)).astype(np.float32)
        data = SACBatch(one, actions, 1 + actions[:, 0], one, np.full(64, 0.5, np.float32), np.ones(64, np.float32))
        fit = eqx.filter_jit(
            lambda learner, key, sac=sac, data=data: sac._evaluate(learner, data, key, key, jnp.float32(1))[0]
        )
        for k in range(500):
            learner = fit(learner, jax.random.key(k))
        mode = learner.policy.unit_mode(one[:1])
        worst = learner.target.one.at(worst_context(2).at[-1].set(1.0))
        values[eps] = float(worst(one[:1], mode)[0])
        if eps == 0:
            assert values[eps] == pytest.approx(1 + float(mode[0, 0]) + 0.5 * (1 + float(mode[0, 0])) / 0.5, rel=0.05)
    assert values[0.5] < values[0.0] - 0.01


def test_the_ablation_improves_at_the_true_state_and_keeps_the_worst_value() -> None:
    shown = {}
    for attacked in (True, False):
        sac = algorithm("wocar-sac", eps=0.3, improve_attacked=attacked, **ONLY_WORST)
        learner, data = sac.init(SPEC, jax.random.key(0)), batch()
        signal = ActorSignal(data.obs, learner.critics.least, learner.policy, learner.critics, jax.random.key(1))
        shown[attacked] = sac.objective.improve(signal, data, None, jnp.float32(1)).shown
    np.testing.assert_array_equal(shown[False], batch().obs)
    assert not np.array_equal(shown[True], batch().obs)


def test_the_regulariser_compares_with_the_attacked_state_and_is_weighed() -> None:
    _, none = trained("wocar-sac", eps=0.0, **(ONLY_WORST | {"kappa_reg": 1.0}))
    _, some = trained("wocar-sac", eps=0.3, **(ONLY_WORST | {"kappa_reg": 1.0}))
    _, alike = trained("wocar-sac", eps=0.3, importance=False, **(ONLY_WORST | {"kappa_reg": 1.0}))
    assert float(none["penalty"]) == pytest.approx(0, abs=1e-6)
    assert float(some["penalty"]) > 0 and float(some["penalty"]) != float(alike["penalty"])


def test_rows_without_noise_do_not_count_in_the_entropy() -> None:
    """With every action the mean, the temperature has nothing to learn from and the target no entropy."""
    sac = algorithm("wocar-sac", eps=0.1, kappa_mean=1.0, **ONLY_WORST)
    learner = sac.init(SPEC, jax.random.key(3))
    _, _, info = eqx.filter_jit(sac.update)(learner, batch(), jax.random.key(0), jnp.float32(1))
    assert float(info["entropy"]) == 0
