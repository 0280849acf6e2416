"""Statistics over seeds and tasks against cases by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.evaluation.seed_statistics import (
    episodes_estimate,
    estimate,
    iqm,
    median,
    median_agent,
    performance_profile,
    probability_of_improvement,
    resampled,
)

scores = st.lists(
    st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=1, max_size=6).map(np.array),
    min_size=1,
    max_size=4,
)


def test_iqm_leaves_out_the_outer_quarters() -> None:
    assert iqm(np.array([100.0, 1, 2, 3, 4, 5, 6, -50])) == pytest.approx((2 + 3 + 4 + 5) / 4)
    assert iqm(np.array([1.0, 2, 6])) == pytest.approx(3)  # a quarter of three runs is less than one


def test_median_agent_is_one_of_the_agents() -> None:
    assert median_agent(np.array([5.0, 1.0, 9.0])) == 0
    assert median_agent(np.array([4.0, 1.0, 9.0, 5.0])) == 0  # of 4 and 5 the lower
    with pytest.raises(ValueError, match="no agents"):
        median_agent(np.array([]))


def test_probability_of_improvement_by_hand() -> None:
    ours, theirs = [np.array([2.0, 3.0])], [np.array([1.0, 3.0])]
    assert probability_of_improvement(ours, theirs).value == pytest.approx((1 + 0 + 1 + 0.5) / 4)
    two = probability_of_improvement([*ours, np.array([7.0])], [*theirs, np.array([8.0, 9.0])])
    assert two.value == pytest.approx((0.625 + 0) / 2)


def test_seeds_and_episodes_are_both_drawn() -> None:
    seeds = episodes_estimate([np.full(4, 1.0), np.full(4, 3.0)])  # episodes of a seed agree: only seeds vary
    assert seeds == (2.0, 1.0, 3.0)
    episodes = episodes_estimate([np.array([0.0, 4.0] * 10)])  # one seed: the interval is over its episodes
    assert episodes.value == 2 and 0 <= episodes.low < 2 < episodes.high <= 4
    unequal = episodes_estimate([np.full(2, 5.0), np.full(6, 5.0)])  # no episode is drawn from beyond a run's own
    assert unequal == (5.0, 5.0, 5.0)


def test_profile_by_hand() -> None:
    found = performance_profile([np.array([0.2, 0.8]), np.array([0.5, 0.5])], np.array([0.0, 0.2, 0.5, 0.9]))
    np.testing.assert_allclose(found.share, [1, 0.75, 0.25, 0])
    assert found.low[2] == 0 and found.high[2] == 0.5  # of the first task none, one or both runs are drawn


def test_bootstrap_of_two_runs_by_hand() -> None:
    """The median of two draws from {0, 1} is 0, 1/2 or 1 with chances 1/4, 1/2, 1/4."""
    drawn = median(resampled([np.array([0.0, 1.0])], 20_000, seed=3)[0])
    shares = [np.mean(drawn == x) for x in (0, 0.5, 1)]
    np.testing.assert_allclose(shares, [0.25, 0.5, 0.25], atol=0.015)
    half = estimate([np.array([0.0, 1.0])], median, confidence=0.4)
    assert (half.low, half.value, half.high) == (0.5, 0.5, 0.5)


def test_bootstrap_is_stratified() -> None:
    """Tasks whose runs agree leave nothing to chance, however far apart the tasks are."""
    found = estimate([np.array([1.0, 1.0, 1.0]), np.array([9.0, 9.0, 9.0])], lambda runs: runs.mean(axis=-1))
    assert (found.low, found.value, found.high) == (5, 5, 5)
    pooled = estimate([np.array([1.0, 1.0, 1.0, 9.0, 9.0, 9.0])], lambda runs: runs.mean(axis=-1))
    assert pooled.high - pooled.low > 2


def test_intervals_cover() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for i in range(100):
        found = estimate([rng.normal(size=12), rng.normal(size=12)], iqm, resamples=300, seed=i)
        hits += found.low <= 0 <= found.high
    assert 84 <= hits <= 100


@settings(max_examples=25, deadline=None)
@given(scores)
def test_intervals_hold_the_value_and_seeds_decide(tasks: list[np.ndarray]) -> None:
    found = estimate(tasks, median, resamples=200, seed=1)
    runs = np.concatenate(tasks)
    assert runs.min() <= found.low <= found.high <= runs.max()
    assert found == estimate(tasks, median, resamples=200, seed=1)
    other = [runs + 1 for runs in tasks]
    better, worse = (
        probability_of_improvement(other, tasks, resamples=50),
        probability_of_improvement(tasks, other, resamples=50),
    )
    assert better.value + worse.value == pytest.approx(1)
    assert better.value >= 0.5


@pytest.mark.parametrize("tasks", [[], [np.array([])], [np.zeros((2, 2))]])
def test_nothing_is_no_score(tasks: list[np.ndarray]) -> None:
    with pytest.raises(ValueError, match="at least one run"):
        estimate(tasks, median)


def test_tasks_must_be_the_same() -> None:
    with pytest.raises(ValueError, match="2 tasks against 1"):
        probability_of_improvement([np.ones(1), np.ones(1)], [np.ones(1)])
