"""Parts of an audit that were kept: reused where this user's wocar wrote them, never where somebody planted them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wocar import local_key
from wocar.agent import Agent
from wocar.api import train_for_audit
from wocar.cli import main
from wocar.threat import Threat
from wocar.training.run_folder import RunFolder

MakeAgent = Callable[..., Agent]
TINY = {"n_envs": 2, "n_steps": 8, "minibatches": 1, "policy_epochs": 1, "value_epochs": 1, "hidden": (4,), "steps": 32}


def audited(folder: Path, *options: str) -> int:
    words = ["audit", str(folder / "agent"), "--attacks", "none", "--episodes", "2", "--out", str(folder / "parts")]
    with pytest.raises(SystemExit) as stop:
        main([*words, *options])
    return int(stop.value.code or 0)


def test_planted_numbers_are_not_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], follower: MakeAgent
) -> None:
    follower(gain=0.5).save(tmp_path / "agent")
    assert audited(tmp_path, "--fail-below", "50000") == 1
    (cell,) = (tmp_path / "parts").glob("none-*.json")
    honest = cell.read_text()
    data = json.loads(honest)
    data["result"].update(mean=99999.0, returns=[99999.0, 99999.0])
    cell.write_text(json.dumps(data))
    capsys.readouterr()
    assert audited(tmp_path, "--fail-below", "50000") == 1
    assert "1 parts were run again" in capsys.readouterr().err
    assert json.loads(cell.read_text()) == json.loads(honest)
    assert audited(tmp_path) == 0
    assert "1 of 1 parts were kept" in capsys.readouterr().err
    assert audited(tmp_path, "--fresh") == 0
    assert "parts" not in capsys.readouterr().err


def test_a_signature_is_of_one_cell(tmp_path: Path, follower: MakeAgent) -> None:
    """A good result, moved to the cell of a bad agent."""
    for name, gain in (("good", 1.0), ("bad", 0.0)):
        follower(gain=gain).save(tmp_path / name / "agent")
        audited(tmp_path / name)
    (good,), (bad,) = (list((tmp_path / name / "parts").glob("*.json")) for name in ("good", "bad"))
    stolen = json.loads(good.read_text())
    stolen["key"] = json.loads(bad.read_text())["key"]
    bad.write_text(json.dumps(stolen))
    assert audited(tmp_path / "bad", "--fail-below", "-1") == 1


def test_a_planted_attacker_is_trained_anew(tmp_path: Path, follower: MakeAgent) -> None:
    victim, out = follower(), tmp_path / "attacker"
    train_for_audit("sa-rl", victim, Threat(0.1), 0, out, TINY)
    agent = (out / "agent" / "agent.safetensors").read_bytes()
    newest = RunFolder(out).checkpoints()[-1]
    written = newest.stat().st_ino
    train_for_audit("sa-rl", victim, Threat(0.1), 0, out, TINY)
    assert newest.stat().st_ino == written  # finished, and ours
    facts = json.loads((newest / "learner.json").read_text())
    (newest / "learner.json").write_text(json.dumps({**facts, "late_returns": [1e9]}))
    train_for_audit("sa-rl", victim, Threat(0.1), 0, out, TINY)
    assert json.loads((newest / "learner.json").read_text()) == facts
    assert (out / "agent" / "agent.safetensors").read_bytes() == agent


def test_the_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    code = "from wocar.local_key import local_key; print(local_key().hex())"

    def key() -> str:
        environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout

    first, file = key(), tmp_path / "wocar" / "key"
    assert file.stat().st_mode & 0o777 == 0o600 and key() == first
    file.chmod(0o644)
    assert key() != first  # others may have read it
    file.write_bytes(b"short")
    second = key()
    assert second != first and key() == second and file.stat().st_size == local_key.SIZE
    assert [child.name for child in file.parent.iterdir()] == ["key"]
