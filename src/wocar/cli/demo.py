"""`make demo`: a freshly trained PPO agent and one of the zoo, both under `fast-v2`, on one page; minutes on two cores.

The zoo agent is audited and recorded in a second process while PPO is trained in the first.
"""

import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import tyro

from wocar.cli import main as wocar
from wocar.files import read_json
from wocar.report.plots import can_plot


@dataclass(frozen=True)
class Demo:
    out: Path = Path("runs/demo")
    """Folder of everything that is made; what it held before is removed."""
    env: str = "Hopper-v4"
    zoo: str = "zoo:Hopper-v4/wocar-sac"
    """The robust agent, of the same environment."""
    steps: int = 500_000
    """Of PPO's training."""
    suite: str = "fast-v2"
    """Attacks of both audits."""
    attacks: str = ""
    """Attacks by name instead, separated by commas."""
    episodes: int = 10
    """For each attack."""
    shown_steps: int = 400
    """Of each recording, at most."""
    beside: bool = False
    """The second process: the zoo agent alone."""


def main(demo: Demo) -> None:
    if demo.beside:
        return _audit_and_record(demo, demo.zoo, "zoo")
    begun = time.monotonic()
    shutil.rmtree(demo.out, ignore_errors=True)
    demo.out.mkdir(parents=True)
    log = demo.out / "zoo.log"
    print(f"The zoo's agent is audited at the same time; its lines go to {log}.", file=sys.stderr)
    with log.open("w") as file:
        command = [sys.executable, "-m", "wocar.cli.demo", *sys.argv[1:], "--beside"]
        beside = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        run = demo.out / "ppo"
        _run("train", "ppo", "--env", demo.env, "--steps", str(demo.steps), "--threads", "1", "--out", str(run))
        _audit_and_record(demo, str(run), "ppo")
        if beside.wait():
            sys.exit(f"the audit of {demo.zoo} failed; {log} says why")
    finally:
        beside.kill()
    _report(demo)
    print(f"\n{(time.monotonic() - begun) / 60:.1f} minutes. Look at {demo.out / 'report.html'} in a browser.")
    print(f"Agent: {demo.out}/ppo   audits: {demo.out}/*.json   figures and tables: {demo.out}/figures, tables")


def _audit_and_record(demo: Demo, agent: str, name: str) -> None:
    """The audit, then an episode without attack and one under the attack that was the worst."""
    result = demo.out / f"{name}.json"
    chosen = ("--attacks", demo.attacks) if demo.attacks else ("--suite", demo.suite)
    _run("audit", agent, *chosen, "--episodes", str(demo.episodes), "--json", str(result))
    data = read_json(result)
    for shown, attack in (("natural", "none"), ("worst", data["worst"])):
        clip = demo.out / f"{name}-{shown}.gif"
        words = ("--attack", attack, "--steps", str(demo.shown_steps), "--out", str(clip))
        if not _run("record", agent, *words, may_fail=True):
            break  # it cannot be drawn on this machine; the line above says why


def _report(demo: Demo) -> None:
    title = f"Demo: {demo.env}, PPO after {demo.steps:,} steps and {demo.zoo}"
    figures = ("--figures", str(demo.out / "figures")) if can_plot() else ()
    page = ("--out", str(demo.out / "report.html"), "--tables", str(demo.out / "tables"), *figures)
    _run("report", str(demo.out), "--title", title, *page)


def _run(*arguments: str, may_fail: bool = False) -> bool:
    print("$ wocar", *arguments, file=sys.stderr, flush=True)
    sys.argv = ["wocar", *arguments]  # results record the command that made them
    try:
        wocar(list(arguments))
    except SystemExit as stop:
        if stop.code and not may_fail:
            raise
        return not stop.code
    return True


if __name__ == "__main__":
    main(tyro.cli(Demo))
