"""Display of a running audit: a live table on a terminal, elsewhere a line for each finished attack."""

import sys
import time
from pathlib import Path
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from wocar.cli.audit_table import table
from wocar.cli.options import clock, say
from wocar.evaluation.audit import AuditObserver
from wocar.evaluation.audit_result import AuditRow


class AuditDisplay(AuditObserver):
    def __init__(self, title: str) -> None:
        self.title, self.source = title, ""
        self.rows: list[tuple[str, AuditRow]] = []
        self.total, self.total_rows, self.done, self.words = 0, 0, 0, "starting"
        self._run, self._busy, self._since = 0, 0.0, time.monotonic()
        self._running = True
        self._live: Live | None = None
        if sys.stderr.isatty():
            self._live = Live(console=Console(stderr=True), transient=True, get_renderable=self._shown)

    def __enter__(self) -> "AuditDisplay":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def threat(self, source: str) -> None:
        self.source = source

    def start(self, episodes: int, rows: int) -> None:
        self.total, self.total_rows, self.done, self.rows = episodes, rows, 0, []
        self._run, self._busy, self._since = 0, 0.0, time.monotonic()

    def stage(self, attack: str, eps: float, words: str) -> None:
        self.words = f"{attack} at eps {eps:g}: {words}"
        self._busy, self._since = self._time_without_training(), time.monotonic()
        self._running = words != "training"
        if words == "training":
            say(self.words)
        if self._live and words == "training":
            self._live.stop()  # the training shows its own bar
        elif self._live:
            self._live.start()

    def episodes(self, n: int, kept: bool = False) -> None:
        self.done += n
        if not kept:
            self._run += n

    def row(self, attack: str, row: AuditRow) -> None:
        self.rows.append((attack, row))
        if not self._live:
            say(f"{attack} at eps {row['eps']:g}: {row['mean']:.1f} ± {row['std']:.1f} [{self.progress}]")

    def parts(self, run: int, reused: int, refused: int) -> None:
        if reused:
            say(f"{reused} of {run + reused} parts were kept from an earlier audit; --fresh runs them again")
        if refused:
            say(f"{refused} parts were run again: those kept were not written by your wocar, or were edited")

    @property
    def progress(self) -> str:
        """Episodes done, and the time that the others take at the same rate; trainings of attackers come on top.

        No time before a first attack is done: episodes without attack are much faster.
        """
        text = f"{self.done}/{self.total}"
        if not self._run or not any(row["eps"] > 0 for _, row in self.rows):
            return text
        rate = self._run / max(self._time_without_training(), 1e-9)
        return f"{text}, {clock((self.total - self.done) / rate)} left"

    def stopped(self, folder: Path | None, again: str) -> str:
        """What is kept of an audit that was stopped, and how it goes on."""
        done = f"{len(self.rows)} of {self.total_rows} attacks"
        if folder is None:
            return f"stopped after {done}, nothing is kept: with --out DIR finished parts are"
        return f"stopped: {done} are kept in {folder}; go on with: {again}"

    def _time_without_training(self) -> float:
        return self._busy + (time.monotonic() - self._since if self._running else 0.0)

    def _shown(self) -> Group:
        return Group(table(self.title, self.rows), Text(f"{self.words} [{self.progress}]", style="dim"))
