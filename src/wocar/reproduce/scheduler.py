"""Scheduler: starts the tasks of a plan when those they need are done, retries failures, completes the rest."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from wocar.reproduce.tasks import Task, TaskFolder

TRIES = 2
"""A task that fails is tried once more."""
LOOK_AGAIN = 1.0
"""Seconds after which a task that another process works on is tried again."""


class TaskOutcome(NamedTuple):
    task: Task
    kind: str
    """done, failed, or busy: another process works on it."""
    why: str = ""
    seconds: float = 0.0


class Executor(Protocol):
    """Something that runs tasks, several at a time."""

    @property
    def free(self) -> int:
        """How many more tasks it takes now."""
        ...

    def start(self, task: Task) -> None: ...

    def wait(self, seconds: float) -> list[TaskOutcome]:
        """What has ended; returns as soon as something has."""
        ...

    def close(self) -> None: ...


class PlanObserver:
    """Receives the progress of a plan. This one ignores it."""

    def found(self, done: int, total: int) -> None:
        """So many of the tasks were done before."""

    def started(self, task: Task) -> None: ...

    def ended(self, outcome: TaskOutcome, again: bool) -> None:
        """A task is done, or has failed; `again`: it will be retried."""

    def left_out(self, task: Task, because: Task) -> None:
        """A task is skipped, because one it needs has failed."""


@dataclass
class Result:
    done: list[Task] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Title of a task to why it failed."""
    left_out: list[str] = field(default_factory=list)
    run: int = 0
    """Tasks that were run now."""
    seconds: float = 0.0
    waited: float = 0.0
    """Seconds of these spent waiting for tasks."""

    @property
    def overhead(self) -> float:
        """Share of the time that went into scheduling."""
        return 1 - self.waited / self.seconds if self.seconds else 0.0


def carry_out(tasks: Sequence[Task], root: Path, executor: Executor, watch: PlanObserver | None = None) -> Result:
    """Run the tasks that are not done yet. Each must come after those it needs."""
    try:
        return _Run(tasks, root, executor, watch or PlanObserver()).result()
    finally:
        executor.close()


class _Run:
    def __init__(self, tasks: Sequence[Task], root: Path, executor: Executor, watch: PlanObserver) -> None:
        self.root, self.executor, self.watch = root, executor, watch
        self.waiting = list(tasks)
        self.finished: set[str] = set()
        self.broken: dict[str, Task] = {}
        self.tries: dict[str, int] = {}
        self.asked: dict[str, float] = {}
        self.running = 0
        self.found = Result()

    def result(self) -> Result:
        start = time.monotonic()
        there = [task for task in self.waiting if self._folder(task).done]
        self._finish(there)
        self.watch.found(len(there), len(self.waiting) + len(there))
        while self.waiting or self.running:
            self._start()
            if self.running or self.waiting:
                since = time.monotonic()
                outcomes = self.executor.wait(LOOK_AGAIN)
                self.found.waited += time.monotonic() - since
                for outcome in outcomes:
                    self._take(outcome)
        self.found.seconds = time.monotonic() - start
        return self.found

    def _folder(self, task: Task) -> TaskFolder:
        return TaskFolder(self.root / task.folder)

    def _finish(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self.finished.add(task.key)
            self.found.done.append(task)
            self.waiting.remove(task)

    def _start(self) -> None:
        """Start tasks whose needs are done, in the plan's order; drop those whose needs have failed."""
        now = time.monotonic()
        for task in list(self.waiting):
            lost = next((need for need in task.needs if need.key in self.broken), None)
            if lost is not None:
                self.waiting.remove(task)
                self.broken[task.key] = self.broken[lost.key]
                self.found.left_out.append(task.title)
                self.watch.left_out(task, self.broken[lost.key])
                continue
            if self.executor.free <= 0:
                continue
            ready = all(need.key in self.finished for need in task.needs)
            if not ready or now < self.asked.get(task.key, 0.0):
                continue
            if self._folder(task).done:  # by another process, meanwhile
                self._finish([task])
                continue
            self._folder(task).prepare(task)
            self.waiting.remove(task)
            self.running += 1
            self.executor.start(task)
            self.watch.started(task)

    def _take(self, outcome: TaskOutcome) -> None:
        task = outcome.task
        self.running -= 1
        if outcome.kind == "done":
            self.finished.add(task.key)
            self.found.done.append(task)
            self.found.run += outcome.seconds > 0
            self.watch.ended(outcome, False)
        elif outcome.kind == "busy":
            self.asked[task.key] = time.monotonic() + LOOK_AGAIN
            self.waiting.insert(0, task)
        else:
            self.tries[task.key] = self.tries.get(task.key, 0) + 1
            again = self.tries[task.key] < TRIES
            if again:
                self.waiting.insert(0, task)
            else:
                self.broken[task.key] = task
                self.found.failed[task.title] = outcome.why
            self.watch.ended(outcome, again)
