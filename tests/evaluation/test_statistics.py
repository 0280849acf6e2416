"""Numbers that can be checked by hand, and intervals that hold what they promise."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.evaluation.statistics import summarise, surely_below


def test_summary_by_hand() -> None:
    summary = summarise(np.array([1.0, 2.0, 3.0, 6.0]))
    assert summary.mean == 3.0
    assert summary.std == pytest.approx((14 / 4) ** 0.5)
    assert 1.0 <= summary.low < 3.0 < summary.high <= 6.0
    assert summarise(np.array([4.0])) == (4.0, 0.0, 4.0, 4.0)
    assert summarise(np.array([4.0, 4.0, 4.0])) == (4.0, 0.0, 4.0, 4.0)


def test_the_seed_decides_the_interval() -> None:
    returns = np.random.default_rng(0).exponential(size=30)
    assert summarise(returns, seed=1) == summarise(returns, seed=1)
    assert summarise(returns, seed=1) != summarise(returns, seed=2)


def test_the_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for k in range(200):
        summary = summarise(rng.normal(10, 3, 40), resamples=400, seed=k)
        assert summary.low <= summary.mean <= summary.high
        inside += summary.low <= 10 <= summary.high
    assert 0.88 < inside / 200 < 0.99


def test_the_interval_leans_to_where_the_tail_is() -> None:
    """Many full returns and a few falls: the mean is less sure downwards."""
    summary = summarise(np.array([3000.0] * 45 + [0.0, 100.0, 500.0, 800.0, 1000.0]))
    assert summary.mean - summary.low > 1.2 * (summary.high - summary.mean)


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=12))
@settings(max_examples=30)
def test_the_interval_is_finite_and_within_the_returns(returns: list[float]) -> None:
    summary = summarise(np.array(returns), resamples=200)
    assert min(returns) - 1e-6 <= summary.low <= summary.high <= max(returns) + 1e-6


def numbers(mean: float, std: float = 3.0, episodes: int = 10) -> dict[str, float]:
    return {"mean": mean, "std": std, "episodes": episodes}


def test_surely_below_by_hand() -> None:
    """Ten episodes each, standard error of the difference sqrt(2): 18 degrees of freedom, 0.002 is at t = 3.3."""
    low = numbers(10.0)
    assert surely_below(low, numbers(10.0 + 3.5 * 2**0.5))
    assert not surely_below(low, numbers(10.0 + 3.1 * 2**0.5))
    assert not surely_below(numbers(20.0), low)
    assert surely_below(numbers(1.0, std=0.0), numbers(2.0, std=0.0))
    assert not surely_below(numbers(1.0, std=0.0), numbers(1.0 + 1e-9, std=0.0))
    assert not surely_below(numbers(0.0, episodes=1), numbers(100.0))


def test_chance_is_seldom_taken_for_a_difference() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 50):
        rows = [numbers(float(x.mean()), float(x.std()), n) for x in rng.normal(0, 1, (1000, n))]
        assert sum(surely_below(a, b) for a, b in pairwise(rows)) < 10
