"""Each equation on numbers small enough to check by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.mechanisms.distance_bounds import gaussian_distance_bound
from wocar.mechanisms.state_reg import (
    categorical_distance,
    gaussian_distance,
    state_importance,
    state_regularisation,
)
from wocar.mechanisms.worst_policy import (
    categorical_expectation,
    gaussian_expectation,
    mixed_values,
    robust_advantage,
    worst_policy_loss,
)
from wocar.mechanisms.worst_value import (
    WorstCritic,
    estimation_loss,
    fit_worst_critic,
    follow,
    q_at,
    worst_attack_backup,
)
from wocar.networks import DiscreteCritic, mlp


def test_worst_attack_backup_drops_the_future_of_terminal_steps() -> None:
    y = worst_attack_backup(jnp.array([1.0, 2.0]), jnp.array([False, True]), jnp.array([4.0, 4.0]), 0.5)
    np.testing.assert_array_equal(y, [3.0, 2.0])


def test_estimation_loss_is_the_mean_square() -> None:
    assert estimation_loss(jnp.array([1.0, 2.0]), jnp.array([3.0, 1.0])) == 2.5


def test_follow_takes_the_next_step_or_what_was_found_at_the_boundary() -> None:
    here = jnp.array([10.0, 11.0, 12.0, 13.0])
    last = jnp.array([False, True, False, True])
    ends = jnp.array([1, 4])  # slot 4 is a filler
    np.testing.assert_array_equal(follow(here, last, ends, jnp.array([99.0, 55.0])), [11.0, 99.0, 13.0, 13.0])


def test_the_worst_critic_learns_from_fewer_rows_than_minibatches() -> None:
    network = mlp([1, 8, 2], jax.random.key(0), activation="relu")
    obs, actions, wanted = jnp.array([[0.0], [1.0], [2.0]]), jnp.array([0, 1, 0]), jnp.array([1.0, -2.0, 3.0])
    fresh = WorstCritic.create(DiscreteCritic(network))
    fitted, loss = fit_worst_critic(fresh, obs, actions, wanted, jax.random.key(1), 0.01, 200, 32, 1.0)
    assert float(loss) < 0.1
    np.testing.assert_allclose(q_at(fitted.target, obs, actions), wanted, atol=0.5)


def test_worst_policy_loss_is_minus_the_expected_worst_value() -> None:
    logits, q = jnp.array([[0.0, 0.0], [40.0, 0.0]]), jnp.array([[2.0, 4.0], [1.0, 9.0]])
    assert worst_policy_loss(categorical_expectation(logits, q)) == -2.0


def test_a_moved_action_gains_along_the_slope_up_to_its_reach() -> None:
    noise, before, slope = jnp.array([[1.0, -1.0]]), jnp.array([[2.0, -2.0]]), jnp.array([[3.0, 1.0]])
    at = jnp.array([[0.1, 0.0]]), jnp.log(2.0 * jnp.ones(2))  # μ + σξ = (2.1, -2.0)
    np.testing.assert_allclose(gaussian_expectation(*at, noise, before, slope), [0.3], rtol=1e-5)
    far = at[0] + jnp.array([[9.0, -9.0]]), at[1]  # a gain ends at 0.2 σ, a loss does not
    np.testing.assert_allclose(gaussian_expectation(*far, noise, before, slope), [3 * 0.4 - 9.0], rtol=1e-5)


@pytest.mark.parametrize(("own_scale", "second"), [(True, 1.0), (False, 10.0)])
def test_robust_advantage_scales_the_worst_term(own_scale: bool, second: float) -> None:
    advantage, worst = jnp.array([-1.0, 1.0]), jnp.array([0.0, 20.0])
    np.testing.assert_allclose(
        robust_advantage(advantage, worst, 0.5, own_scale), [-1 - 0.5 * second, 1 + 0.5 * second], rtol=1e-5
    )


def test_mixed_values_weigh_the_worst_critic_by_kappa() -> None:
    np.testing.assert_allclose(mixed_values(jnp.array([[1.0, 2.0]]), jnp.array([[5.0, 0.0]]), 0.25), [[2.0, 1.5]])


def test_importance_is_relative_to_the_batch_and_clipped() -> None:
    best, worst = jnp.array([3.0, 1.0, 2.0, 0.0]), jnp.array([0.0, 2.0, 1.0, 0.0])  # gaps 3, -1, 1, 0 -> mean 1
    np.testing.assert_allclose(state_importance(best, worst), [3.0, 0.0, 1.0, 0.0], rtol=1e-5)
    peak = jnp.zeros(100).at[0].set(1.0)
    assert state_importance(peak, jnp.zeros(100)).max() == 5.0
    np.testing.assert_allclose(state_importance(best, worst, 0.2), [3.0, 0.2, 1.0, 0.2], rtol=1e-5)


def test_gaussian_distance_counts_in_standard_deviations() -> None:
    mean, other = jnp.array([[0.0, 0.0]]), jnp.array([[1.0, -2.0]])
    np.testing.assert_allclose(gaussian_distance(mean, other, jnp.log(jnp.array([1.0, 2.0]))), [2.0])
    bound = gaussian_distance_bound(mean, jnp.array([[-1.0, -4.0]]), jnp.array([[2.0, 1.0]]), jnp.zeros(2))
    np.testing.assert_allclose(bound, [20.0])


def test_categorical_distance_is_the_kl_divergence() -> None:
    p, q = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    expected = np.sum(p * np.log(p / q))
    np.testing.assert_allclose(categorical_distance(jnp.log(p)[None], jnp.log(q)[None]), [expected], rtol=1e-5)


def test_regularisation_weighs_states_once() -> None:
    assert state_regularisation(jnp.array([1.0, 3.0]), jnp.array([2.0, 0.0])) == 1.0
