"""Numbers in the tables by hand, beside the paper's, and as text."""

import csv
import dataclasses
import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from wocar.report.comparisons import improvement_table, profile_chart, statistics_table
from wocar.report.contents import Contents, contents
from wocar.report.efficiency import efficiency_table
from wocar.report.estimates import estimates_chart, estimates_table
from wocar.report.formats import chart_csv, csv_text, latex, markdown
from wocar.report.groups import Group, grouped
from wocar.report.model import Table, TableCell
from wocar.report.radius import Radius
from wocar.report.sources import collect
from wocar.report.tables import main_radius, median_agents_table, results_table, runs_table
from wocar.reproduce.paper_numbers import EFFICIENCY, published

HOPPER, WALKER = Radius("linf", 0.075), Radius("linf", 0.05)


@pytest.fixture(scope="module")
def groups(results: Path) -> list[Group]:
    return grouped(collect([results]))


@pytest.fixture(scope="module")
def hopper(groups: list[Group]) -> list[Group]:
    return [g for g in groups if g.env == "Hopper-v4"]


@pytest.fixture(scope="module")
def whole(results: Path) -> Contents:
    return contents(collect([results]), published())


def column(table: Table, heading: str) -> dict[str, TableCell]:
    return {row[0].text: row[table.headings.index(heading)] for row in table.rows}


def test_results(hopper: list[Group]) -> None:
    table = results_table(hopper, HOPPER, published())
    assert table.headings == ["method", "worst", "kept", "no attack", "random", "MaxDiff", "Robust Sarsa", "seeds"]
    flags = ("budget-unused: maxdiff moves little (seed 0)",)
    assert column(table, "MaxDiff")["PPO"] == TableCell("1582", 1582, "1575 .. 1589", "1410 ± 655", flags=flags)
    assert column(table, "Robust Sarsa")["PPO"].worst
    assert column(table, "worst")["PPO"] == TableCell("882", 882, "875 .. 889, Robust Sarsa", "160 ± 136, PA-AD")
    assert column(table, "kept")["PPO"].value == pytest.approx(882 / 3507)
    alone = column(table, "no attack")["WocaR-PPO, importance=False"]
    assert (alone.note, alone.published) == ("2898 .. 2921", "3574 ± 186")  # over its episodes; app:fig:abl
    assert sum(cell.worst for row in table.rows for cell in row) == len(table.rows)


def test_the_papers_radius_comes_first(hopper: list[Group]) -> None:
    assert main_radius(hopper, published())[0] == HOPPER
    assert len(main_radius(hopper, published())) == 3


def test_the_median_agent_is_reported_as_in_the_paper(hopper: list[Group]) -> None:
    table = median_agents_table(hopper, HOPPER, published())
    assert column(table, "seed")["PPO"].text == "1"
    assert column(table, "Robust Sarsa")["PPO"] == TableCell("882 ± 40", 882, "", "794 ± 238", True)


def test_statistics_over_tasks(groups: list[Group]) -> None:
    radii = {"Hopper-v4": HOPPER, "Walker2d-v4": WALKER}
    table = statistics_table(groups, radii)
    assert [row[0].text for row in table.rows] == ["PPO", "SA-PPO", "WocaR-PPO"]  # the variant was run on one task only
    assert column(table, "worst: IQM")["PPO"].value == pytest.approx(0.25, abs=0.01)
    assert column(table, "runs")["PPO"].value == 6
    chances = improvement_table(groups, radii)
    assert column(chances, "against PPO")["WocaR-PPO"].value == 1
    assert column(chances, "against WocaR-PPO")["PPO"] == TableCell("0.00", 0, "0.00 .. 0.00")
    profile = {s.label: s for s in profile_chart(groups, radii).series}
    assert profile["PPO"].y[0] == 1 and profile["PPO"].y[-1] == 0


def test_one_seed_has_no_interval(groups: list[Group]) -> None:
    radii = {"Hopper-v4": HOPPER, "Walker2d-v4": WALKER}
    single = [dataclasses.replace(g, members=g.members[:1] if g.method == "ppo" else g.members) for g in groups]
    chances = improvement_table(single, radii)
    assert column(chances, "against PPO")["WocaR-PPO"].note == ""
    assert column(chances, "against SA-PPO")["WocaR-PPO"].note
    notes = column(statistics_table(single, radii), "worst: IQM")
    assert notes["PPO"].note == "" and notes["SA-PPO"].note


def test_estimates(hopper: list[Group]) -> None:
    table = estimates_table(hopper)
    [row] = table.rows
    assert row[0].text == "WocaR-PPO, Hopper-v4, seed 0"
    values = dict(zip(table.headings, row, strict=True))
    assert (values["estimate"].value, values["relaxed attack"].value) == (200, 230)
    assert values["worst attack"].value == pytest.approx(0.85 * 3500 / 12)
    assert values["below worst attack"].text == "yes"
    assert len(estimates_chart(hopper).series) == 1


