"""Display of a running audit: a live table on a terminal, elsewhere a line for each finished attack."""

import sys
import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from wocar.cli.audit_table import table
from wocar.cli.options import say
from wocar.evaluation.audit import AuditObserver
from wocar.evaluation.audit_result import AuditRow


class AuditDisplay(AuditObserver):
    def __init__(self, title: str) -> None:
        self.title, self.source = title, ""
        self.rows: list[tuple[str, AuditRow]] = []
        self.total, self.done, self.words = 0, 0, "starting"
        self._run, self._busy, self._since = 0, 0.0, time.monotonic()
        self._running = False
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

    def start(self, episodes: int) -> None:
        self.total = episodes

    def stage(self, attack: str, eps: float, words: str) -> None:
        self.words = f"{attack} at eps {eps:g}: {words}"
        self._busy, self._since = self._time_with_episodes(), time.monotonic()
        self._running = words not in ("training", "preparing")
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
            say(f"{attack} at eps {row['eps']:g}: {row['mean']:.1f} ± {row['std']:.1f}; {self.progress}")

    def parts(self, run: int, reused: int, refused: int) -> None:
        if reused:
            say(f"{reused} of {run + reused} parts were kept from an earlier audit; --fresh runs them again")
        if refused:
            say(f"{refused} parts were run again: those kept were not written by your wocar, or were edited")

    @property
    def progress(self) -> str:
        """Episodes done, their rate, and the time that the others take at that rate; trainings come on top."""
        text = f"{self.done:,}/{self.total:,} episodes"
        if not self._run:
            return text
        rate = self._run / max(self._time_with_episodes(), 1e-9)
        return f"{text}, {rate:.1f} episodes/s, {(self.total - self.done) / rate:.0f} s of episodes left"

    def _time_with_episodes(self) -> float:
        return self._busy + (time.monotonic() - self._since if self._running else 0.0)

    def _shown(self) -> Group:
        return Group(table(self.title, self.rows), Text(f"{self.words}  {self.progress}", style="dim"))
