"""The tabular oracle: by hand, by brute force, and as properties of random MDPs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.envs.tabular import (
    TabularMDP,
    attacker_mdp,
    one_step,
    optimal_attack,
    policy_evaluation,
    policy_iteration,
    random_mdp,
    reachable_actions,
    worst_value_iteration,
    worst_values,
)

few = settings(max_examples=40, deadline=None)


@st.composite
def attacked_mdps(draw, max_states=8):
    """A random MDP, a victim, and a neighbourhood in which every state may at least show itself."""
    states = draw(st.integers(3, max_states))
    actions = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mdp = random_mdp(rng, states, actions, gamma=draw(st.sampled_from([0.0, 0.5, 0.9, 0.97])))
    policy = rng.integers(actions, size=states)
    neighbourhood = (rng.random((states, states)) < draw(st.floats(0, 1))) | np.eye(states, dtype=bool)
    return mdp, policy, neighbourhood


def worst_v(mdp, action_mask):
    return worst_values(worst_value_iteration(mdp, action_mask), action_mask)


def two_states():
    """Action 0 stays for reward 1; action 1 leaves to the terminal state, at a price of 4."""
    transitions = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    rewards = np.array([[1.0, -4.0], [7.0, 7.0]])
    return TabularMDP(transitions, rewards, gamma=0.5, terminal=np.array([False, True]))


def test_by_hand():
    mdp = two_states()
    stay = np.array([0, 1])
    np.testing.assert_allclose(policy_evaluation(mdp, stay), [2, 0])
    np.testing.assert_allclose(worst_value_iteration(mdp, np.array([[True, False], [True, True]])), [[2, -4], [0, 0]])
    np.testing.assert_allclose(worst_value_iteration(mdp, np.ones((2, 2), dtype=bool)), [[-1, -4], [0, 0]])
    shown, values = optimal_attack(mdp, stay, np.ones((2, 2), dtype=bool))
    assert shown[0] == 1
    np.testing.assert_allclose(values, [-4, 0])


def test_reachable_actions_by_hand():
    neighbourhood = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]], dtype=bool)
    expected = np.array([[1, 0, 1], [1, 1, 1], [0, 1, 0]], dtype=bool)
    np.testing.assert_array_equal(reachable_actions(np.array([0, 2, 1]), neighbourhood, 3), expected)


def test_malformed_tables_are_refused():
    mdp = two_states()
    with pytest.raises(ValueError, match="distribution"):
        TabularMDP(mdp.transitions * 2, mdp.rewards, 0.5, mdp.terminal)
    with pytest.raises(ValueError, match="shapes"):
        TabularMDP(mdp.transitions, mdp.rewards[:, :1], 0.5, mdp.terminal)
    with pytest.raises(ValueError, match="gamma"):
        TabularMDP(mdp.transitions, mdp.rewards, 1.0, mdp.terminal)
    with pytest.raises(ValueError, match="at least one action"):
        worst_value_iteration(mdp, np.zeros((2, 2), dtype=bool))


@few
@given(attacked_mdps())
def test_worst_value_iteration_is_the_value_under_the_optimal_attacker(case):
    mdp, policy, neighbourhood = case
    values = worst_v(mdp, reachable_actions(policy, neighbourhood, mdp.rewards.shape[1]))
    shown, attacked = optimal_attack(mdp, policy, neighbourhood)
    assert neighbourhood[np.arange(len(shown)), shown].all()
    np.testing.assert_allclose(values, attacked, atol=1e-7)
    np.testing.assert_allclose(policy_evaluation(mdp, policy[shown]), attacked, atol=1e-7)


@settings(max_examples=15, deadline=None)
@given(attacked_mdps(max_states=4))
def test_no_enumerated_attack_beats_it_and_one_attains_it(case):
    mdp, policy, neighbourhood = case
    attacks = product(*(np.flatnonzero(row) for row in neighbourhood))
    outcomes = np.array([policy_evaluation(mdp, policy[list(shown)]) for shown in attacks])
    values = worst_v(mdp, reachable_actions(policy, neighbourhood, mdp.rewards.shape[1]))
    np.testing.assert_allclose(outcomes.min(axis=0), values, atol=1e-7)


@few
@given(attacked_mdps())
def test_showing_the_truth_is_policy_evaluation(case):
    mdp, policy, _ = case
    truth = np.eye(len(policy), dtype=bool)
    values = policy_evaluation(mdp, policy)
    np.testing.assert_allclose(worst_v(mdp, reachable_actions(policy, truth, mdp.rewards.shape[1])), values, atol=1e-7)
    np.testing.assert_allclose(optimal_attack(mdp, policy, truth)[1], values, atol=1e-9)


@few
@given(attacked_mdps(), st.integers(0, 2**32 - 1))
def test_a_superset_of_actions_is_worth_no_more(case, seed):
    mdp, policy, neighbourhood = case
    exact = reachable_actions(policy, neighbourhood, mdp.rewards.shape[1])
    wider = exact | (np.random.default_rng(seed).random(exact.shape) < 0.5)
    assert (worst_v(mdp, wider) <= worst_v(mdp, exact) + 1e-7).all()


@few
@given(attacked_mdps())
def test_the_attackers_reward_is_the_victims_negated(case):
    mdp, policy, _ = case
    blind = np.zeros(len(policy), dtype=int)
    victim = policy_evaluation(mdp, policy[blind])
    np.testing.assert_allclose(policy_evaluation(attacker_mdp(mdp, policy), blind), -victim, atol=1e-9)


@few
@given(attacked_mdps())
def test_policy_iteration_satisfies_optimality(case):
    mdp, policy, _ = case
    best, values = policy_iteration(mdp)
    np.testing.assert_allclose(one_step(mdp, values).max(axis=1), values, atol=1e-8)
    np.testing.assert_allclose(policy_evaluation(mdp, best), values, atol=1e-9)
    assert (values >= policy_evaluation(mdp, policy) - 1e-9).all()
