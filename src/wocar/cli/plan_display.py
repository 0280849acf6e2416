"""Display of a plan: the list of its tasks, a line for each that ends, a progress bar on a terminal."""

import shlex
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from wocar.cli.options import clock, say
from wocar.reproduce.plan import Plan
from wocar.reproduce.scheduler import PlanObserver, TaskOutcome
from wocar.reproduce.tasks import Task, TaskFolder


def listing(plan: Plan, root: Path, jobs: int) -> str:
    """The tasks with their commands and times, missing rows, and the total time."""
    lines = [f"{plan.target} at scale {plan.scale.name}: {plan.scale.about}", ""]
    finished = set()
    for i, task in enumerate(plan.tasks, start=1):
        done = TaskFolder(root / task.folder).done
        finished |= {task.key} if done else set()
        state = f"done in {clock(done['seconds'])}" if done else f"about {clock(task.seconds)}"
        after = ", ".join(str(plan.tasks.index(need) + 1) for need in task.needs)
        lines.append(f"{i:4}. {task.title}  ({state}{f', after {after}' if after else ''})")
        lines.append(f"      wocar {shlex.join(task.argv())}")
    lines.append(f"{len(plan.tasks) + 1:4}. draw  (about 10 s, after all)")
    folder = root / plan.name
    lines.append(f"      wocar report {folder} --out {folder / 'report.html'}")
    lines += [f"      {m.row.method} on {m.row.env}: {m.why}" for m in plan.missing]
    total = clock(plan.seconds(jobs, finished))
    lines += ["", f"{len(plan.tasks)} tasks, about {total} with {jobs} at a time; commands run in {root}"]
    return "\n".join(lines)


def budget(plans: Iterable[Plan]) -> str:
    """The hours of the same target at each scale, from nothing, on two cores."""
    hours = [f"{plan.scale.name} {_hours(plan.seconds(2) / 3600)}" for plan in plans]
    return f"estimates for two cores without other work, from nothing: {', '.join(hours)}"


def _hours(hours: float) -> str:
    return f"{60 * hours:.0f} min" if hours < 1 else f"{hours:.0f} h"


class PlanDisplay(PlanObserver):
    def __init__(self, total: int) -> None:
        self.total, self.done, self.since = total, 0, time.monotonic()
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))

    def __enter__(self) -> "PlanDisplay":
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task("tasks", total=self.total)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def found(self, done: int, total: int) -> None:
        self.done = done
        if done:
            say(f"{done} of {total} tasks are done already")
        self._show()

    def ended(self, outcome: TaskOutcome, again: bool) -> None:
        if outcome.kind == "done":
            self.done += 1
            say(f"[{self.done}/{self.total}] {outcome.task.title}: {clock(outcome.seconds)}")
        else:
            say(f"failed{', trying again' if again else ''}: {outcome.task.title}: {outcome.why}")
        self._show()

    def left_out(self, task: Task, because: Task) -> None:
        say(f"left out: {task.title}, because this failed: {because.title}")

    def _show(self) -> None:
        if self._bar:
            self._bar.update(self._task, completed=self.done)
