"""Task process: `python -m wocar.cli.task_process` reads task folders line by line and answers each with a line.

It runs in the folder of all plans. While it works it holds the task's lock, so that no other process runs the same
task; when its parent has died it finishes the current task and ends.
"""

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wocar import __version__
from wocar.cli import main as wocar
from wocar.files import no_link
from wocar.reproduce.tasks import TaskFolder
from wocar.types import UserError


def main() -> None:
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for line in requests:
        answer = run(TaskFolder(Path(line.strip())))
        try:
            print(json.dumps(answer), file=answers, flush=True)
        except OSError:  # the parent has ended
            return


def run(folder: TaskFolder) -> dict[str, Any]:
    """Run the task in a folder, unless it is done or another process works on it."""
    with folder.claimed() as ours:
        if folder.done:
            return {"outcome": "done"}
        if not ours:
            return {"outcome": "busy"}
        task, start = folder.task(), time.monotonic()
        with _logged(folder.log):
            why = _attempt(task["argv"])
        seconds = time.monotonic() - start
        if why is None and not (folder.path / task["result"]).exists():
            why = f"it ended well, but left no {task['result']}"
        if why is not None:
            why = why or folder.last_words()
            folder.fail(why)
            return {"outcome": "failed", "why": why, "seconds": seconds}
        folder.finish(seconds=round(seconds, 3), wocar=__version__, key=task["key"])
        return {"outcome": "done", "seconds": seconds}


def _attempt(argv: list[str]) -> str | None:
    """None if the command succeeds, else the reason, or "" if its output says it."""
    sys.argv = ["wocar", *argv]
    try:
        wocar(argv)
    except SystemExit as stop:
        return None if not stop.code else ""
    except UserError as error:
        return str(error)
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"
    return None


@contextlib.contextmanager
def _logged(log: Path) -> Iterator[None]:
    """Send everything that is printed, by libraries too, to the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with open(log, "ab", opener=no_link) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for here, there in zip(kept, (1, 2), strict=True):
            os.dup2(here, there)
            os.close(here)


if __name__ == "__main__":
    main()
