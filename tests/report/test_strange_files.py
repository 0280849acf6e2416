"""Reports of files that strangers made: nothing outside the folder, nothing but text, a note for what is damaged."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from wocar.agent import Agent
from wocar.cli import main
from wocar.metrics_file import read_metrics, spent_seconds
from wocar.report.contents import contents
from wocar.report.formats import csv_text, latex, markdown
from wocar.report.groups import grouped
from wocar.report.model import Table, TableCell
from wocar.report.sources import collect
from wocar.text import file_name, html_text, plain_text
from wocar.types import UserError

CHART: dict[str, Any] = {"name": "c", "title": "t", "about": "", "x": "x", "y": "y", "kind": "lines", "series": []}
CHART["sources"] = []


def reported(folder: Path, *options: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["report", str(folder), "--out", str(folder.parent / "page.html"), *options])
    return int(stop.value.code or 0)


def test_figures_and_tables_stay_in_their_folder(tmp_path: Path, write: SimpleNamespace) -> None:
    found, out = tmp_path / "found", tmp_path / "out" / "figures"
    found.mkdir()
    for name in ("../x", "/tmp/absolute", "ALE/Pong-v5", ".."):
        (found / f"{len(name)}.json").write_text(json.dumps({"chart": {**CHART, "name": name}}))
    write.audit(found / "a.json", "ALE/Pong-v5", "ppo", 0, (0.075, 0.05), 20.0)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert reported(found, "--figures", str(out), "--tables", str(out)) == 0
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - before - {tmp_path / "page.html"}
    assert new and all(path.parent == out for path in new)
    assert any(path.name.startswith("ALE-Pong-v5") and path.suffix == ".csv" for path in new)
    assert len({file_name(name) for name in ("../x", "x", "a/b", "a-b", "")}) == 5


EVIL = "x\n\\write18{rm}\x1b[2J\u202e<script>|=cmd()"


def test_text_is_text_in_every_format() -> None:
    table = Table("n", EVIL, EVIL, [EVIL, "=1+1"], [[TableCell(EVIL), TableCell("@sum", note="-2+3")]], [])
    tex = latex(table)
    assert all(line.startswith("%") or "\\write18" not in line for line in tex.splitlines())
    assert "\\write18" not in tex.split("\n", 1)[1]
    shown = markdown(table)
    assert "<script" not in shown and "&lt;script" in shown
    cells = csv_text(table).splitlines()
    assert "'=1+1" in cells[0] and "'@sum" in cells[1] and "'-2+3" in cells[1]
    for text in (tex, shown, csv_text(table), html_text(EVIL), plain_text(EVIL)):
        assert "\x1b" not in text and "\u202e" not in text
    assert "-2.5" in csv_text(Table("n", "", "", ["a"], [[TableCell("x", -2.5)]], []))


DAMAGES: dict[str, Any] = {
    "mean": lambda data: data["attacks"]["none"].update(mean="high"),
    "interval": lambda data: data["attacks"]["none"].update(interval=[1]),
    "eps": lambda data: data["attacks"]["none"].update(eps=None),
    "attacks": lambda data: data.update(attacks=[]),
    "meta": lambda data: data.update(meta=3),
    "seed": lambda data: data["meta"].update(seed=[]),
    "flags": lambda data: data.update(flags=[1]),
    "curve": lambda data: data.update(curve={}),
    "threat": lambda data: data.update(threat={"norm": 2}),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_audit_is_left_out_with_its_reason(name: str, tmp_path: Path, write: SimpleNamespace) -> None:
    write.audit(tmp_path / "good.json", "Hopper-v4", "ppo", 0, (0.075,), 3000.0)
    write.audit(tmp_path / "bad.json", "Hopper-v4", "ppo", 1, (0.075,), 3000.0)
    data = json.loads((tmp_path / "bad.json").read_text())
    DAMAGES[name](data)
    (tmp_path / "bad.json").write_text(json.dumps(data))
    sources = collect([tmp_path])
    assert len(sources.audits) == 1
    assert "bad.json is damaged" in sources.notes[0] and name in sources.notes[0]


def test_pipes_links_and_huge_pictures_are_not_read(tmp_path: Path, write: SimpleNamespace) -> None:
    folder = tmp_path / "found"
    folder.mkdir()
    write.audit(folder / "good.json", "Hopper-v4", "ppo", 0, (0.075,), 3000.0)
    os.mkfifo(folder / "pipe.json")
    (folder / "endless.json").symlink_to("/dev/zero")
    Image.new("P", (1, 1)).save(folder / "bomb.gif")
    data = bytearray((folder / "bomb.gif").read_bytes())
    data[6:10] = b"\xff\xff\xff\xff"  # the size of the canvas
    (folder / "bomb.gif").write_bytes(data)
    (folder / "torn.gif").write_bytes(data[:20])
    assert reported(folder) == 0
    assert "damaged: it is not shown" in (tmp_path / "page.html").read_text()
    notes = collect([folder]).notes
    assert any("pipe.json" in note for note in notes) and any("endless.json" in note for note in notes)


def test_a_plan_shows_only_what_lies_beside_it(tmp_path: Path, write: SimpleNamespace) -> None:
    secret, plan = tmp_path / "secret", tmp_path / "shared" / "plan"
    for folder in (secret, plan):
        folder.mkdir(parents=True)
    write.audit(secret / "a.json", "Hopper-v4", "ppo", 0, (0.075,), 3000.0)
    (secret / "done.json").write_text("{}")
    about = {"target": "t", "scale": "s", "about": "", "command": "", "labels": [], "missing": []}
    tasks = [{"folder": str(secret), "title": "x", "row": None}, {"folder": "../../secret", "title": "y", "row": None}]
    (plan / "plan.json").write_text(json.dumps({"reproduce": {**about, "tasks": tasks}}))
    with pytest.raises(UserError, match="nothing to report"):
        collect([plan])
    (plan / "plan.json").write_text(json.dumps({"reproduce": {**about, "tasks": 3}}))
    with pytest.raises(UserError, match="nothing to report"):
        collect([plan])


NOWHERE = ["a" * 5000, "/".join(["a" * 200] * 30), "a\0b", "\ud800", "loop", "../" * 2000 + "x"]


@pytest.mark.parametrize("name", NOWHERE, ids=["long", "deep", "nul", "half", "loop", "up"])
def test_a_path_that_nothing_can_have_is_left_out(name: str, tmp_path: Path, write: SimpleNamespace) -> None:
    """As the agent of an audit and of an estimate, as the folder of a plan's task, and as a link."""
    folder, plan, done = tmp_path / "found", tmp_path / "found" / "plan", tmp_path / "found" / "done"
    for place in (plan, done):
        place.mkdir(parents=True)
    (folder / "loop").symlink_to("loop")
    (tmp_path / "loop").symlink_to("loop")
    for place in (folder / "audit.json", done / "audit.json"):
        write.audit(place, "Hopper-v4", "ppo", 0, (0.075,), 3000.0, agent=name)
    radii = [{"eps": 0.075, "value": 1.0, "start": {"achieved": 2.0}}]
    estimate = {"env": "Hopper-v4", "meta": {}, "radii": radii, "natural_measured": 3.0, "agent": name}
    (folder / "estimate.json").write_text(json.dumps(estimate))
    (done / "done.json").write_text("{}")
    about = {"target": "t", "scale": "s", "about": "", "command": "", "labels": [], "missing": []}
    tasks = [{"folder": task, "title": "x", "row": None} for task in (name, "../done")]
    (plan / "plan.json").write_text(json.dumps({"reproduce": {**about, "tasks": tasks}}))
    with contextlib.suppress(OSError, ValueError):  # names that links cannot have either
        for link in ("run.json", "linked.json", "linked.gif", "folder", "audit-calibration.json"):
            (folder / link).symlink_to(name)
    assert reported(folder) == 0
    found = collect([folder])
    assert len(found.audits) == 2 and len(found.estimates) == 1 and found.audits[0].agent in (None, Path(name))
    assert reported(plan) == 0


