"""Death before a file operation: whatever is cut off, going on gives the same result.

The process does not really die: from the chosen operation on, every file operation in the folder raises, so that the
disk stays as a death would leave it. `DEATHS=all` tries every operation, else a few are tried.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import pytest

import wocar
from wocar.agent import Agent
from wocar.cli import main, task_process
from wocar.envs import env_spec
from wocar.files import write_json
from wocar.networks import CategoricalPolicy, RunningNormaliser
from wocar.reproduce.scheduler import TaskOutcome, carry_out
from wocar.reproduce.tasks import Task, TaskFolder

OPERATIONS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "ctypes.dlsym"}
FEW = 9
ALL = os.environ.get("DEATHS") == "all"
PAGES, ATTACKS = (9, "none,random,random-corner,maxdiff-plain,pgd-10") if ALL else (2, "none,random")


class Death(BaseException):
    pass


class Mortality:
    """Counts file operations below a folder, and lets none happen from a given one on."""

    def __init__(self) -> None:
        self.folder, self.count, self.last = "", 0, sys.maxsize
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.folder:
            return
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event not in OPERATIONS and not writes:
            return
        if event != "ctypes.dlsym" and not os.path.abspath(str(arguments[0])).startswith(self.folder):
            return
        self.count += 1
        if self.count > self.last:
            raise Death

    def run(self, folder: Path, work: Callable[[Path], Any], last: int = sys.maxsize) -> int:
        """The number of operations, or of those before the death."""
        self.folder, self.count, self.last = str(folder), 0, last
        try:
            work(folder)
        except Death:
            pass
        finally:
            self.folder = ""
        return min(self.count, last)


MORTALITY = Mortality()


def train(folder: Path) -> None:
    sizes = {"steps": 48, "checkpoint-every": 16, "n-envs": 1, "n-steps": 16, "minibatches": 1, "hidden": 4}
    options = [f"--{name}={size}" for name, size in sizes.items()]
    with pytest.raises(SystemExit) as stop:
        main(["train", "ppo", "--env", "CartPole-v1", "--out", str(folder / "run"), "--resume", *options])
    assert not stop.value.code


def audit(folder: Path) -> None:
    spec = env_spec("CartPole-v1")
    policy = CategoricalPolicy.create(spec.obs_shape[0], spec.actions.size, jax.random.key(0), (4,))
    agent = Agent(spec, RunningNormaliser.create(spec.obs_shape), policy, {}, {"method": "ppo"})
    result = wocar.audit(agent, attacks=ATTACKS, eps=0.1, episodes=2, out=folder / "parts")
    write_json(folder / "audit.json", {"attacks": result["attacks"], "worst": result["worst"]})


@dataclass(frozen=True)
class ChartTask(Task):
    """A page of one chart."""

    number: int
    kind, result = "page", "page.html"

    @property
    def title(self) -> str:
        return f"page {self.number}"

    def words(self, out: str) -> list[str]:
        return ["report", "chart.json", "--out", f"{out}/page.html", "--title", str(self.number)]


class HereExecutor:
    """Runs tasks in this process."""

    free = 1

    def __init__(self, root: Path) -> None:
        self.root, self.ended = root, []

    def start(self, task: Task) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.root)
            told = task_process.run(TaskFolder(Path(task.folder)))
        self.ended.append(TaskOutcome(task, told["outcome"], told.get("why", ""), told.get("seconds", 0.0)))

    def wait(self, seconds: float) -> list[TaskOutcome]:
        ended, self.ended = self.ended, []
        return ended

    def close(self) -> None:
        pass


def reproduce(folder: Path) -> None:
    chart = {"name": "c", "title": "t", "about": "", "x": "x", "y": "y", "kind": "lines", "series": [], "sources": []}
    if not (folder / "chart.json").exists():
        write_json(folder / "chart.json", {"chart": chart})
    result = carry_out([ChartTask(number) for number in range(PAGES)], folder, HereExecutor(folder))
    assert not result.failed


def contents(folder: Path) -> dict[str, Any]:
    """What must come out the same: agents, results and pages, and the numbers of the metrics."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name in ("agent.safetensors", "audit.json", "page.html"):
            found[name] = path.read_bytes()
        if path.name == "metrics.jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            clock = ("time", "rate", "seconds")
            found[name] = [{key: value for key, value in row.items() if key not in clock} for row in rows]
        if path.name.endswith(".partial") and path.parent.name != "tasks":
            found[name] = "left over"
    return found


@pytest.mark.parametrize("work", [train, audit, reproduce], ids=lambda work: work.__name__)
def test_death_before_a_file_operation_changes_nothing(
    work: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr("wocar.training.tensorboard.TensorBoardWriter.__init__", lambda *_: None)
    monkeypatch.setattr("wocar.training.tensorboard.TensorBoardWriter.add", lambda *_: None)
    monkeypatch.setattr("wocar.training.tensorboard.TensorBoardWriter.flush", lambda *_: None)
    whole = tmp_path / "whole"
    whole.mkdir()
    count = MORTALITY.run(whole, work)
    wanted = contents(whole)
    assert count > FEW and wanted
    every = range(count) if ALL else range(0, count, -(-count // FEW))
    for last in every:
        folder = tmp_path / "cut"
        folder.mkdir()
        assert MORTALITY.run(folder, work, last) == last
        MORTALITY.run(folder, work)
        left = {name: value for name, value in contents(folder).items() if value != "left over"}
        assert left == wanted, f"after a death before operation {last} of {count}"
        shutil.rmtree(folder)
    record_property("deaths", len(every))
