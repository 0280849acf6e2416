"""Kills train, audit and reproduce at random moments and lets them go on: python scripts/kills.py --json FILE

Each is killed (SIGKILL to all its processes) again and again in one folder until it ends by itself, then in a new one,
until there were enough kills. What comes out must equal, bit for bit, what comes out without a kill.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import wocar.cli.audit_command
import wocar.cli.reproduce_command
import wocar.cli.train_command  # noqa: F401  imported once, for all that are started
from wocar.cli import main as main_of_wocar

CLOCK = ("time", "rate", "seconds")
SIZES = {"steps": 4096, "checkpoint-every": 256, "n-envs": 4, "n-steps": 32, "minibatches": 2, "hidden": 8}
OPTIONS = [f"--{name}={size}" for name, size in SIZES.items()]
Result = dict[str, str]


def commands(agent: Path) -> dict[str, list[str]]:
    """What is run in a folder, and run again with the same words."""
    attacks = ["--attacks", "none,random,random-corner,maxdiff-plain,pgd-10", "--eps", "0.05,0.1", "--episodes", "20"]
    return {
        "train": ["train", "ppo", "--env", "CartPole-v1", "--out", "run", "--resume", *OPTIONS],
        "audit": ["audit", str(agent), *attacks, "--out", "parts", "--json", "audit.json"],
        "reproduce": ["reproduce", "table-mujoco", "--scale", "smoke", "--methods", "ppo", "--jobs", "1", "--out", "."],
    }


def start(words: list[str], folder: Path) -> Any:
    """A process of its own group that runs the command: a fork of this one, which has only imported wocar."""
    process = multiprocessing.get_context("fork").Process(target=_run, args=(words, folder))
    process.start()
    return process


def _run(words: list[str], folder: Path) -> None:
    os.setsid()
    os.chdir(folder)
    log = os.open(folder.parent / f"{folder.name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.argv = ["wocar", *words]
    main_of_wocar(words)


def outcome(folder: Path) -> Result:
    """Checksums of what must come out the same: weights, numbers of results and of training."""
    found: Result = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "agent.safetensors" and path.parent.name == "agent":
            data: Any = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.name == "audit.json":
            numbers = json.loads(path.read_text())
            data = [numbers.get(key) for key in ("attacks", "worst", "curve", "flags")]
        elif path.name == "metrics.jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            data = [{key: value for key, value in row.items() if key not in CLOCK} for row in rows]
        else:
            continue
        found[str(path.relative_to(folder))] = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    return found


def begun(process: Any, before: float, folder: Path) -> bool:
    """Wait until the process has written something; False where it ends before."""
    while process.is_alive():
        if any(path.lstat().st_mtime > before for path in folder.rglob("*") if path.exists()):
            return True
        time.sleep(0.02)
    return False


def whole(words: list[str], folder: Path) -> tuple[Result, float]:
    """The result without a kill, and the seconds between its first file and its end."""
    folder.mkdir()
    process = start(words, folder)
    begun(process, time.time() - 1, folder)
    first = time.monotonic()
    process.join()
    if process.exitcode:
        raise SystemExit((folder.parent / f"{folder.name}.log").read_text()[-2000:])
    return outcome(folder), time.monotonic() - first


def killed(words: list[str], folder: Path, length: float, rng: random.Random, most: int) -> list[float]:
    """The moments, after the first file that each process wrote, of the kills before it ended by itself."""
    folder.mkdir()
    moments: list[float] = []
    while True:
        before = time.time()
        process = start(words, folder)
        begun(process, before, folder)
        moment = rng.uniform(0, 0.7 * length)
        process.join(moment if len(moments) < most else None)
        if process.is_alive():
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
            moments.append(round(moment, 3))
            continue
        if process.exitcode:
            raise SystemExit((folder.parent / f"{folder.name}.log").read_text()[-2000:])
        return moments


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills at random moments.")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rng, rows = random.Random(options.seed), []
    with tempfile.TemporaryDirectory() as root:
        made = commands(Path(root) / "whole-train" / "run" / "agent")
        wanted = {name: whole(words, Path(root) / f"whole-{name}") for name, words in made.items()}
        while (kills := sum(len(row["moments"]) for row in rows)) < options.kills:
            name = list(made)[len(rows) % len(made)]
            folder, (result, length) = Path(root) / f"{name}-{len(rows)}", wanted[name]
            moments = killed(made[name], folder, length, rng, min(options.kills - kills, 8))
            rows.append({"command": name, "moments": moments, "equal": outcome(folder) == result})
            print(rows[-1], flush=True)
            if options.json:
                told = {"seed": options.seed, "kills": kills + len(moments)}
                told |= {"seconds": {name: round(seconds, 2) for name, (_, seconds) in wanted.items()}}
                told |= {"files": {name: sorted(result) for name, (result, _) in wanted.items()}, "rows": rows}
                options.json.write_text(json.dumps(told, indent=1) + "\n")
    return 0 if all(row["equal"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
