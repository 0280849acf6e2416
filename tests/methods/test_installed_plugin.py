"""A package that adds a method, an attack and an environment, installed with pip beside wocar."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

MODULE = '''
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np

from wocar import Method, register_attack, register_method
from wocar.config_base import NOT_NEGATIVE, ObjectiveConfig
from wocar.mechanisms.objective import PolicyObjective
from wocar.training.ppo import PPOConfig


@dataclass(frozen=True)
class QuietConfig(ObjectiveConfig, kind="quiet"):
    """Actions near 0."""

    pull: float = 0.1
    """Weight of the penalty."""

    ranges = NOT_NEGATIVE.of("pull")

    def build(self, spec: Any, algorithm: Any) -> Any:
        return Quiet(self)


class Quiet(PolicyObjective):
    def __init__(self, config: QuietConfig) -> None:
        self.config = config

    def loss(self, base: Any, policy: Any, batch: Any, notes: Any, key: Any, progress: Any) -> Any:
        loudness = jnp.mean(policy.head(batch.obs) ** 2)
        return base.value + self.config.pull * loudness, {**base.info, "loudness": loudness}


class Shift:
    """The same displacement everywhere."""

    def perturb(self, policy: Any, ball: Any, obs: Any, key: Any) -> Any:
        return obs + ball.eps


class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (1,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.steps += 1
        return np.full(1, self.steps, np.float32), float(action[0]), self.steps == 8, False, {}


gymnasium.register("Line-v0", Line)
register_attack("shift", Shift)
register_method(
    Method(
        name="quiet-ppo",
        label="Quiet-PPO",
        about="PPO that prefers small actions",
        algorithm=PPOConfig,
        objective=QuietConfig,
        layers=Path(__file__).with_name("quiet.toml"),
    )
)
'''
PRESET = """
extends = ["ppo"]
minibatches = 2

[task.Line]
pull = 0.25
hidden = [4]
"""
TINY = ["--n-envs", "2", "--n-steps", "16", "--policy-epochs", "1", "--value-epochs", "1"]


def install(folder: Path, name: str, files: dict[str, str], points: str) -> None:
    """A wheel with these files, installed by pip into a folder."""
    info = f"{name}-1.0.dist-info"
    files = {f"{name}/{file}": text for file, text in files.items()} | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
    subprocess.run([*command, str(folder / "site"), str(wheel)], check=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    points = "[wocar.methods]\nquiet = quiet_plugin\n[wocar.attacks]\nquiet = quiet_plugin\n"
    install(folder, "quiet_plugin", {"__init__.py": MODULE, "quiet.toml": PRESET}, points)
    install(
        folder, "broken_plugin", {"__init__.py": "raise OSError('a\\nb')"}, "[wocar.methods]\nbad = broken_plugin\n"
    )
    return folder / "site"


def wocar(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run([sys.executable, "-m", "wocar", *words], env=env, cwd=site, capture_output=True, text=True)


def test_a_plugin_is_trained_resumed_and_audited(site: Path, tmp_path: Path) -> None:
    out, audit = str(tmp_path / "run"), tmp_path / "audit.json"
    options = ["--env", "Line-v0", "--steps", "64", "--checkpoint-every", "32", *TINY, "--out", out]
    done = wocar(site, "train", "quiet-ppo", *options)
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    assert config["robust"] == {"pull": 0.25, "kind": "quiet"}
    assert (config["algorithm"]["minibatches"], config["algorithm"]["hidden"]) == (2, [4])
    told = [line for line in done.stderr.splitlines() if "broken_plugin" in line or "bad" in line]
    assert len(told) == 1 and "OSError: a b" in told[0]

    metrics = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["loudness"] >= 0

    done = wocar(site, "train", "quiet-ppo", "--resume", "--out", out)
    assert done.returncode == 0, done.stderr
    words = ["audit", out, "--attacks", "none,shift", "--eps", "0.1", "--episodes", "2", "--json", str(audit)]
    done = wocar(site, *words)
    assert done.returncode == 0, done.stderr
    result = json.loads(audit.read_text())
    assert result["env"] == "Line-v0" and set(result["attacks"]) == {"none", "shift"}
    assert result["attacks"]["shift"]["eps"] == 0.1


def test_a_plugin_is_listed_and_its_mistakes_are_told(site: Path, tmp_path: Path) -> None:
    done = wocar(site, "methods", "quiet-ppo", "--env", "Line-v0", "--json", str(tmp_path / "m.json"))
    assert done.returncode == 0, done.stderr
    settings = json.loads((tmp_path / "m.json").read_text())["settings"]
    assert settings["pull"] == {"value": 0.25, "from": "quiet.toml [task.Line]"}
    done = wocar(site, "train", "quiet-ppo", "--env", "Line-v0", "--pull", "-1")
    assert done.returncode == 2 and "--pull must be a number from 0 up, not -1.0" in done.stderr
    done = wocar(site, "train", "loud-ppo")
    assert done.returncode == 2 and "quiet-ppo" in done.stderr and "Traceback" not in done.stderr
