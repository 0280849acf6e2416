"""The benchmark starts: `make bench` runs it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["wocar.bench", "wocar.bench.dqn"])
def test_its_options_are_shown(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: python -m {module} ")
