"""Every example runs, with a small budget."""

import importlib.util
import re
import sys
from pathlib import Path

import jax
import pytest

from wocar.agent import Agent
from wocar.envs import env_spec
from wocar.networks import CategoricalPolicy, GaussianPolicy, RunningNormaliser

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """A folder of agents with random weights."""
    for env, kind in (("CartPole-v1", CategoricalPolicy), ("Pendulum-v1", GaussianPolicy)):
        spec = env_spec(env)
        policy = kind.create(spec.obs_shape[0], spec.actions.size, jax.random.key(0), (8,))
        Agent(spec, RunningNormaliser.create(spec.obs_shape), policy, {}, {"method": "ppo"}).save(tmp_path / env)
    return tmp_path


def run(name: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    file = EXAMPLES / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "argv", [str(file), *words])
    spec.loader.exec_module(module)
    module.main()
    return capsys.readouterr().out


COMMANDS = {
    "audit_your_sb3_agent": ("--steps 64 --episodes 2", r"worst: "),
    "harden_and_export": ("{cart} --eps 0.2 --steps 2048 --quick --out {out}", r"worst attack: .* before, .* after"),
    "attack_in_your_loop": ("{cart} --episodes 1", r"episode 0: return \d+\.\d under pgd-10"),
    "your_own_attack": ("{cart} --episodes 2", r"one-sign-step +\d"),
    "your_own_environment": ("--steps 2048 --episodes 2", r"sensor-bias:1 +"),
    "monitor": ("{pendulum}", r"braked at \d+ of 200 steps"),
}


def test_all_examples_are_run() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.py")} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_runs(
    name: str, agents: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "audit_your_sb3_agent":
        pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    words, said = COMMANDS[name]
    places = {"cart": agents / "CartPole-v1", "pendulum": agents / "Pendulum-v1", "out": agents / "hardened"}
    out = run(name, words.format(**places).split(), monkeypatch, capsys)
    assert re.search(said, out)
