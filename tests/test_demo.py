"""`make demo` with tiny budgets: both agents are audited, recorded where that is possible, and on one page."""

import json
import os
import subprocess
import sys
from pathlib import Path

from wocar.cli.demo import Demo

ROOT = Path(__file__).resolve().parents[1]


def test_the_demo_ends_in_a_page(tmp_path: Path) -> None:
    words = ["--steps", "4096", "--attacks", "none,random-corner", "--episodes", "2", "--shown-steps", "10"]
    done = subprocess.run(
        [sys.executable, "-m", "wocar.cli.demo", "--out", "demo", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    audits = {name: json.loads((tmp_path / "demo" / f"{name}.json").read_text()) for name in ("ppo", "zoo")}
    assert audits["zoo"]["meta"]["method"] == "wocar-sac"
    assert audits["ppo"]["command"].startswith("wocar audit demo/ppo ")
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "WocaR-SAC" in page and "wocar train ppo --env Hopper-v4 --steps 4096" in page
    for name in audits:
        shown = (tmp_path / "demo" / f"{name}-natural.gif").exists()
        assert shown == (tmp_path / "demo" / f"{name}-worst.gif").exists()


def test_it_shows_the_worst_of_a_suite() -> None:
    """Not of one attack, and of an agent that comes with the package."""
    assert Demo().suite == "fast-v2" and not Demo().attacks and Demo().zoo.startswith("zoo:")
