"""Attacks of other installed packages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wocar.attacks import Random
from wocar.evaluation.attack_registry import kind_of, register_attack

MODULE = '''
"""A package that knows nothing of the registry's files."""

from dataclasses import dataclass

import gymnasium
import numpy as np

import wocar


@dataclass(frozen=True)
class Shift:
    """Everything looks larger by the radius."""

    def perturb(self, policy, ball, obs, key):
        return obs + ball.radius(obs)


class Follow(gymnasium.Env):
    """Say the number you see, within ten steps."""

    observation_space = gymnasium.spaces.Box(-5, 5, (1,), np.float64)
    action_space = gymnasium.spaces.Box(-9, 9, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 10
        return self.look(), {}

    def step(self, action):
        reward = -float(np.abs(action - self.seen).sum())
        self.left -= 1
        return self.look(), reward, self.left == 0, False, {}

    def look(self):
        self.seen = self.np_random.uniform(-1, 1, 1)
        return self.seen


def register():
    gymnasium.register("Say-v0", Follow, max_episode_steps=10)
    wocar.register_attack("shift", Shift)
'''
VICTIM = """
import sys

import equinox as eqx
import gymnasium
import jax.numpy as jnp
import numpy as np
from wocar_shift import Follow, register

import wocar
from wocar.evaluation.attack_registry import kind_of
from wocar.networks import GaussianPolicy, ScaledNormaliser, linear
from wocar.types import ActionSpace, EnvSpec

kind_of("shift")  # loads the plugin, which also knows the environment
spec = EnvSpec("Say-v0", (1,), ActionSpace(1, np.full(1, -9, np.float32), np.full(1, 9, np.float32)), 10)
policy = GaussianPolicy(eqx.nn.Sequential([linear(np.eye(1), np.zeros(1))]), jnp.zeros(1))
agent = wocar.Agent(spec, ScaledNormaliser.identity((1,)), policy)
agent.save(sys.argv[1])
env = wocar.AttackedObservation(gymnasium.make("Say-v0"), agent, "shift", wocar.Threat(0.25))
shown, info = env.reset(seed=0)
print(float((shown - info["clean_observation"])[0]))
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with two installed packages: one that works, and one that does not."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name, text in (("wocar_shift", MODULE), ("wocar_broken", "import no_such_module_anywhere\n")):
        (folder / f"{name}.py").write_text(text)
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        target = "wocar_shift:register" if name == "wocar_shift" else name
        (info / "entry_points.txt").write_text(f"[wocar.attacks]\n{name} = {target}\n")
    return folder


def test_an_installed_attack_is_known_everywhere(tmp_path: Path, site: Path) -> None:
    paths = [str(site), str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *command], env=env, text=True, capture_output=True, check=False)

    made = run("-c", VICTIM, str(tmp_path / "agent"))
    assert made.returncode == 0, made.stderr
    assert float(made.stdout) == pytest.approx(0.25)
    options = ["--attacks", "none,shift", "--eps", "0.5", "--episodes", "3", "--json", str(tmp_path / "audit.json")]
    done = run("-m", "wocar", "audit", str(tmp_path / "agent"), *options)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "wocar_broken" in line]
    assert "was not loaded: ModuleNotFoundError" in line
    row = json.loads((tmp_path / "audit.json").read_text())["attacks"]["shift"]
    assert row["mean"] == pytest.approx(-0.5 * 10, rel=1e-4)
    assert (row["family"], len(row["returns"])) == ("gradient", 3)


def test_names_are_given_once() -> None:
    assert kind_of("mad") is kind_of("maxdiff")
    for name, words in (("random", "registered already"), ("mad", "registered already"), ("a,b", "no name")):
        with pytest.raises(ValueError, match=words):
            register_attack(name, Random)
    with pytest.raises(ValueError, match="either build or make"):
        register_attack("nothing")
