"""Statistics over seeds and tasks: one score for each run, runs grouped by task (Agarwal et al., 2021).

Intervals are percentiles of stratified bootstraps: runs are drawn anew within each task, tasks stay as they are.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy  # loads scipy.stats, which takes a second, when first used

Scores = Sequence[np.ndarray]
"""For each task the scores of its runs (runs,); scores of different tasks must be in comparable units."""
Statistic = Callable[[np.ndarray], np.ndarray]
"""Scores of all runs (..., runs) to one number each."""

CONFIDENCE = 0.95
RESAMPLES = 2000


class Estimate(NamedTuple):
    value: float
    low: float
    high: float


class Profile(NamedTuple):
    """For each threshold the share of runs above it, and its interval."""

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


def median(runs: np.ndarray) -> np.ndarray:
    """Over the runs of all tasks."""
    return np.median(runs, axis=-1)


def iqm(runs: np.ndarray) -> np.ndarray:
    """Interquartile mean: of the runs of all tasks, without the lowest and the highest quarter."""
    return np.asarray(scipy.stats.trim_mean(runs, 0.25, axis=-1))


def median_agent(scores: np.ndarray) -> int:
    """The paper's way: which of N agents is the median one; of two in the middle the lower."""
    if not len(scores):
        raise ValueError("no agents")
    return int(np.argsort(scores, kind="stable")[(len(scores) - 1) // 2])


def estimate(
    scores: Scores,
    statistic: Statistic = iqm,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """A statistic of all runs and its stratified bootstrap interval."""
    value = float(statistic(np.concatenate(_checked(scores))))
    drawn = statistic(np.concatenate(resampled(scores, resamples, seed), axis=-1))
    return Estimate(value, *_percentiles(drawn, confidence))


def episodes_estimate(
    runs: Scores,
    statistic: Statistic = iqm,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """A statistic of the episodes of all runs of one task, each run an array (episodes,), and its bootstrap interval.

    Both levels are drawn anew: runs with replacement, then as many episodes of each drawn run as the longest has.
    """
    checked, rng = _checked(runs), np.random.default_rng(seed)
    count, length = len(checked), max(len(run) for run in checked)
    padded = np.array([np.resize(run, length) for run in checked])
    sizes = np.array([len(run) for run in checked])
    chosen = rng.integers(count, size=(resamples, count))
    episodes = rng.integers(sizes[chosen][..., None], size=(resamples, count, length))
    drawn = statistic(padded[chosen[..., None], episodes].reshape(resamples, -1))
    return Estimate(float(statistic(np.concatenate(checked))), *_percentiles(drawn, confidence))


def probability_of_improvement(
    ours: Scores,
    theirs: Scores,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """P(X > Y) + P(X = Y) / 2 for a run X of ours and a run Y of theirs on the same task, mean over tasks."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} tasks against {len(theirs)}")

    def improvement(xs: Scores, ys: Scores) -> np.ndarray:
        return np.mean([_above(x, y) for x, y in zip(xs, ys, strict=True)], axis=0)

    value = float(improvement(_checked(ours), _checked(theirs)))
    drawn = improvement(resampled(ours, resamples, seed), resampled(theirs, resamples, seed + 1))
    return Estimate(value, *_percentiles(drawn, confidence))


def performance_profile(
    scores: Scores,
    thresholds: np.ndarray,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Profile:
    """Share of runs, over all tasks, that score above each threshold."""
    runs = np.concatenate(_checked(scores))
    drawn = np.concatenate(resampled(scores, resamples, seed), axis=-1)
    share = np.array([np.mean(runs > t) for t in thresholds])
    bands = [_percentiles(np.mean(drawn > t, axis=-1), confidence) for t in thresholds]
    low, high = np.array(bands).reshape(-1, 2).T
    return Profile(share, low, high)


def resampled(scores: Scores, resamples: int, seed: int) -> list[np.ndarray]:
    """For each task (resamples, runs): its runs, drawn with replacement."""
    rng = np.random.default_rng(seed)
    return [runs[rng.integers(len(runs), size=(resamples, len(runs)))] for runs in _checked(scores)]


def _above(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of pairs with x > y, ties by half: (..., n) and (..., m) to (...)."""
    pairs = np.sign(x[..., :, None] - y[..., None, :])
    return np.mean((pairs + 1) / 2, axis=(-2, -1))


def _percentiles(drawn: np.ndarray, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _checked(scores: Scores) -> list[np.ndarray]:
    arrays = [np.asarray(runs, np.float64) for runs in scores]
    if not arrays or any(runs.ndim != 1 or not len(runs) for runs in arrays):
        raise ValueError("every task needs at least one run, as a flat array")
    return arrays
