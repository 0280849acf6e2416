"""Numbers from returns, with an explicit generator."""

from typing import NamedTuple

import numpy as np


class Summary(NamedTuple):
    mean: float
    std: float
    """Over episodes, population form."""
    low: float
    high: float
    """Bootstrap confidence interval of the mean."""


def summarise(returns: np.ndarray, confidence: float = 0.95, resamples: int = 2000, seed: int = 0) -> Summary:
    """Mean and std of episode returns (episodes,), percentile bootstrap interval of the mean."""
    returns = np.asarray(returns, np.float64)
    rng = np.random.default_rng(seed)
    means = returns[rng.integers(0, len(returns), (resamples, len(returns)))].mean(axis=1)
    tail = 50 * (1 - confidence)
    low, high = np.percentile(means, [tail, 100 - tail])
    return Summary(float(returns.mean()), float(returns.std()), float(low), float(high))
