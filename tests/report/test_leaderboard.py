"""Leaderboard: entries from audits, a reader that checks them, and the page in a real browser."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from wocar.cli.report_command import main
from wocar.report.leaderboard import make_entry, read_leaderboard
from wocar.types import UserError

ROOT = Path(__file__).resolve().parents[2]
SUITE = {"name": "fast-v2", "sha256": "ab" * 32, "changes": ["episodes 20 (suite: 50)"]}


def audit(natural: float, attacked: dict[str, float], digest: str = "a", **more: Any) -> dict[str, Any]:
    """As `wocar audit` writes it; the attack named last is the worst."""
    rows = {
        name: {
            "mean": mean,
            "std": 30.0,
            "interval": [mean - 9, mean + 8],
            "returns": [mean] * 20,
            "episodes": 20,
            "eps": 0.0 if name == "none" else 0.075,
            "eps_units": "l_inf",
            "family": "gradient",
        }
        for name, mean in {"none": natural, **attacked}.items()
    }
    data = {
        "agent": "runs/x",
        "env": "Hopper-v4",
        "meta": {"method": "wocar-sac", "seed": 0, "steps": 250_000},
        "agent_sha256": digest * 64,
        "suite": SUITE,
        "norm": "linf",
        "threat": {"eps": 0.075, "norm": "linf", "on": "observation", "units": "normalised", "radii": None},
        "seeds": {"report": 1234, "select": 501234, "attackers": 1234},
        "attacks": rows,
        "worst": [*rows][-1],
        "skipped": {},
        "flags": [],
        "command": f"wocar audit runs/{digest}",
    }
    return {**data, **more}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board") / "leaderboard"
    told = {"natural": 3624, "worst": 2642, "source": "its release"}
    flag = {"flag": "few-episodes", "attack": "none", "text": "20 <episodes> say little"}
    entries = [
        make_entry("strong", [audit(3000, {"pgd-10": 2950, "director": 2800}, "a")]),
        make_entry("weak", [audit(3600, {"director": 1100}, "b", flags=[flag])], "published", "elsewhere", "", told),
        make_entry("fast", [audit(3700, {"maxdiff": 3500}, "c", suite=None)]),
        make_entry("cheetah", [audit(6000, {"pgd-10": -12.5}, "d", env="HalfCheetah-v4")]),
    ]
    for entry in entries:
        (folder / entry.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / entry.path).write_text(json.dumps(entry.data))
    return folder


def test_entries_are_ordered_by_worst_return_and_suites_come_first(board: Path) -> None:
    found = read_leaderboard(board)
    assert [entry.name for entry in found] == ["cheetah", "strong", "weak", "fast"]
    assert found[1].path == Path("Hopper-v4/linf-0.075/strong.json")
    assert found[1].worst == {"attack": "director", "mean": 2800, "std": 30.0, "interval": [2791, 2808], "episodes": 20}
    assert "returns" not in json.dumps(found[1].data)


def test_of_several_audits_the_worst_attack_counts() -> None:
    weak, strong = audit(3000, {"pgd-10": 2900}), audit(3010, {"pgd-10": 2950, "trained:x": 500}, suite=None)
    strong["attacks"]["trained:x"]["parameters"] = {"sha256": "ef" * 32}
    entry = make_entry("agent", [weak, strong])
    assert entry.worst["attack"] == "trained:x" and entry.worst["mean"] == 500
    assert entry.data["suite"] == SUITE and entry.data["attackers"] == {"trained:x": "ef" * 32}
    assert entry.data["attacks"]["pgd-10"]["mean"] == 2900
    longer = audit(3020, {"pgd-10": 2950})
    longer["attacks"]["none"]["episodes"] = 50
    natural = make_entry("agent", [weak, longer]).data
    assert natural["natural"]["mean"] == natural["attacks"]["none"]["mean"] == 3020
    with pytest.raises(UserError, match="differ in agent, task or threat"):
        make_entry("agent", [weak, audit(3000, {"pgd-10": 1.0}, "b")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "is not a leaderboard entry"),
        ({"version": 2}, "this wocar reads 1"),
        ({"origin": "heaven"}, "field 'origin'"),
        ({"agent_sha256": "short"}, "field 'agent_sha256'"),
        ({"natural": {"mean": "high", "std": 1.0, "interval": [1, 2], "episodes": 3}}, "field 'natural'"),
        ({"worst": {"mean": 1.0, "std": 1.0, "interval": [1], "episodes": 3, "attack": "x"}}, "field 'worst'"),
        ({"reported": {"natural": 1.0, "worst": 1.0}}, "field 'reported'"),
        ({"worst": {"mean": 1.0, "std": 1.0, "interval": [1, 2], "episodes": 3, "attack": "x"}}, "among its attacks"),
        ({"name": "other"}, "belongs at"),
    ],
)
def test_the_reader_names_what_does_not_fit(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    entry = make_entry("agent", [audit(3000, {"director": 2800})])
    file = tmp_path / entry.path
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({**entry.data, **change}))
    with pytest.raises(UserError, match=message):
        read_leaderboard(tmp_path)


def test_the_committed_leaderboard_is_what_the_committed_audits_say() -> None:
    """Every entry from its digest: the audit of that agent in results/ has these very numbers."""
    audits: dict[str, list[dict[str, Any]]] = {}
    for file in (ROOT / "results").rglob("*.json"):
        data = json.loads(file.read_text())
        if isinstance(data, dict) and "agent_sha256" in data and "worst" in data:
            audits.setdefault(data["agent_sha256"], []).append(data)
    for entry in read_leaderboard(ROOT / "leaderboard"):
        means = {
            (name, row["mean"]) for data in audits[entry.data["agent_sha256"]] for name, row in data["attacks"].items()
        }
        assert (entry.worst["attack"], entry.worst["mean"]) in means, entry.path
        assert ("none", entry.natural["mean"]) in means, entry.path


def test_the_script_takes_reported_numbers_from_the_paper(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("leaderboard_add", ROOT / "scripts" / "leaderboard_add.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    meta = {"method": "model-sappo-hopper", "source": "model-sappo-hopper.model"}
    (tmp_path / "a.json").write_text(json.dumps(audit(3394, {"director": 700}, meta=meta)))
    (tmp_path / "b.json").write_text(json.dumps(audit(3394, {"director": 700}, "b", meta=meta)))
    file = script.add([tmp_path / "a.json"], None, "", None, "", tmp_path)
    (entry,) = read_leaderboard(tmp_path)
    assert file.name == "sappo-hopper.json" and entry.data["origin"] == "published"
    assert (entry.data["reported"]["natural"], entry.data["reported"]["worst"]) == (3705, 856)
    script.add([tmp_path / "a.json"], None, "", None, "", tmp_path)
    with pytest.raises(UserError, match="is of another agent"):
        script.add([tmp_path / "b.json"], None, "", None, "", tmp_path)


@pytest.fixture(scope="module")
def page(board: Path) -> Path:
    out = board.parent / "page.html"
    assert main(["--leaderboard", str(board), "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_the_page_loads_and_fits(browser: Any, page: Path, width: int, scheme: str) -> None:
    browser.open(page, width, scheme)
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    titles = browser.evaluate("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert titles[:2] == ["HalfCheetah-v4, linf-0.075", "Hopper-v4, linf-0.075"]
    assert "20 <episodes> say little" in browser.evaluate("document.querySelector('#flags').textContent")


def test_the_page_sorts_and_shows_reported_beside_audited(browser: Any, page: Path) -> None:
    browser.open(page)
    rows = "[...document.querySelectorAll('table')[1].tBodies[0].rows].map(r => [...r.cells].map(c => c.innerText))"
    shown = browser.evaluate(rows)
    assert [row[0] for row in shown] == ["strong", "weak", "fast"]
    assert shown[1][1] == "published" and shown[1][2].startswith("1100") and shown[1][5:7] == ["2642", "3624"]
    natural = "document.querySelectorAll('table')[1].tHead.rows[0].cells[3].querySelector('button').click()"
    browser.evaluate(natural)
    assert [row[0] for row in browser.evaluate(rows)] == ["strong", "weak", "fast"]
    browser.evaluate(natural)
    assert [row[0] for row in browser.evaluate(rows)] == ["fast", "weak", "strong"]


def test_the_scatter_has_a_point_for_each_agent_and_hollow_reported_ones(browser: Any, page: Path) -> None:
    browser.open(page)
    titles = "[...document.querySelectorAll('figure')[1].querySelectorAll('g{} > g > title')].map(t => t.textContent)"
    assert len(browser.evaluate(titles.format(".series"))) == 4
    (hollow,) = browser.evaluate(titles.format(".paper"))
    assert hollow == "weak, as reported: its release: 2642"
    series = "[...document.querySelectorAll('figure')[1].querySelectorAll('g.series')]"
    colours = browser.evaluate(f"{series}.map(g => g.classList[g.classList.length - 1])")
    assert colours[1] == colours[2] and len(set(colours)) == 3  # reported numbers have their agent's colour


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no entries in"):
        main(["--leaderboard", str(tmp_path), "--out", str(tmp_path / "x.html")])
    with pytest.raises(UserError, match="takes one folder"):
        main(["--leaderboard", "a", "b", "--out", str(tmp_path / "x.html")])
    with pytest.raises(UserError, match="which paths"):
        main(["--out", str(tmp_path / "x.html")])
