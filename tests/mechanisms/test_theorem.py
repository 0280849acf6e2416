"""Theorem 1, executable: eq. (1) contracts, and its fixed point is the value under the exactly optimal attacker."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.bounds import worst_action_in_mask
from wocar.envs.go_home_grid import GoHomeGrid, neighbours
from wocar.envs.tabular import TabularMDP, optimal_attack, policy_evaluation, policy_iteration, random_mdp
from wocar.envs.tabular import reachable_actions as reachable
from wocar.mechanisms.worst_value import worst_attack_backup
from wocar.types import Array

cases = {"seed": st.integers(0, 2**31), "states": st.integers(2, 7), "actions": st.integers(2, 4)}
few = settings(max_examples=25)


@jax.jit
def backup(p: Array, r: Array, terminal: Array, gamma: float, q: Array, mask: Array) -> jax.Array:
    """The expectation over s' of the sampled backup, for all (s, a) at once."""
    worst = worst_action_in_mask(q, mask)
    minimum = jnp.take_along_axis(q, worst[:, None], axis=1)[:, 0]
    y = worst_attack_backup(r[:, :, None], terminal[None, None], minimum[None, None], gamma)
    return jnp.where(terminal[:, None], 0.0, jnp.sum(p * y, axis=-1))


def operator(mdp: TabularMDP, q: np.ndarray, mask: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(backup(mdp.transitions, mdp.rewards, mdp.terminal, mdp.gamma, jnp.asarray(q), mask))


def fixed_point(mdp: TabularMDP, mask: np.ndarray) -> np.ndarray:
    q = np.zeros(mdp.rewards.shape)
    for _ in range(5000):
        new = operator(mdp, q, mask)
        if np.abs(new - q).max() < 1e-11:
            return new
        q = new
    raise AssertionError("no fixed point")


def a_task(seed: int, states: int, actions: int) -> tuple[TabularMDP, np.ndarray, np.ndarray]:
    """A random MDP, a policy, and what an attacker may show in each state (at least the state itself)."""
    rng = np.random.default_rng(seed)
    shown = rng.uniform(size=(states, states)) < rng.uniform() * 0.6
    return random_mdp(rng, states, actions, 0.8), rng.integers(0, actions, states), shown | np.eye(states, dtype=bool)


@few
@given(**cases)
def test_the_operator_contracts_by_gamma(seed: int, states: int, actions: int) -> None:
    mdp, policy, shown = a_task(seed, states, actions)
    mask = reachable(policy, shown, actions)
    rng = np.random.default_rng(seed + 1)
    one, other = (rng.normal(scale=5, size=mdp.rewards.shape) for _ in range(2))
    distance = np.abs(operator(mdp, one, mask) - operator(mdp, other, mask)).max()
    assert distance <= mdp.gamma * np.abs(one - other).max() + 1e-9


@few
@given(**cases)
def test_its_fixed_point_is_the_value_under_the_optimal_attacker(seed: int, states: int, actions: int) -> None:
    mdp, policy, shown = a_task(seed, states, actions)
    mask = reachable(policy, shown, actions)
    q = fixed_point(mdp, mask)
    _, attacked = optimal_attack(mdp, policy, shown)
    np.testing.assert_allclose(np.where(mask, q, np.inf).min(axis=1), attacked, atol=1e-7)


@few
@given(**cases)
def test_a_superset_of_the_actions_gives_a_lower_bound(seed: int, states: int, actions: int) -> None:
    mdp, policy, shown = a_task(seed, states, actions)
    mask = reachable(policy, shown, actions)
    larger = mask | (np.random.default_rng(seed).uniform(size=mask.shape) < 0.3)
    assert (fixed_point(mdp, larger) <= fixed_point(mdp, mask) + 1e-9).all()


@pytest.mark.parametrize("radius", [0, 1])
def test_on_the_go_home_grid(radius: int) -> None:
    mdp = GoHomeGrid().table(gamma=0.95)
    policy, natural = policy_iteration(mdp)
    shown = neighbours(radius)
    mask = reachable(policy, shown, mdp.rewards.shape[1])
    worst = np.where(mask, fixed_point(mdp, mask), np.inf).min(axis=1)
    _, attacked = optimal_attack(mdp, policy, shown)
    np.testing.assert_allclose(worst, attacked, atol=1e-7)
    if radius == 0:
        np.testing.assert_allclose(worst, policy_evaluation(mdp, policy), atol=1e-7)
    else:
        assert worst.min() < natural.min() - 1
