"""`make demo`: train a policy on a small MuJoCo task, evaluate it, draw its curve; minutes on two cores."""

import shutil
import sys
from pathlib import Path

from wocar.cli import main as wocar
from wocar.report.curves import draw_curves

ENV, STEPS, OUT = "Hopper-v4", 400_000, Path("runs/demo")


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    _run("train", "ppo", "--env", ENV, "--steps", str(STEPS), "--out", str(OUT / "ppo"))
    _run("audit", str(OUT / "ppo"), "--episodes", "20", "--json", str(OUT / "ppo.json"))
    draw_curves({"PPO": OUT / "ppo"}, ENV, OUT / "curves.png")
    print(f"curve: {OUT / 'curves.png'}   audit: {OUT / 'ppo.json'}   agent: {OUT / 'ppo' / 'agent'}")


def _run(*arguments: str) -> None:
    print("$ wocar", *arguments, file=sys.stderr, flush=True)
    try:
        wocar(list(arguments))
    except SystemExit as stop:
        if stop.code:
            raise


if __name__ == "__main__":
    main()