def test_contents(whole: Contents) -> None:
    assert [section.title for section in whole.sections] == [
        "Hopper-v4",
        "Walker2d-v4",
        "Over seeds and tasks",
        "Estimates against attacks",
        "Time",
    ]
    names = [chart.name for chart in whole.charts]
    for name in ("natural-worst-Hopper-v4-eps0_075", "training-Hopper-v4", "eps-Hopper-v4-worst-linf", "profile"):
        assert name in names
    assert "ablation-Hopper-v4-wocar-ppo-eps0_075" in names
    assert len(names) == len(set(names))
    assert [flag.flag for flag in whole.flags] == ["few-episodes", "budget-unused"]
    bars = next(c for c in whole.charts if c.kind == "bars")
    assert "WocaR-PPO, importance=False (paper)" in bars.labels


def test_styles_of_one_chart_differ(whole: Contents) -> None:
    for chart in whole.charts:
        own = {label: style % 8 for label, style in whole.styles(chart).items() if not label.endswith("(paper)")}
        assert len(set(own.values())) == len(own)


def test_eps_sweep(whole: Contents) -> None:
    sweep = next(c for c in whole.charts if c.name == "eps-Hopper-v4-worst-linf")
    line = next(s for s in sweep.series if s.label == "PPO")
    assert list(line.x) == [0, 0.05, 0.075, 0.1]
    assert list(line.y) == pytest.approx([3507, 1757, 882, 7], abs=1)
    paper = next(s for s in sweep.series if s.label == "SA-PPO (paper)")
    assert (list(paper.x)[:2], list(paper.y)[:2]) == ([0, 0.05], [3705, 1978])


def test_text_forms(hopper: list[Group]) -> None:
    table = results_table(hopper, HOPPER, published())
    assert "| 25% | 3507 (3500 .. 3514) [paper: 3167 ± 542] |" in markdown(table)
    rows = list(csv.DictReader(io.StringIO(csv_text(table))))
    assert float(rows[0]["MaxDiff"]) == 1582 and rows[0]["MaxDiff: paper"] == "1410 ± 655"
    text = latex(
        Table("n", "t", "", ["a_b", "50 %"], [[TableCell(r"\x{"), TableCell("1", 1, "0 .. 2", "3 ± 4", True)]], [])
    )
    assert r"a\_b & 50 \%" in text and r"\textbackslash{}x\{ & \textbf{1} \\" in text and r"3 $\pm$ 4" in text


def test_chart_data(whole: Contents) -> None:
    sweep = next(c for c in whole.charts if c.name == "eps-Hopper-v4-worst-linf")
    rows = list(csv.DictReader(io.StringIO(chart_csv(sweep))))
    assert rows[2] == {"series": "PPO", "eps": "0.075", "return": "882", "low": "875", "high": "889"}


def test_published_numbers() -> None:
    numbers = {(p.label, p.task, p.method, p.variant, p.attack, round(p.eps, 4)): p for p in published()}
    assert len(numbers) == len(published())
    cell = numbers["tab:mujoco_app", "Walker2d", "radial-ppo", "", "sa-rl", 0.05]
    assert (cell.mean, cell.std) == (3320, 245)
    cell = numbers["tab:atari_app", "RoadRunner", "wocar-dqn", "", "pa-ad", round(3 / 255, 4)]
    assert (cell.mean, cell.std) == (8239, 2766)
    assert numbers["fig:eps", "Walker2d", "sa-ppo", "", "pa-ad", 0.3].mean == 487
    assert numbers["app:fig:reg", "Ant", "wocar-ppo", "reg=False", "pa-ad", 0.15].mean == 1982
    assert numbers["app:fig:weight", "Hopper", "wocar-ppo", "kappa_wst #10", "worst", 0.075].mean == 590
    mujoco = [p for p in published() if p.label == "tab:mujoco_app"]
    assert len(mujoco) == 4 * 6 * 6 and {p.attack for p in mujoco} >= {"none", "random", "pa-ad"}
    assert EFFICIENCY["Ant"]["wocar-ppo"] == (8.7, 7.5)
    assert numbers["efficiency", "Ant", "wocar-ppo", "", "steps", 0.0].mean == 7.5


def test_time_and_steps_beside_the_papers(hopper: list[Group]) -> None:
    table = efficiency_table(hopper, published())
    assert column(table, "hours")["WocaR-PPO, Hopper-v4"] == TableCell("0.65", 0.65, published="2.3")
    assert column(table, "million steps")["WocaR-PPO, Hopper-v4"] == TableCell("2", 2.0, published="2")
    assert column(table, "hours")["WocaR-PPO, importance=False, Hopper-v4"].published == ""


def test_runs_name_versions_and_commit(write: SimpleNamespace, tmp_path: Path) -> None:
    git = {"commit": "0123456789abcdef", "dirty": True}
    write.audit(tmp_path / "a.json", "Hopper-v4", "ppo", 0, (0.075,), 100.0, git=git)
    write.audit(tmp_path / "b.json", "Hopper-v4", "ppo", 1, (0.075,), 100.0)
    table = runs_table(grouped(collect([tmp_path])), [])
    assert [row[5].text for row in table.rows] == ["A", "B"]
    assert "made with A: python 3.11.7, wocar 0.1.0, commit 0123456789 with changes; made with B: python" in table.about
