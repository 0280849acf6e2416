"""The page of a plan: rows as the plan names them, the paper's numbers of its own table, what is missing or failed."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wocar.cli.report_command import main
from wocar.report.contents import Contents, contents
from wocar.report.sources import collect
from wocar.reproduce.paper_numbers import published

STEPS = (1_000_000, 2_000_000)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory, write: SimpleNamespace) -> Path:
    """WocaR-PPO and SA-PPO with w(s), which was trained as WocaR-PPO; checkpoints of the first; one failure."""
    root = tmp_path_factory.mktemp("reproduce")
    tasks: list[dict[str, Any]] = []

    def task(name: str, kind: str, row: dict[str, str] | None = None) -> Path:
        folder = root / "tasks" / name
        folder.mkdir(parents=True)
        (folder / "done.json").write_text('{"seconds": 1.0}')
        tasks.append({"folder": f"../tasks/{name}", "kind": kind, "title": name, "row": row})
        return folder

    def agent(name: str, variant: str, method: str, **settings: Any) -> None:
        row = {"method": method, "env": "Hopper-v4", "variant": variant}
        write.run(task(name, "train", row) / "run", "Hopper-v4", "wocar-ppo", 0, **settings)
        folder = task(f"audit-{name}", "audit")
        args = ("Hopper-v4", "wocar-ppo", 0, (0.075,), 3000.0, f"tasks/{name}/run")
        write.audit(folder / "audit.json", *args, agent_sha256=name)

    agent("wocar", "", "wocar-ppo")
    agent("weighed", "importance=True", "sa-ppo", kappa_wst=0.0)
    for i, steps in enumerate(STEPS):
        at = f"tasks/wocar/run/checkpoints/{i}"
        (root / at).mkdir(parents=True)
        folder = task(f"look-{i}", "audit")
        meta = {"method": "wocar-ppo", "seed": 0, "steps": steps}
        args = ("Hopper-v4", "wocar-ppo", 0, (0.075,), 1000.0 * (i + 1), at)
        write.audit(folder / "audit.json", *args, meta=meta, agent_sha256=at)
        estimated = {"agent": at, "env": "Hopper-v4", "meta": meta, "natural_measured": 9.0}
        pairs = [(0.0, 9.0), (0.075, 5.0 + i)]
        radii = [{"eps": eps, "value": value, "start": {"achieved": value}} for eps, value in pairs]
        (folder / "estimate.json").write_text(json.dumps({**estimated, "radii": radii}))
    broken = task("broken", "audit")
    (broken / "done.json").unlink()
    (broken / "failed.json").write_text('{"why": "the disk is full"}')
    missing = [{"method": "sa-ppo", "env": "Hopper-v4", "variant": "", "why": "not available yet"}]
    about = {"target": "fig-ablation-importance", "scale": "small", "about": "an evening", "labels": ["app:fig:abl"]}
    folder = root / "fig-ablation-importance-small"
    folder.mkdir()
    data = {"reproduce": {**about, "command": "wocar reproduce x", "tasks": tasks, "missing": missing}}
    (folder / "plan.json").write_text(json.dumps(data))
    return folder


@pytest.fixture(scope="module")
def found(plan: Path) -> Contents:
    return contents(collect([plan]), published())


def test_rows_are_named_by_the_plan_and_stand_beside_its_own_numbers(found: Contents) -> None:
    table = found.sections[0].tables[0]
    rows = {row[0].text: row for row in table.rows}
    assert list(rows) == ["SA-PPO, importance=True", "WocaR-PPO", "SA-PPO"]
    at = table.headings.index("MaxDiff")
    assert rows["SA-PPO, importance=True"][at].published == "2743 ± 158"
    assert (rows["SA-PPO"][at].text, rows["SA-PPO"][at].published) == ("", "2652 ± 235")
    assert rows["SA-PPO"][-1].note == "not available yet"
    assert "(small)" in table.title and "an evening" in table.about


def test_variants_of_several_methods_are_one_figure(found: Contents) -> None:
    [bars] = [chart for chart in found.charts if chart.kind == "bars"]
    assert bars.labels[:2] == ["SA-PPO, importance=True", "WocaR-PPO"]
    assert "SA-PPO, importance=True (paper)" in bars.labels


def test_looks_during_training(found: Contents) -> None:
    charts = {chart.name: chart for chart in found.charts}
    [line] = charts["during-Hopper-v4-none"].series
    assert (list(line.x), list(line.y)) == (list(STEPS), [970.0, 1940.0])
    series = {s.label: s for s in charts["worst-value-Hopper-v4"].series}
    assert list(series["WocaR-PPO: estimated"].y) == [5.0, 6.0]
    assert list(series["WocaR-PPO: measured"].y) == pytest.approx([850 / 12, 1700 / 12])
    assert found.counts["audits"] == 4 and len(found.runs.rows) == 2


def test_the_page_says_what_is_missing(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert main([str(plan), "--out", str(out)]) == 0
    text = out.read_text()
    for words in ("fig-ablation-importance (small)", "the disk is full", "not available yet", "wocar reproduce x"):
        assert words in text
    assert main([str(plan.parent), "--out", str(out)]) == 0  # the folder of all plans
    assert "fig-ablation-importance (small)" in out.read_text()
