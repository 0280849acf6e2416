"""Hardening from start to end: it repeats, it goes on after a kill, and mistakes are told in one line."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import wocar
from wocar.agent import Agent
from wocar.cli import main
from wocar.envs import env_spec
from wocar.networks import CategoricalPolicy, RunningNormaliser, ValueCritic
from wocar.training.run_folder import load_run_agent

TINY: dict[str, Any] = {"n_envs": 2, "n_steps": 8, "minibatches": 2, "policy_epochs": 1, "value_epochs": 1}
TINY |= {"critic_epochs": 1, "critic_minibatches": 1, "hidden": (8,)}
QUICK: dict[str, Any] = {"eps": 0.3, "attacks": ["none", "random"], "episodes": 2, "check_attacks": ["random"]}


class Killed(BaseException):
    """Ends a run as abruptly as a test can in its own process."""


@pytest.fixture
def agent() -> Agent:
    spec = env_spec("Signals-v0")
    normaliser = RunningNormaliser.create(spec.obs_shape).update(np.random.default_rng(0).normal(size=(9, 31)))
    key = jax.random.key(0)
    critics = {"value": ValueCritic.create(31, key, (8,))}
    return Agent(spec, normaliser, CategoricalPolicy.create(31, 2, key, (8,)), critics, {"reward_std": 1.0})


def test_a_killed_hardening_goes_on_to_the_same_agent(tmp_path: Path, agent: Agent) -> None:
    whole = wocar.harden(agent, tmp_path / "whole", steps=128, **QUICK, **TINY)
    checks = 0

    def die(line: str) -> None:
        nonlocal checks
        checks += line.startswith("after ")
        if checks == 4:
            raise Killed

    with pytest.raises(Killed):
        wocar.harden(agent, tmp_path / "cut", steps=128, say=die, **QUICK, **TINY)
    with pytest.raises(wocar.UserError, match="--resume"):
        wocar.harden(agent, tmp_path / "cut", steps=128, **QUICK, **TINY)
    again = wocar.harden(agent, tmp_path / "cut", steps=128, resume=True, **QUICK, **TINY)
    last = [load_run_agent(tmp_path / name / "checkpoints" / "0000008") for name in ("whole", "cut")]
    assert last[0].digest() == last[1].digest()
    assert {check.steps for check in whole.checks} - {check.steps for check in again.checks} == {48}  # died meanwhile
    assert load_run_agent(tmp_path / "cut").meta["hardened"] is True
    other = Agent(agent.spec, agent.normaliser, CategoricalPolicy.create(31, 2, jax.random.key(1), (8,)))
    with pytest.raises(wocar.UserError, match="hardening of another agent"):
        wocar.harden(other, tmp_path / "cut", steps=128, resume=True, **QUICK, **TINY)


def test_training_ends_where_the_target_is_met(tmp_path: Path, agent: Agent) -> None:
    found = wocar.harden(agent, tmp_path / "run", steps=128, until_worst=0.0, keep_natural=0.0, **QUICK, **TINY)
    assert [check.steps for check in found.checks] == [0, 16]
    data = json.loads((tmp_path / "run" / "harden.json").read_text())
    assert data["natural"] == dict(zip(("before", "after"), found.natural, strict=True))
    assert data["before"]["agent_sha256"] == agent.digest() != data["after"]["agent_sha256"]


def test_the_command_says_what_robustness_cost(
    tmp_path: Path, agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    agent.save(tmp_path / "agent")
    settings = [f"{name}={value if name != 'hidden' else 8}" for name, value in TINY.items() if name != "hidden"]
    words = ["harden", str(tmp_path / "agent"), "--out", str(tmp_path / "run"), "--eps", "0.3", "--steps", "16"]
    words += ["--attacks", "random", "--check-attacks", "random", "--episodes", "2", "--until-worst", "1e6"]
    words += ["--set", *settings]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--json", str(tmp_path / "found.json")])
    assert not stop.value.code
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["attack", "none", "random", "gwc", "worst"]
    assert "cost in return without attack" in err
    assert "--until-worst 1e+06 was not met" in err
    assert json.loads((tmp_path / "found.json").read_text())["steps"] == 16
    with pytest.raises(SystemExit) as stop:
        main([*words[:4], "--set", "glue"])
    assert stop.value.code == 2
    assert "--set takes NAME=VALUE, not 'glue'" in capsys.readouterr().err