@pytest.fixture
def shallow_after(tmp_path: Path) -> Iterator[None]:
    """Folders deeper than Python can remove are gone when pytest removes its own, also where the test has failed."""
    yield
    subprocess.run(["rm", "-rf", tmp_path / "found" / "a"], check=True)


@pytest.mark.usefixtures("shallow_after")
def test_links_out_of_the_folder_and_endless_depth_are_left_out(tmp_path: Path, write: SimpleNamespace) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "found"
    for place in (secret, folder):
        place.mkdir()
    write.audit(folder / "a.json", "Hopper-v4", "ppo", 0, (0.075,), 3000.0)
    write.audit(secret / "b.json", "Hopper-v4", "sa-ppo", 1, (0.075,), 3000.0)
    (secret / "key.mp4").write_text("private")
    (folder / "all").symlink_to(secret)
    (folder / "c.json").symlink_to(secret / "b.json")
    (folder / "clip.mp4").symlink_to(secret / "key.mp4")
    os.mkfifo(folder / "pipe.gif")
    deep = folder
    for _ in range(1200):
        deep = deep / "a"
        deep.mkdir()
    write.audit(deep / "d.json", "Hopper-v4", "ppo", 2, (0.075,), 3000.0)
    found = collect([folder])
    assert [audit.file.name for audit in found.audits] == ["a.json"] and not found.clips
    assert sum("is a link to elsewhere" in note for note in found.notes) == 3
    assert sum("deeper than" in note for note in found.notes) == 1
    assert len(collect([folder, secret]).audits) == 2  # named by you
    assert reported(folder) == 0


