"""Statistics of episode returns."""

import math
import warnings
from typing import NamedTuple, TypedDict

import numpy as np
import scipy  # loads scipy.stats, which takes a second, when first used


class Summarised(TypedDict):
    """What a test of two means needs; rows of an audit have more."""

    mean: float
    std: float
    episodes: int


class Summary(NamedTuple):
    mean: float
    std: float
    """Over episodes, population form."""
    low: float
    high: float
    """Bootstrap confidence interval of the mean."""


def summarise(returns: np.ndarray, confidence: float = 0.95, resamples: int = 2000, seed: int = 0) -> Summary:
    """Mean and std of episode returns (episodes,), bias-corrected and accelerated bootstrap interval of the mean."""
    returns = np.asarray(returns, np.float64)
    mean, std = float(returns.mean()), float(returns.std())
    if len(returns) < 2 or np.ptp(returns) == 0:
        return Summary(mean, std, mean, mean)
    low, high = _interval(returns, "BCa", confidence, resamples, seed)
    if not (math.isfinite(low) and math.isfinite(high)):  # too few values for the acceleration
        low, high = _interval(returns, "percentile", confidence, resamples, seed)
    return Summary(mean, std, low, high)


def _interval(returns: np.ndarray, method: str, confidence: float, resamples: int, seed: int) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = scipy.stats.bootstrap(
            (returns,),
            np.mean,
            n_resamples=resamples,
            confidence_level=confidence,
            method=method,
            vectorized=True,
            rng=np.random.default_rng(seed),
        )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def surely_below(lower: Summarised, higher: Summarised, chance: float = 0.002) -> bool:
    """Whether the mean of one row of an audit lies below another's by more than chance: Welch's test, one-sided."""
    gap = higher["mean"] - lower["mean"]
    if gap <= 1e-6 * (1 + abs(lower["mean"])) or min(lower["episodes"], higher["episodes"]) < 2:
        return False
    (m1, s1, n1), (m2, s2, n2) = ((row["mean"], row["std"], row["episodes"]) for row in (lower, higher))
    if s1 == s2 == 0:
        return True
    sample1, sample2 = s1 * math.sqrt(n1 / (n1 - 1)), s2 * math.sqrt(n2 / (n2 - 1))
    found = scipy.stats.ttest_ind_from_stats(m1, sample1, n1, m2, sample2, n2, equal_var=False, alternative="less")
    return bool(found.pvalue < chance)
