"""Training progress: a live bar on a terminal, a plain line every few seconds elsewhere."""

import sys
import time
from collections import deque
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class TrainingProgress:
    """Shows steps done, return of recent episodes, steps per second and time left."""

    def __init__(self, label: str, total: int, done: int, origin: Path | None = None, every: float = 10.0) -> None:
        if origin is not None:
            print(f"continuing from {origin}", file=sys.stderr, flush=True)
        self._label, self._total, self._done, self._every = label, total, done, every
        self._last_line = 0.0
        self._recent: deque[tuple[float, int]] = deque([(time.monotonic(), done)], maxlen=50)
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))

    def __enter__(self) -> "TrainingProgress":
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task(self._label, total=self._total, completed=self._done)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    @property
    def rate(self) -> float:
        """Recent steps per second."""
        (start, first), (end, last) = self._recent[0], self._recent[-1]
        return (last - first) / max(end - start, 1e-9)

    def update(self, done: int, mean_return: float) -> None:
        self._recent.append((time.monotonic(), done))
        text = f"{self._label}  return {mean_return:.1f}  {self.rate:,.0f} steps/s"
        if self._bar:
            self._bar.update(self._task, completed=done, description=text)
        elif (now := time.monotonic()) - self._last_line > self._every or done >= self._total:
            self._last_line = now
            left = (self._total - done) / max(self.rate, 1e-9)
            print(f"{text}  {done:,}/{self._total:,}  {left:.0f} s left", file=sys.stderr, flush=True)
