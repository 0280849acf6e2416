"""`make demo`: train PPO and WocaR-PPO, attack both, record them, and show it all on one page; minutes on two cores."""

import shutil
import subprocess
import sys
from pathlib import Path

from wocar.cli import main as wocar
from wocar.report.plots import can_plot

ENV, STEPS, OUT = "Hopper-v4", 1_000_000, Path("runs/demo")
METHODS, PRESET = ("ppo", "wocar-ppo"), "paper"
ATTACKS = ("none", "random", "maxdiff")
SHOWN_STEPS = "200"


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    _train_both()
    for method in METHODS:
        _run("audit", str(OUT / method), "--attacks", ",".join(ATTACKS), "--json", str(OUT / f"{method}.json"))
    for method in METHODS:
        for attack in ("none", "maxdiff"):
            clip = OUT / f"{method}-{attack}.gif"
            words = ("--attack", attack, "--steps", SHOWN_STEPS, "--out", str(clip))
            if not _run("record", str(OUT / method), *words, may_fail=True):
                break  # it cannot be drawn on this machine; the line above says why
    title = f"Demo: {ENV}, {STEPS:,} steps, one seed"
    figures = ("--tables", str(OUT / "tables"), *(("--figures", str(OUT / "figures")) if can_plot() else ()))
    _run("report", str(OUT), "--title", title, "--out", str(OUT / "report.html"), *figures)
    print(f"\nLook at {OUT / 'report.html'} in a browser.")
    print(f"Agents: {OUT}/*/agent   audits: {OUT}/*.json   figures and tables: {OUT}/figures, {OUT}/tables")


def _train_both() -> None:
    """At the same time, on a core each; the second is the slower and shows its progress."""
    same = ("--env", ENV, "--preset", PRESET, "--steps", str(STEPS), "--threads", "1")
    first, second = (("train", method, *same, "--out", str(OUT / method)) for method in METHODS)
    log = OUT / f"{METHODS[0]}.log"
    print("$ wocar", *first, f"> {log} &", file=sys.stderr, flush=True)
    with log.open("w") as file:
        beside = subprocess.Popen([sys.executable, "-m", "wocar", *first], stdout=file, stderr=file)
    try:
        _run(*second)
        if beside.wait():
            sys.exit(f"the training of {METHODS[0]} failed; {log} says why")
    finally:
        beside.kill()


def _run(*arguments: str, may_fail: bool = False) -> bool:
    print("$ wocar", *arguments, file=sys.stderr, flush=True)
    try:
        wocar(list(arguments))
    except SystemExit as stop:
        if stop.code and not may_fail:
            raise
        return not stop.code
    return True


if __name__ == "__main__":
    main()
