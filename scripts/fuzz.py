"""Fuzzer of everything that reads files: python scripts/fuzz.py [--minutes N | --files N] [--json FILE]

Each file is an honest one of its kind, damaged by a rule that follows from seed and number. A reader may refuse it in
one line (UserError) or take it. Anything else counts as found: another exception, the death of the process, an event
of code run (a process, a socket, a file written outside the folder), more than 10 s of the processor or 60 s by the
clock, more than 1 GB of memory. With the --json of an earlier run it goes on from there.
"""

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing.worker import HANG_SECONDS, work

START_SECONDS = 300.0
"""In which a worker must have begun: it imports JAX and reads every honest file first."""


NOTHING: dict[str, Any] = {"files": 0, "minutes": 0.0, "workers": 0, "found": [], "kinds": {}}
NOTHING |= {"most_of_one_file": {"seconds": 0.0, "bytes": 0}}


def supervise(
    seed: int, files: int, seconds: float, on_progress: Callable[[dict[str, Any]], None], before: dict[str, Any]
) -> dict[str, Any]:
    """Run workers one after the other until enough is read; one that dies is replaced and its file is recorded.

    `before`: what an earlier run with this seed gave, which is gone on with.
    """
    start, until, number = time.monotonic(), time.monotonic() + seconds, before["files"]
    counts: dict[str, dict[str, int]] = before["kinds"]
    found: list[dict[str, Any]] = before["found"]
    most, workers = before["most_of_one_file"], before["workers"]

    def report() -> dict[str, Any]:
        about = {"seed": seed, "files": sum(sum(row.values()) for row in counts.values())}
        minutes = before["minutes"] + (time.monotonic() - start) / 60
        about |= {"minutes": round(minutes, 2), "workers": workers, "most_of_one_file": most}
        return {**about, "found": found[:200], "kinds": dict(sorted(counts.items()))}

    while number < files and time.monotonic() < until:
        workers += 1
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--worker", str(seed), str(number), folder]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            begun: dict[str, Any] | None = None
            patience = START_SECONDS
            lines: queue.Queue[str] = queue.Queue()
            threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True).start()
            while number < files and time.monotonic() < until:
                line = _next(lines, patience)
                if not line:
                    break
                told, patience = json.loads(line), 2.0 * HANG_SECONDS
                if "number" in told:
                    begun = told
                    continue
                assert begun is not None
                number = begun["number"] + 1
                most |= {name: max(value, told[name]) for name, value in most.items()}
                word = told["outcome"].split()[0]
                row = counts.setdefault(begun["kind"], {"taken": 0, "refused": 0})
                row[word] = row.get(word, 0) + 1
                if word not in ("taken", "refused"):
                    found.append({**begun, "outcome": told["outcome"]})
                begun = None
                if number % 500 == 0:
                    on_progress(report())
            if begun is None and process.poll():
                raise SystemExit("the worker cannot start: an honest file is refused")
            process.kill()
            process.wait()
            if begun is not None and number < files and time.monotonic() < until:
                found.append({**begun, "outcome": "the process died or hung"})
                counts.setdefault(begun["kind"], {"taken": 0, "refused": 0}).setdefault("died", 0)
                counts[begun["kind"]]["died"] += 1
                number = begun["number"] + 1
    return report()


def _forward(stream: Any, lines: "queue.Queue[str]") -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def _next(lines: "queue.Queue[str]", seconds: float) -> str:
    """The next line; empty where none comes in time, or the worker has ended."""
    try:
        return lines.get(timeout=seconds)
    except queue.Empty:
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--files", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=3, metavar=("SEED", "FIRST", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        seed, first, folder = options.worker
        work(int(seed), int(first), Path(folder))
        return 0

    def keep(result: dict[str, Any]) -> None:
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")

    before = NOTHING
    if options.json and options.json.is_file():
        before = json.loads(options.json.read_text())
        if before["seed"] != options.seed:
            raise SystemExit(f"{options.json} is of seed {before['seed']}")
    result = supervise(options.seed, options.files, 60 * options.minutes, keep, before)
    keep(result)
    print(json.dumps({name: value for name, value in result.items() if name != "found"}, indent=1))
    for item in result["found"][:20]:
        print(item)
    return 1 if result["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