def test_texts_and_radii_without_end_are_left_out(tmp_path: Path, write: SimpleNamespace) -> None:
    """Each radius has its table of all agents, and texts are looked at many times."""
    write.audit(tmp_path / "good.json", "Hopper-v4", "ppo", 0, (0.075,), 3000.0)
    data = json.loads((tmp_path / "good.json").read_text())
    row = data["attacks"]["none"]
    points = [{"attacks": {"none": row, "random": {**row, "eps": i / 2000}}} for i in range(2000)]
    long = "-" + "1" * 10**6 + "x"
    for name, change in {"radii": {"curve": points}, "env": {"env": long}, "name": {"attacks": {long: row}}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data | change))
    start = time.process_time()
    assert reported(tmp_path) == 0
    assert time.process_time() - start < 5
    found = collect([tmp_path])
    assert len(found.audits) == 1 and len(found.notes) == 3
    assert "2,000 radii" in found.notes[2] and "env has 1,000,002 characters" in found.notes[0]


def test_the_run_that_an_audit_names_is_shown(tmp_path: Path, write: SimpleNamespace) -> None:
    write.run(tmp_path / "elsewhere" / "run", "Hopper-v4", "ppo", 0)
    (tmp_path / "found").mkdir()
    more = {"agent": str(tmp_path / "elsewhere" / "run")}
    write.audit(tmp_path / "found" / "a.json", "Hopper-v4", "ppo", 0, (0.075,), 3000.0, **more)
    (member,) = (m for g in grouped(collect([tmp_path / "found"])) for m in g.members)
    assert member.run and len(member.run.steps) and len(member.audits) == 1


def test_long_texts_take_time_by_their_length_only() -> None:
    start = time.process_time()
    for text in ("-" + "1" * 10**6 + "x", "-1." + "1" * 10**6 + "x", "s" + "1" * 10**6, "\n" * 10**6):
        table = Table("n", text, text, [text], [[TableCell(text)]], [])
        csv_text(table), latex(table), markdown(table)
    assert time.process_time() - start < 10


def test_hours_are_time_spent(tmp_path: Path) -> None:
    """A pause of a week, and a clock that went back seven hours, are not training."""
    file = tmp_path / "metrics.jsonl"
    times = [0.0, 60.0, 120.0, 7 * 86400.0, 7 * 86400.0 + 60, 7 * 86400.0 - 7 * 3600, 7 * 86400.0 - 7 * 3600 + 60]
    file.write_text("".join(json.dumps({"time": t, "return": None}) + "\n" for t in times) + '{"time": 1')
    assert spent_seconds(read_metrics(file)) == 240
    file.write_text('{"time": 5, "seconds": 3}\n{"time": 1e9, "seconds": 70.5}\n[1]\n')
    assert spent_seconds(read_metrics(file)) == 70.5


def test_agents_attacked_by_different_suites_are_not_compared_in_silence(
    tmp_path: Path, write: SimpleNamespace
) -> None:
    for method, suite in (("ppo", "fast-v2"), ("sa-ppo", "fast-v2")):
        more = {"suite": {"name": suite, "changes": []}}
        write.audit(tmp_path / f"{method}.json", "Hopper-v4", method, 0, (0.075,), 3000.0, **more)
    assert "different suites" not in contents(collect([tmp_path]), []).tables[0].about
    more = {"suite": {"name": "mujoco-v2", "changes": ["episodes 5"]}}
    write.audit(tmp_path / "ppo.json", "Hopper-v4", "ppo", 0, (0.075,), 3000.0, **more)
    about = contents(collect([tmp_path]), []).tables[0].about
    assert "different suites (PPO by mujoco-v2, modified; SA-PPO by fast-v2)" in about


def test_an_old_audit_is_not_drawn_under_a_run_that_has_just_begun(
    tmp_path: Path, write: SimpleNamespace, small_agents: tuple[Agent, Agent]
) -> None:
    old, new = small_agents
    write.run(tmp_path / "run", "Hopper-v4", "ppo", 0)
    more = {"agent": str(tmp_path / "run"), "agent_sha256": old.digest()}
    write.audit(tmp_path / "run.json", "Hopper-v4", "ppo", 0, (0.075,), 3000.0, **more)
    assert [len(m.audits) for g in grouped(collect([tmp_path])) for m in g.members] == [1]  # weights are not kept
    new.save(tmp_path / "run" / "checkpoints" / "0000001")
    assert sorted(len(m.audits) for g in grouped(collect([tmp_path])) for m in g.members) == [0, 1]
    old.save(tmp_path / "run" / "agent")
    assert [len(m.audits) for g in grouped(collect([tmp_path])) for m in g.members] == [1]


@pytest.fixture
def small_agents() -> tuple[Agent, Agent]:
    import jax

    from wocar.networks import GaussianPolicy, RunningNormaliser
    from wocar.types import ActionSpace, EnvSpec

    spec = EnvSpec("Hopper-v4", (3,), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32)), 1000)
    meta = {"method": "ppo", "seed": 0}
    first, second = (
        Agent(spec, RunningNormaliser.create((3,)), GaussianPolicy.create(3, 2, jax.random.key(k), (4,)), {}, meta)
        for k in range(2)
    )
    return first, second
