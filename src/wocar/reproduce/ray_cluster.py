"""Executor: tasks on a Ray cluster. Nodes share no files: a task's inputs are sent to it, its results are sent back.

Every node has this package installed. A task that is lost with its node is started again on another; one that is
started again on the same node continues from its temporary folder there.
"""

import io
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from wocar import __version__
from wocar.reproduce.scheduler import TaskOutcome
from wocar.reproduce.tasks import Task, TaskFolder
from wocar.runtime import configure
from wocar.types import UserError

RETRIES = 3
"""Of a task whose process or node is lost."""
NOT_SENT = {".claim", ".lock", "tensorboard", "parts"}
"""Parts of a task's folder that no other task reads."""
AHEAD = 2
"""Tasks submitted for each core of the cluster, so that none is idle."""

RunTask = Callable[[TaskFolder], dict[str, Any]]


class RayExecutor:
    def __init__(self, root: Path, address: str | None, jobs: int | None, tasks_each: int, run: RunTask) -> None:
        try:
            import ray
        except ImportError:
            raise UserError("--ray needs Ray: pip install 'wocar[ray]'") from None
        self.root, self._ray, self._run = root, ray, run
        places = {} if address else {"num_cpus": jobs or os.cpu_count()}
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", **places)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UserError(f"no Ray cluster at {address}: {str(error).splitlines()[0]}") from error
        fresh = {"max_calls": 1} if tasks_each == 1 else {}
        self._remote = ray.remote(num_cpus=1, max_retries=RETRIES, **fresh)(remote_task)
        self._running: dict[Any, tuple[Task, ExitStack]] = {}
        self._refused: list[TaskOutcome] = []

    @property
    def free(self) -> int:
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        return AHEAD * cores - len(self._running)

    def start(self, task: Task) -> None:
        claim = ExitStack()
        if not claim.enter_context(TaskFolder(self.root / task.folder).claimed()):
            claim.close()
            self._refused.append(TaskOutcome(task, "busy"))
            return
        inputs = [pack(self.root, need.folder, NOT_SENT) for need in task.needs]
        own = pack(self.root, task.folder, {".claim"})
        self._running[self._remote.remote(self._run, task.folder, task.key, __version__, [own, *inputs])] = task, claim

    def wait(self, seconds: float) -> list[TaskOutcome]:
        refused, self._refused = self._refused, []
        if not self._running:
            time.sleep(0 if refused else seconds)
            return refused
        ready, _ = self._ray.wait(list(self._running), timeout=0 if refused else seconds)
        return refused + [self._collect(reference) for reference in ready]

    def _collect(self, reference: Any) -> TaskOutcome:
        task, claim = self._running.pop(reference)
        folder = TaskFolder(self.root / task.folder)
        with claim:
            try:
                told, files = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                why = f"lost: {str(error).strip().splitlines()[0]}"
                folder.fail(why)
                return TaskOutcome(task, "failed", why)
            unpack(folder.path, files)
            if told["outcome"] == "done":
                folder.finish(seconds=round(told["seconds"], 3), wocar=__version__, key=task.key, node=told["node"])
            else:
                folder.fail(told["why"])
        return TaskOutcome(task, told["outcome"], told.get("why", ""), told["seconds"])

    def close(self) -> None:
        for _, claim in self._running.values():
            claim.close()
        self._ray.shutdown()


def remote_task(
    run: RunTask, folder: str, key: str, version: str, archives: Sequence[bytes]
) -> tuple[dict[str, Any], bytes]:
    """Run a task on a node, in a temporary folder that is kept until the task is done."""
    if version != __version__:
        raise UserError(f"this node has wocar {__version__}, the plan {version}")
    base = Path(tempfile.gettempdir()) / f"wocar-ray-{os.getuid()}"
    configure()
    base.mkdir(mode=0o700, exist_ok=True)
    if base.stat().st_uid != os.getuid():
        raise UserError(f"{base} belongs to another user: remove it, or set TMPDIR")
    root = base / key
    root.mkdir(exist_ok=True)
    os.chdir(root)
    if not (root / folder / "task.json").is_file():
        for archive in archives:
            _extract(root, archive)
    start = time.monotonic()
    while (told := run(TaskFolder(Path(folder))))["outcome"] == "busy":  # an attempt before this one still ends
        time.sleep(0.5)
    files = pack(root, folder, {".claim", "done.json", "failed.json"})
    os.chdir(base)
    shutil.rmtree(root)
    return {"seconds": time.monotonic() - start, **told, "node": os.uname().nodename}, files


def pack(root: Path, folder: str, without: set[str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        archive.add(root / folder, folder, filter=lambda info: None if Path(info.name).name in without else info)
    return out.getvalue()


def unpack(path: Path, files: bytes) -> None:
    """Replace the contents of a task's folder by an archive's; each entry appears at once."""
    incoming = path / ".incoming"
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)
    _extract(incoming, files)
    found = next(child for parent in incoming.iterdir() for child in parent.iterdir())
    for child in sorted(found.iterdir()):
        target = path / child.name
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(child, target)
    shutil.rmtree(incoming)


def _extract(root: Path, archive: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(root, filter="data")
