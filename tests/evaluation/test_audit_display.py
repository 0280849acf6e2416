"""Display of an audit: lines of 80 columns, estimates of the time left, and what a stopped one says."""

from pathlib import Path
from typing import Any

import pytest

from wocar.cli import main
from wocar.cli.audit_display import AuditDisplay
from wocar.evaluation import audit
from wocar.evaluation.audit_cell import run_cell

ROW: Any = {"mean": -12345.6, "std": 1234.5, "eps": 0.075}


def test_lines_are_short_and_time_is_told_after_a_first_attack(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with AuditDisplay("agent") as display:
        display.start(1350, 9)
        display.stage("none", 0.0, "reporting")
        now[0] += 1
        display.episodes(50)
        display.row("none", {**ROW, "eps": 0.0})
        display.stage("own-worst-critic", 0.075, "preparing")
        now[0] += 40
        display.stage("own-worst-critic", 0.075, "reporting")
        now[0] += 9
        display.episodes(50)
        display.row("own-worst-critic", ROW)
        display.stage("sa-rl", 0.075, "training")
        now[0] += 10_000
        display.stage("sa-rl", 0.075, "reporting")
    first, second, _ = capsys.readouterr().err.splitlines()
    assert first.endswith("[50/1350]")
    assert second.endswith("[100/1350, 10 min left]") and len(second) <= 80  # 1250 episodes at 100 in 50 s
    assert display.progress == "100/1350, 10 min left"  # the training is not counted


def test_a_stopped_audit_says_what_is_kept_and_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], follower: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower().save(tmp_path / "agent")

    def stops(agent: Any, cell: Any, *rest: Any) -> Any:
        if cell.name == "pgd-10":
            raise KeyboardInterrupt
        return run_cell(agent, cell, *rest)

    monkeypatch.setattr(audit, "run_cell", stops)
    words = ["audit", str(tmp_path / "agent"), "--attacks", "none,random,pgd", "--episodes", "2", "--fresh"]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--out", str(tmp_path / "parts")])
    assert stop.value.code == 130
    said = capsys.readouterr().err.splitlines()[-1]
    again = f"wocar {' '.join(words[:-1])} --out {tmp_path / 'parts'}"
    assert said == f"wocar: stopped: 2 of 3 attacks are kept in {tmp_path / 'parts'}; go on with: {again}"
    monkeypatch.undo()
    with pytest.raises(SystemExit) as stop:
        main(again.split()[1:])
    assert not stop.value.code and "parts were kept" in capsys.readouterr().err


def test_where_nothing_is_kept_it_says_so() -> None:
    assert "nothing is kept: with --out DIR" in AuditDisplay("agent").stopped(None, "")
