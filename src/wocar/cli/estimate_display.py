"""Display of a running estimate: explorations done, the value so far, and the time left for a radius."""

import time
from pathlib import Path

from wocar.cli.options import clock, say

EVERY = 5.0
"""Seconds between lines."""


class EstimateDisplay:
    def __init__(self) -> None:
        self.finished: list[float] = []
        self._eps: float | None = None
        self._start = self._said = time.monotonic()

    def progress(self, eps: float, done: int, total: int, value: float) -> None:
        now = time.monotonic()
        if eps != self._eps:
            self._eps, self._start = eps, now
        elif now - self._said < EVERY:
            return
        self._said = now
        left = f", {clock((now - self._start) * (total - done) / done)} left at most" if done else ""
        say(f"eps {eps:g}: exploration {done + 1} of {total}, value so far {value:.1f}{left}")

    def radius(self, eps: float) -> None:
        self.finished.append(eps)
        say(f"estimated at eps {eps:g}")

    def stopped(self, folder: Path | None, again: str) -> str:
        """What is kept of an estimate that was stopped, and how it goes on."""
        if folder is None:
            return "stopped, nothing is kept: with --out DIR or --json FILE finished radii are"
        return f"stopped: {len(self.finished)} radii are kept in {folder}; go on with: {again}"
