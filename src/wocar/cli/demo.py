"""`make demo`: train PPO and WocaR-PPO, attack both, print the table, draw the curves; minutes on two cores."""

import json
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from wocar.cli import main as wocar
from wocar.report.curves import draw_curves

ENV, STEPS, OUT = "HalfCheetah-v4", 300_000, Path("runs/demo")
METHODS = {"ppo": "PPO", "wocar-ppo": "WocaR-PPO"}
ATTACKS = {"none": "no attack", "random": "random", "maxdiff": "MaxDiff"}


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    for method in METHODS:
        _run("train", method, "--env", ENV, "--steps", str(STEPS), "--out", str(OUT / method))
        _run("audit", str(OUT / method), "--attacks", ",".join(ATTACKS), "--json", str(OUT / f"{method}.json"))
    draw_curves({label: OUT / method for method, label in METHODS.items()}, ENV, OUT / "curves.png")

    table = Table(title=f"{ENV}, {STEPS:,} steps, eps 0.15: mean return of 50 episodes, and the share kept")
    for heading in ("", *ATTACKS.values()):
        table.add_column(heading, justify="right" if heading else "left")
    for method, label in METHODS.items():
        rows = json.loads((OUT / f"{method}.json").read_text())["attacks"]
        natural = rows["none"]["mean"]
        table.add_row(label, *(f"{rows[a]['mean']:.0f} ({rows[a]['mean'] / natural:.0%})" for a in ATTACKS))
    Console().print(table)
    print(f"curves: {OUT / 'curves.png'}   audits: {OUT}/*.json   agents: {OUT}/*/agent")


def _run(*arguments: str) -> None:
    print("$ wocar", *arguments, file=sys.stderr, flush=True)
    try:
        wocar(list(arguments))
    except SystemExit as stop:
        if stop.code:
            raise


if __name__ == "__main__":
    main()
