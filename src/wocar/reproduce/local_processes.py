"""Executor: tasks in processes of this machine."""

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path

from wocar.reproduce.scheduler import TaskOutcome
from wocar.reproduce.tasks import Task, TaskFolder


def task_environment() -> dict[str, str]:
    """Environment variables of a task's process: one core each, since processes share a machine better than threads.

    Compiled programs are kept in the user's cache, never in the folder of the plans: whoever made that folder could
    have put other machine code there.
    """
    usual = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return {**usual, **os.environ}


class TaskProcess:
    """A process that runs one task after another."""

    def __init__(self, root: Path, program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", program],  # -P: modules that lie in the folder are not imported
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=root,
            env=task_environment(),
            text=True,
        )
        self.task: Task | None = None
        self.since, self.handed = 0.0, 0

    def start(self, task: Task) -> None:
        assert self.process.stdin is not None
        self.task, self.since = task, time.monotonic()
        self.handed += 1
        try:
            self.process.stdin.write(f"{task.folder}\n")
            self.process.stdin.flush()
        except OSError:  # it has died: `answer` finds out
            pass

    def answer(self, root: Path) -> TaskOutcome:
        """The outcome of the task, once the process has written it or died."""
        assert self.process.stdout is not None and self.task is not None
        task, line = self.task, self.process.stdout.readline()
        self.task = None
        seconds = time.monotonic() - self.since
        if line:
            told = json.loads(line)
            return TaskOutcome(task, told["outcome"], told.get("why", ""), seconds if "seconds" in told else 0.0)
        code = self.process.wait()
        why = f"its process died ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
        TaskFolder(root / task.folder).fail(why)
        return TaskOutcome(task, "failed", why, seconds)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        """End the process, also in the middle of a task."""
        if self.task is not None:
            self.process.terminate()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:
                    continue
        self.process.wait()


class LocalExecutor:
    """`jobs` processes of the module `program`. Each does `tasks_each` tasks, so that compiled programs are reused, and
    is then replaced by a new one, so that leaked memory does not add up.
    """

    def __init__(self, root: Path, jobs: int, tasks_each: int, program: str) -> None:
        self.root, self.jobs, self.tasks_each, self.program = root, jobs, tasks_each, program
        self.workers: list[TaskProcess] = []

    @property
    def free(self) -> int:
        return self.jobs - sum(worker.task is not None for worker in self.workers)

    def start(self, task: Task) -> None:
        for worker in [w for w in self.workers if w.task is None]:
            if worker.alive and worker.handed < self.tasks_each:
                worker.start(task)
                return
            worker.stop()
            self.workers.remove(worker)
        self.workers.append(TaskProcess(self.root, self.program))
        self.workers[-1].start(task)

    def wait(self, seconds: float) -> list[TaskOutcome]:
        busy = [worker for worker in self.workers if worker.task is not None]
        if not busy:
            time.sleep(seconds)
            return []
        with selectors.DefaultSelector() as selector:
            for worker in busy:
                assert worker.process.stdout is not None
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            return [key.data.answer(self.root) for key, _ in selector.select(seconds)]

    def close(self) -> None:
        for worker in self.workers:
            worker.stop()
