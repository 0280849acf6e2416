"""Tasks in real processes: order, failures, kill -9, two processes on one plan."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from wocar.cli import task_process
from wocar.files import write_json
from wocar.reproduce.commands import TrainTask
from wocar.reproduce.local_processes import LocalExecutor
from wocar.reproduce.scheduler import PlanObserver, TaskOutcome, carry_out
from wocar.reproduce.tasks import Task, TaskFolder

CHART = {"name": "c", "title": "t", "about": "", "x": "x", "y": "y", "kind": "lines", "series": [], "sources": []}
SMALL = {"n_envs": 1, "n_steps": 16, "minibatches": 1, "policy_epochs": 1, "value_epochs": 1, "hidden": 4}
DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_local import page, training
from wocar.cli import task_process
from wocar.reproduce.local_processes import LocalExecutor
from wocar.reproduce.scheduler import carry_out
tasks = {"pages": lambda: [page(i) for i in range(6)], "training": lambda: [page(0), training()]}[sys.argv[3]]()
root = Path(sys.argv[2])
result = carry_out(tasks, root, LocalExecutor(root, 1, 1000, task_process.__name__))
sys.exit(len(result.failed))
"""


@dataclass(frozen=True)
class PageTask(Task):
    """A quick task: the page of one chart."""

    number: int
    after: tuple[Task, ...]
    source: str

    kind = "page"
    result = "page.html"

    @property
    def title(self) -> str:
        return f"page {self.number}"

    @property
    def needs(self) -> tuple[Task, ...]:
        return self.after

    def words(self, out: str) -> list[str]:
        return ["report", self.source, "--out", f"{out}/page.html", "--title", str(self.number)]


def page(number: int, *needs: Task, source: str = "chart.json") -> Task:
    return PageTask(number, needs, source)


def training() -> Task:
    """One that takes long enough to be killed."""
    return TrainTask("ppo", "GoHome-v0", 0, 3200, 160, False, settings=tuple(SMALL.items()))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_json(tmp_path / "chart.json", {"chart": CHART})
    return tmp_path


def drive(root: Path, plan: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", DRIVER, str(Path(__file__).parent), str(root), plan]
    return subprocess.Popen(command, start_new_session=True)


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float = 240) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


class Listener(PlanObserver):
    def __init__(self) -> None:
        self.words: list[str] = []

    def found(self, done: int, total: int) -> None:
        self.words.append(f"found {done} of {total}")

    def ended(self, outcome: TaskOutcome, again: bool) -> None:
        self.words.append(f"{outcome.task.title} {outcome.kind}{' again' if again else ''}")

    def left_out(self, task: Task, because: Task) -> None:
        self.words.append(f"{task.title} left out for {because.title}")


def test_a_failure_is_named_and_retried_and_the_rest_completes(root: Path) -> None:
    bad = page(1, source="nothing.json")
    tasks = [page(0), bad, page(2, bad), page(3, page(0))]
    told = Listener()
    result = carry_out(tasks, root, LocalExecutor(root, 2, 1000, task_process.__name__), told)
    assert {task.title for task in result.done} == {"page 0", "page 3"}
    assert list(result.failed) == ["page 1"] and "there is no nothing.json" in result.failed["page 1"]
    assert result.left_out == ["page 2"]
    assert told.words.count("page 1 failed again") == 1 and told.words.count("page 1 failed") == 1
    assert "page 2 left out for page 1" in told.words
    assert TaskFolder(root / bad.folder).failed == result.failed["page 1"]

    told, start = Listener(), time.monotonic()
    again = carry_out(tasks[:1] + tasks[3:], root, LocalExecutor(root, 2, 1000, task_process.__name__), told)
    assert told.words == ["found 2 of 2"] and again.run == 0 and time.monotonic() - start < 1


def test_what_lies_in_the_folder_decides_no_command_and_is_not_imported(root: Path) -> None:
    task = page(0)
    folder = TaskFolder(root / task.folder)
    folder.path.mkdir(parents=True)
    planted = {"title": task.title, "argv": ["report", "chart.json", "--out", "planted.html"], "key": task.key}
    write_json(folder.path / "task.json", {**planted, "result": "task.json"})
    (root / "rich.py").write_text("open('imported', 'w').close()")
    result = carry_out([task], root, LocalExecutor(root, 1, 1, task_process.__name__))
    assert result.done == [task] and (folder.path / "page.html").is_file()
    assert not (root / "planted.html").exists() and not (root / "imported").exists()
    assert not (root / ".cache").exists()  # compiled programs, which are machine code, are kept elsewhere


def test_a_fresh_process_for_each_task_and_one_that_dies(root: Path) -> None:
    result = carry_out([page(0), page(1)], root, LocalExecutor(root, 1, 1, task_process.__name__))
    assert result.run == 2 and not result.failed

    executor = LocalExecutor(root, 1, 1000, task_process.__name__)
    executor.start(task := page(2))
    TaskFolder(root / task.folder).path.mkdir(parents=True)
    os.kill(executor.workers[0].process.pid, signal.SIGKILL)
    [outcome] = executor.wait(10)
    executor.close()
    assert outcome.kind == "failed" and "signal 9" in outcome.why


def test_two_processes_on_one_plan_do_each_task_once(root: Path) -> None:
    both = [drive(root, "pages") for _ in range(2)]
    assert [process.wait(timeout=240) for process in both] == [0, 0]
    for number in range(6):
        folder = TaskFolder(root / page(number).folder)
        assert folder.done and folder.log.read_text().count("page.html") == 1


@pytest.mark.parametrize("whole", [True, False], ids=["all", "parent"])
def test_kill_9_in_the_middle(root: Path, whole: bool) -> None:
    """Of all processes, or of the parent alone, whose worker then finishes its task."""
    task, quick = training(), page(0)
    first = drive(root, "training")
    checkpoints = root / task.folder / "run" / "checkpoints"
    wait_for(lambda: checkpoints.is_dir() and any(checkpoints.iterdir()), first)
    os.killpg(first.pid, signal.SIGKILL) if whole else os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert not TaskFolder(root / task.folder).done
    done = root / quick.folder / "done.json"
    before = done.stat().st_mtime_ns
    assert drive(root, "training").wait(timeout=240) == 0
    assert TaskFolder(root / task.folder).done
    assert done.stat().st_mtime_ns == before
    lines = (root / task.folder / "run" / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line)["steps"] for line in lines]
    assert steps == sorted(set(steps)) and steps[-1] == 3200
    starts = (root / task.folder / "log.txt").read_text().count("agent in ")
    assert starts == 1
