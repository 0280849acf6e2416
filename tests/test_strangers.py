"""Folders of strangers: what an agent, a run or a plan that somebody else made may do here."""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import jax
import pytest

import wocar
from wocar.agent import Agent
from wocar.cli import main
from wocar.envs import env_spec
from wocar.hardening import read_state
from wocar.networks import CategoricalPolicy, RunningNormaliser
from wocar.reproduce.tasks import TaskFolder

PAYLOAD = """
import pathlib
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
pathlib.Path("ran").write_text("code was run")
gymnasium.register("Boom-v0", CartPoleEnv)
"""


def small_agent(env: str = "CartPole-v1") -> Agent:
    spec = env_spec(env)
    policy = CategoricalPolicy.create(spec.obs_shape[0], spec.actions.size, jax.random.key(0), (4,))
    return Agent(spec, RunningNormaliser.create(spec.obs_shape), policy, {}, {"method": "ppo", "seed": 0, "steps": 8})


def edit(file: Path, change: Any) -> None:
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in argv])
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert stop.value.code == 2, said
    return said


@pytest.fixture
def boobytrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an agent whose environment is in a module beside it; working directory and on the path."""
    small_agent().save(tmp_path / "agent")
    edit(tmp_path / "agent" / "agent.json", lambda data: data["env"].update(id="payload:Boom-v0"))
    (tmp_path / "payload.py").write_text(PAYLOAD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("wocar.envs.make._ALLOWED", set())
    monkeypatch.delitem(sys.modules, "payload", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["audit", "agent", "--attacks", "none", "--episodes", "1"],
        ["estimate", "agent"],
        ["record", "agent"],
        ["train", "sa-rl", "--victim", "agent", "--out", "attacker"],
    ],
    ids=lambda words: words[0],
)
def test_no_file_names_a_module_to_import(
    boobytrapped: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(command, capsys)
    assert "payload:Boom-v0" in said and "--env payload:Boom-v0" in said
    assert not (boobytrapped / "ran").exists() and "payload" not in sys.modules


def test_no_run_names_a_module_to_import(boobytrapped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ["train", "ppo", "--env", "CartPole-v1", "--out", "run", "--steps", "64", "--n-envs", "2", "--n-steps", "8"]
    with pytest.raises(SystemExit):
        main([*train, "--minibatches", "2"])
    edit(boobytrapped / "run" / "run.json", lambda data: data["config"].update(env="payload:Boom-v0"))
    assert "payload:Boom-v0" in refused(["train", "ppo", "--out", "run", "--resume"], capsys)
    assert not (boobytrapped / "ran").exists()


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("run.json", lambda data: data["config"].update(steps="many"), "steps is 'many'"),
        ("run.json", lambda data: data["config"].update(algorithm=3), "damaged or of another version"),
        ("run.json", lambda data: data["config"]["algorithm"].update(hidden=["x"]), "hidden[0] is 'x'"),
        ("run.json", lambda data: data.update(config=[]), "damaged or of another version"),
        ("checkpoints/0000002/learner.json", lambda data: data.update(late_returns={}), "is damaged"),
        ("checkpoints/0000002/learner.json", lambda data: data.update(iteration="2"), "is damaged"),
        ("checkpoints/0000002/learner.json", lambda data: data.update(return_count=[]), "is damaged"),
        ("checkpoints/0000002/agent.json", lambda data: data["meta"].update(threat={"eps": "x"}), "threat.eps is 'x'"),
        ("checkpoints/0000002/agent.json", lambda data: data["meta"].update(method=[]), "method is a list"),
    ],
)
def test_a_run_of_wrong_types_is_told_in_one_line(
    trained: Path, file: str, change: Any, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    edit(tmp_path / "run" / file, change)
    assert words in refused(["train", "ppo", "--env", "CartPole-v1", "--out", tmp_path / "run", "--resume"], capsys)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    wocar.train("ppo", "CartPole-v1", out=out, steps=32, n_envs=2, n_steps=8, minibatches=2, hidden=(4,))
    return out


def test_an_agent_of_twenty_thousand_layers_is_refused_at_once(tmp_path: Path) -> None:
    small_agent().save(tmp_path / "agent")
    layer = {"kind": "relu"}
    edit(tmp_path / "agent" / "agent.json", lambda data: data["policy"]["layers"].extend([layer] * 20_000))
    start = time.monotonic()
    with pytest.raises(wocar.UserError, match="256 layers"):
        wocar.load(tmp_path / "agent")
    assert time.monotonic() - start < 5


def test_a_module_that_the_user_names_is_imported(boobytrapped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the environment has no time limit, and in Python."""
    named = ["audit", "agent", "--attacks", "none", "--episodes", "2", "--env", "payload:Boom-v0", "--max-steps", "9"]
    with pytest.raises(SystemExit) as stop:
        main(named)
    assert not stop.value.code and (boobytrapped / "ran").exists()
    result = wocar.audit("agent", attacks=["none"], episodes=1, env="payload:Boom-v0", max_steps=9)
    assert result["env"] == "payload:Boom-v0" and result["attacks"]["none"]["mean_length"] <= 9
    assert "cannot be imported" in refused(["audit", "agent", "--env", "absent_module:Boom-v0"], capsys)


def test_a_resumed_run_writes_through_no_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "precious")
    words = ["train", "ppo", "--env", "CartPole-v1", "--out", tmp_path / "run", "--resume"]
    assert "symbolic link" in refused(words, capsys)
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_task_is_claimed_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / ".claim").symlink_to(tmp_path / "precious")
    with pytest.raises(wocar.UserError, match="symbolic link"), TaskFolder(tmp_path).claimed():
        pass
    assert (tmp_path / "precious").read_text() == "kept"


@pytest.mark.parametrize("state", [[], {"checks": [{}], "reached": False}, {"checks": 3, "reached": 1}])
def test_a_damaged_state_of_a_hardening_is_told_in_one_line(state: Any, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps(state))
    with pytest.raises(wocar.UserError, match="is damaged"):
        read_state(tmp_path / "state.json")
