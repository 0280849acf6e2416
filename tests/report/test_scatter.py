"""The picture of a leaderboard: one panel per task, a mark for each agent, hollow what its authors report."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from wocar.report.leaderboard import LeaderboardEntry, checked
from wocar.report.scatter import SHAPES, leaderboard_svg

SVG = "{http://www.w3.org/2000/svg}"
BOARD = Path(__file__).resolve().parents[2] / "leaderboard"


def entry(name: str, worst: float, **more: Any) -> LeaderboardEntry:
    """One of the committed entries with other numbers."""
    data = json.loads(min(BOARD.glob("*/*/*.json")).read_text())
    attack = data["worst"]["attack"]
    data["worst"]["mean"] = data["attacks"][attack]["mean"] = worst
    return checked({**data, "name": name, "reported": None, "origin": "ours", **more}, name)


def marks(svg: str, kind: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    groups = [g for g in root.iter(f"{SVG}g") if g.find(f"{SVG}title") is not None]
    return [path for g in groups for path in g.findall(f"{SVG}path") if path.get("class") == kind]


def test_each_agent_has_a_mark_and_reported_numbers_are_hollow() -> None:
    told = {"natural": 4000.0, "worst": 3000.0, "source": "x"}
    entries = [entry("a", 100.0), entry("b & c", 200.0, origin="published", reported=told, method="sa-ppo")]
    svg = leaderboard_svg(entries)
    assert [len(marks(svg, kind)) for kind in ("ours", "published", "reported", "fall")] == [1, 1, 1, 1]
    assert "b &amp; c" in svg and "as its authors report" in svg
    assert "prefers-color-scheme: dark" in svg and svg.count("--c0:") == 2  # both schemes, and a ground of its own
    assert ElementTree.fromstring(svg).find(f"{SVG}rect").get("class") == "ground"  # type: ignore[union-attr]


def test_higher_is_higher_and_methods_differ_in_shape() -> None:
    methods = ("ppo", "sa-ppo", "atla-ppo", "pa-atla-ppo", "radial-ppo", "wocar-ppo")
    drawn = marks(leaderboard_svg([entry(m, 100.0 * k, method=m) for k, m in enumerate(methods)]), "ours")
    places, shapes = zip(*(path.get("d", "").split("m", 1) for path in drawn), strict=True)
    heights = [float(place.split()[1]) for place in places]
    assert heights == sorted(heights, reverse=True) and len(set(heights)) == len(methods)  # y grows downwards
    assert len(set(shapes)) == len(SHAPES) == len(methods)


@pytest.mark.parametrize(("tasks", "size"), [(1, (300, 1)), (3, (900, 1)), (4, (600, 2))])
def test_panels_stand_beside_each_other(tasks: int, size: tuple[int, int]) -> None:
    svg = leaderboard_svg([entry("x", 0.0, env=f"Task{k}-v0") for k in range(tasks)])
    width, height = ElementTree.fromstring(svg).get("viewBox", "").split()[2:]
    assert int(width) == size[0] and int(height) // 270 == size[1]
