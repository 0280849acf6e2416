"""Tasks of a plan: one `wocar` command each, in a folder named by what it computes; and what that folder holds."""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os.path import isfile
from pathlib import Path
from typing import Any, ClassVar

from wocar.files import no_link, one_line_errors, read_json, write_json
from wocar.types import UserError

FOLDER = "tasks"
"""Below the folder of all plans: tasks are shared between them."""


@dataclass(frozen=True)
class Task:
    """What every kind of task has; its fields say what is computed."""

    kind: ClassVar[str]
    result: ClassVar[str]
    """A file in the folder that is there when the task is done."""

    @property
    def title(self) -> str:
        raise NotImplementedError

    @property
    def needs(self) -> tuple["Task", ...]:
        """Tasks that must be done before."""
        return ()

    @property
    def seconds(self) -> float:
        """An estimate, on one core."""
        return 60.0

    def words(self, out: str) -> list[str]:
        """The command, with this folder for what it computes."""
        raise NotImplementedError

    def argv(self) -> list[str]:
        return self.words(self.folder)

    @cached_property
    def key(self) -> str:
        """Of the content: the same command on the same inputs is the same task."""
        text = json.dumps([self.words("{out}"), self.result, [need.key for need in self.needs]])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def folder(self) -> str:
        """Relative to the folder of all plans, in which commands are run."""
        return f"{FOLDER}/{re.sub(r'[^a-z0-9.]+', '-', self.title.lower())[:90]}-{self.key[:10]}"


class TaskFolder:
    """The state of a task on disk. The process that holds its lock works on it; a killed one holds none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    def prepare(self, task: Task) -> None:
        """Write the command, for the process that runs it; one that was there is not believed."""
        self.path.mkdir(parents=True, exist_ok=True)
        text = {"title": task.title, "argv": task.argv(), "key": task.key, "result": task.result}
        if self.task() != text:
            write_json(self.path / "task.json", text)

    def task(self) -> dict[str, Any]:
        """What `prepare` wrote; empty where it cannot be read."""
        return self._read("task.json") or {}

    @property
    def done(self) -> dict[str, Any] | None:
        """How the task was done, or None."""
        return self._read("done.json")

    @property
    def failed(self) -> str:
        """Why it failed the last time; empty where it did not."""
        why = self._read("failed.json")
        return str(why.get("why", "unknown")) if why is not None and not self.done else ""

    def _read(self, name: str) -> dict[str, Any] | None:
        """The JSON object in one of its files, or None."""
        try:
            data = read_json(self.path / name) if isfile(self.path / name) else None
        except UserError:
            return None
        return data if isinstance(data, dict) else None

    def finish(self, **facts: Any) -> None:
        write_json(self.path / "done.json", facts)
        (self.path / "failed.json").unlink(missing_ok=True)

    def fail(self, why: str) -> None:
        write_json(self.path / "failed.json", {"why": why})

    def last_words(self) -> str:
        """The end of the log, in one line."""
        lines = self.log.read_text(errors="replace").splitlines() if isfile(self.log) else []
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "no word in its log")

    @contextmanager
    def claimed(self) -> Iterator[bool]:
        """Whether the task is ours while the block lasts: one process at a time has it."""
        with one_line_errors("write", self.path):
            claim = open(self.path / ".claim", "w", opener=no_link)  # noqa: SIM115  closed below
        with claim as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            file.write(str(os.getpid()))
            file.flush()
            yield True
