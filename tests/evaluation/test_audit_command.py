"""`wocar audit`: what it writes, its exit codes, its one-line mistakes, and that a killed one goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wocar.agent import Agent
from wocar.cli import main
from wocar.episodes import run_episodes

MakeAgent = Callable[..., Agent]


RUNS_LONG = True


def run_audit(folder: Path, *options: str, code: int = 0) -> dict[str, Any]:
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(folder / "agent"), "--json", str(folder / "audit.json"), *options])
    assert (stop.value.code or 0) == code
    return json.loads((folder / "audit.json").read_text())


def test_the_audit_on_disk_says_how_it_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fresh_agent: MakeAgent
) -> None:
    agent = fresh_agent("CartPole-v1")
    agent.save(tmp_path / "agent")
    result = run_audit(tmp_path, "--attacks", "none", "--episodes", "3", "--seed", "7")
    assert "none" in capsys.readouterr().out
    row = result["attacks"]["none"]
    done = run_episodes(agent, 3, 7)
    assert row["mean"] == done.returns.mean()
    assert row["std"] == done.returns.std()
    assert row["interval"][0] <= row["mean"] <= row["interval"][1]
    assert (row["episodes"], row["seed"], row["eps"]) == (3, 7, 0.0)
    assert row["mean_length"] == done.lengths.mean()
    assert (result["env"], result["worst"]) == ("CartPole-v1", "none")
    assert [flag["flag"] for flag in result["flags"]] == ["few-episodes"]
    assert result["meta"]["method"] == "ppo"
    assert result["agent"] == str(tmp_path / "agent")
    assert {"command", "versions", "machine", "seeds", "norm", "suite", "skipped"} <= set(result)
    assert run_audit(tmp_path, "--attacks", "none", "--episodes", "3", "--seed", "7")["attacks"] == result["attacks"]


def test_curves_tables_and_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str], follower: MakeAgent) -> None:
    follower().save(tmp_path / "agent")
    table = tmp_path / "audit.md"
    options = ["--attacks", "none,pgd-10", "--eps", "0.5,0.25", "--episodes", "3", "--markdown", str(table)]
    result = run_audit(tmp_path, *options, "--fail-below", "-10.5")
    assert [round(point["attacks"]["pgd-10"]["mean"], 2) for point in result["curve"]] == [-10.0, -5.0]
    assert "**pgd-10** (worst)" in table.read_text()
    assert "pgd-10 (worst)" in capsys.readouterr().out
    run_audit(tmp_path, *options, "--fail-below", "-9.5", code=1)
    assert "the worst mean return -10.0 is below -9.5" in capsys.readouterr().err


def test_a_suite_skips_what_does_not_apply_and_says_when_it_was_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fresh_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wocar.evaluation.attack_context.ROLLOUT_STEPS", 512)
    fresh_agent("GoHome-v0").save(tmp_path / "agent")
    result = run_audit(tmp_path, "--suite", "fast-v1", "--episodes", "4")
    assert list(result["attacks"]) == ["none", "random", "maxdiff", "pgd-10", "robust-sarsa"]
    assert result["suite"]["name"] == "fast-v1"
    assert result["suite"]["changes"] == ["episodes 4 (suite: 50)"]
    assert "fast-v1 (modified)" in capsys.readouterr().out.replace("\n", " ")


def test_learned_attackers_are_trained_once_and_can_be_given(tmp_path: Path, fresh_agent: MakeAgent) -> None:
    fresh_agent("GoHome-v0").save(tmp_path / "agent")
    result = run_audit(tmp_path, "--attacks", "none,sa-rl", "--episodes", "4", "--budget-steps", "4096")
    row = result["attacks"]["sa-rl"]
    assert row["parameters"]["steps"] == 4096
    assert len(row["training_curve"]) > 0
    (attacker,) = (path for path in (tmp_path / "audit.parts").iterdir() if path.is_dir())
    given = run_audit(tmp_path, "--attacks", "none", "--attackers", str(attacker), "--episodes", "4")
    assert given["attacks"][f"trained:{attacker.name}"]["mean"] == row["mean"]
    for part in (tmp_path / "audit.parts").glob("*.json"):
        part.unlink()
    before = (attacker / "metrics.jsonl").read_bytes()
    again = run_audit(tmp_path, "--attacks", "none,sa-rl", "--episodes", "4", "--budget-steps", "4096")
    assert again["attacks"] == result["attacks"]
    assert (attacker / "metrics.jsonl").read_bytes() == before


def test_killed_and_run_again_it_goes_on(tmp_path: Path, fresh_agent: MakeAgent) -> None:
    fresh_agent("GoHome-v0").save(tmp_path / "agent")
    parts = tmp_path / "audit.parts"
    attacks = ["--attacks", "none,random,maxdiff", "--episodes", "16"]
    command = [sys.executable, "-m", "wocar", "audit", "agent", *attacks, "--json", "audit.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not list(parts.glob("random-*.json")) and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "audit.json").exists()
    finished = {file: file.stat().st_mtime_ns for file in parts.glob("*.json")}
    assert 3 <= len(finished) < 6
    killed = run_audit(tmp_path, *attacks)
    assert {file: file.stat().st_mtime_ns for file in finished} == finished
    whole = run_audit(tmp_path, *attacks, "--out", str(tmp_path / "elsewhere"))
    assert killed["attacks"] == whole["attacks"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--episodes", "0"], "--episodes must be positive"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--eps", "nan"], "--eps must be a number"),
        (["--eps", "0.1,much"], "--eps must be a number"),
        (["--attacks", "laser"], "unknown attack 'laser'"),
        (["--attacks", "critic"], "critic does not apply: the agent has no value critic"),
        (["--attackers", "nowhere"], "no agent in nowhere"),
        (["--suite", "fast-v1"], "exclude each other"),
        (["--env", "Nowhere-v0"], "unknown environment"),
        (["--env", "Hopper-v4"], "Hopper-v4"),
        (["--episodes", "many"], "many"),
        (["--norm", "l7"], "l7"),
        (["--json", "nowhere/result.json"], "nowhere/result.json"),
        (["--markdown", "nowhere/result.md"], "nowhere/result.md"),
        (["--budget-steps", "0"], "--budget-steps must be positive"),
    ],
)
def test_mistakes_are_told_in_one_line(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], fresh_agent: MakeAgent
) -> None:
    fresh_agent("CartPole-v1").save(tmp_path / "agent")
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(tmp_path / "agent"), "--attacks", "none", "--episodes", "1", *options])
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 1


def test_an_unknown_suite_and_an_agent_that_is_not_there_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fresh_agent: MakeAgent
) -> None:
    fresh_agent("CartPole-v1").save(tmp_path / "agent")
    for agent, more, words in (("nothing", [], "there is no"), ("agent", ["--suite", "slow"], "unknown suite 'slow'")):
        with pytest.raises(SystemExit) as stop:
            main(["audit", str(tmp_path / agent), *more])
        assert stop.value.code == 2
        assert words in capsys.readouterr().err


def test_import_is_instant() -> None:
    heavy = "import sys, wocar; sys.exit(any(name in sys.modules for name in ('jax', 'numpy', 'gymnasium')))"
    assert subprocess.run([sys.executable, "-c", heavy], check=False).returncode == 0
