"""The zoo: what it ships is what was audited; entries are added, loaded and verified."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wocar
from wocar.agent import Agent
from wocar.api import verify_zoo
from wocar.cli.zoo_command import main
from wocar.evaluation.audit_summary import portable, threat_text
from wocar.types import UserError
from wocar.zoo.card import card, parameters, write_entry
from wocar.zoo.entries import ZooEntry, entries, find_entry, read_entry

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "zoo_add.py"
SHIPPED = entries()
TINY: dict[str, Any] = {"n_envs": 2, "n_steps": 16, "hidden": (8,), "minibatches": 2, "policy_epochs": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("zoo") / "run"
    wocar.train("ppo", "GoHome-v0", steps=32, out=out, **TINY)
    return out


@pytest.fixture(scope="module")
def audit(run: Path) -> Any:
    return wocar.audit(run, attacks=["none", "random", "maxdiff"], eps=0.3, episodes=3)


def test_there_are_agents_and_together_they_are_small() -> None:
    assert SHIPPED
    assert sum(file.stat().st_size for entry in SHIPPED for file in entry.folder.iterdir()) < 20e6


@pytest.mark.parametrize("entry", SHIPPED, ids=lambda entry: entry.name)
def test_what_is_shipped_is_what_was_audited(entry: ZooEntry) -> None:
    agent = wocar.load(f"zoo:{entry.name}")
    assert agent.digest() == entry.data["agent_sha256"]
    assert entry.name.startswith(f"{agent.spec.id}/") and entry.data["env"] == agent.spec.id
    assert (entry.folder / "card.md").read_text() == card(entry.name, entry.data, parameters(agent))
    action, _ = agent.predict(np.zeros(agent.spec.obs_shape, np.float32))
    assert np.isfinite(action).all()


def test_an_unknown_name_tells_the_known_ones() -> None:
    with pytest.raises(UserError, match=f"no agent 'Hopper-v4/none' in the zoo; .*agents: .*{SHIPPED[0].name}"):
        wocar.load("zoo:Hopper-v4/none")


def test_the_script_adds_and_replaces(run: Path, audit: Any, tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text(json.dumps(audit))
    words = [run, tmp_path / "audit.json", "GoHome-v0/ppo", "--out", tmp_path / "zoo", "--about"]
    for about in ("First", "Second"):
        subprocess.run([sys.executable, SCRIPT, *map(str, words), about], check=True)
    (entry,) = entries(tmp_path / "zoo")
    assert entry.data["about"] == "Second" and "Second." in (entry.folder / "card.md").read_text()
    assert entry.natural["mean"] == audit["attacks"]["none"]["mean"] and "returns" not in entry.natural
    assert entry.agent().digest() == wocar.load(run).digest()


def test_an_audit_of_another_agent_is_refused(run: Path, audit: Any, tmp_path: Path) -> None:
    agent = wocar.load(run)
    other = Agent(agent.spec, agent.normaliser, agent.policy, {}, agent.meta)  # without critics: another digest
    with pytest.raises(UserError, match="the audit is of another agent"):
        write_entry(tmp_path, "GoHome-v0/ppo", other, audit)
    with pytest.raises(UserError, match="a name in the zoo is TASK/NAME"):
        write_entry(tmp_path, "../ppo", agent, audit)
    with pytest.raises(UserError, match="not an audit"):
        write_entry(tmp_path, "GoHome-v0/ppo", agent, {"attacks": {}})
    assert list(tmp_path.iterdir()) == []


def test_verification_agrees_with_the_truth_and_refutes_what_is_not(run: Path, audit: Any, tmp_path: Path) -> None:
    entry = write_entry(tmp_path, "GoHome-v0/ppo", wocar.load(run), audit)
    rows = verify_zoo(entry, episodes=3)
    assert rows[0].attack == "none" and len(rows) == 2
    assert all(row.verdict == "agrees" for row in rows)
    spread = max(row.allowed for row in rows)
    for row in entry.data["attacks"].values():
        row["mean"] += 3 * spread + 1
    better = verify_zoo(entry, episodes=3)
    assert all(row.verdict == "lower" and not row.passed for row in better)
    for row in entry.data["attacks"].values():
        row["mean"] -= 6 * spread + 2
    natural, attacked = verify_zoo(entry, episodes=3)
    assert natural.verdict == attacked.verdict == "higher"
    assert attacked.passed and not natural.passed  # a weaker attack refutes nothing, another natural return does
    entry.data["agent_sha256"] = "another"
    with pytest.raises(UserError, match="its digest differs"):
        verify_zoo(entry, episodes=1)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(entry.data["worst"] in shown for entry in SHIPPED)
    assert main(["--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == [entry.name for entry in SHIPPED]
    assert main(["show", SHIPPED[0].name]) == 0
    assert capsys.readouterr().out.startswith(f"# {SHIPPED[0].name}\n")
    for words in (["verify"], ["eat", "x"]):
        with pytest.raises(UserError, match="wocar zoo verify NAME"):
            main(words)


def test_a_damaged_entry_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "Hopper-v4" / "x"
    folder.mkdir(parents=True)
    (folder / "entry.json").write_text('{"format": "wocar-zoo", "version": 99}')
    with pytest.raises(UserError, match="this wocar reads 1; update wocar"):
        read_entry(folder, tmp_path)
    (folder / "entry.json").write_text("[]")
    with pytest.raises(UserError, match="is not an entry of the zoo"):
        find_entry("Hopper-v4/x", tmp_path)


def test_commands_keep_no_path_of_one_machine() -> None:
    absolute = "/" + "home/me/runs/fold/Hopper-s0"
    assert portable(f"wocar train sac --out {absolute}") == "wocar train sac --out fold/Hopper-s0"
    assert portable("wocar audit runs/x --json results/a/b.json") == "wocar audit runs/x --json results/a/b.json"
    threat = {"eps": 0.1, "norm": "l2", "on": "observation", "units": "raw", "radii": None}
    assert threat_text(threat) == "l2-0.1-raw"
