"""Charts as pictures: scales, ticks, series that can be hidden; colours that can be told from their ground."""

import re
import xml.etree.ElementTree as ET
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.report.axes import Axis, extent, tick_text
from wocar.report.model import Chart, Series
from wocar.report.plots import PALETTE, save_chart
from wocar.report.svg import COLOURS, svg

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def chart(kind: str, series: list[Series], **more: object) -> Chart:
    return Chart("name", "Title <1>", "About & more", "x", "y", kind, series, [], **more)  # type: ignore[arg-type]


@settings(max_examples=100, deadline=None)
@given(st.floats(-1e7, 1e7), st.floats(1e-3, 1e7))
def test_ticks_are_round_few_and_inside(low: float, size: float) -> None:
    scale = Axis(low, low + size, 0, 100)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(scale.low - 1e-6 * size <= tick <= scale.high + 1e-6 * size for tick in ticks)
    assert scale(scale.low) == 0 and scale(scale.high) == pytest.approx(100)


def test_ticks_by_hand() -> None:
    assert Axis(-100, 3500, 0, 1).ticks() == [0, 1000, 2000, 3000]
    assert [tick_text(x) for x in (0, 0.075, -1500, 20_000, 1_500_000)] == ["0", "0.075", "-1500", "20k", "1.5M"]
    assert extent([]) == (-0.05, 0.05)
    assert extent([10.0, 20.0], with_zero=True) == (0, 21)


def test_a_line_is_where_it_should_be() -> None:
    drawn = svg(chart("lines", [Series("a", [0, 10], [0, 100], [0, 90], [5, 110])]), {"a": 0}, "f")
    root = ET.fromstring(drawn)
    assert (root.find("title").text, root.get("role")) == ("Title <1>", "img")  # type: ignore[union-attr]
    line = next(path for path in root.iter("path") if path.get("class") == "line")
    x0, y0, x1, y1 = (float(n) for n in NUMBER.findall(line.get("d", "")))
    assert (x0, x1) == (56, 448) and y0 > y1 > 12
    assert len([path for path in root.iter("path") if path.get("class") == "band"]) == 1


def test_gaps_in_a_line_stay_gaps() -> None:
    drawn = svg(chart("lines", [Series("a", [0, 1, 2, 3], [1.0, None, 2.0, 3.0])]), {"a": 0}, "f")
    assert drawn.count('class="line"') == 2


def test_bars_stand_on_zero() -> None:
    drawn = svg(chart("bars", [Series("a", [0, 1], [10, -10])], categories=["p", "q"]), {"a": 1}, "f")
    up, down = [el for el in ET.fromstring(drawn).iter("rect")]
    assert float(up.get("y", 0)) + float(up.get("height", 0)) == pytest.approx(float(down.get("y", 0)), abs=0.2)


def test_names_cannot_break_out() -> None:
    drawn = svg(chart("points", [Series("<script>", [1], [1], names=["<b>&"])]), {"<script>": 0}, "f")
    ET.fromstring(drawn)
    assert "<script" not in drawn and "<b>" not in drawn


@pytest.mark.parametrize("kind", ["lines", "points", "bars"])
def test_files_for_papers(kind: str, tmp_path: Path) -> None:
    series = [Series("a", [0, 1], [3, 4], [2, 3], [4, 6]), Series("a (paper)", [0, 1], [2, None], published=True)]
    made = save_chart(
        chart(kind, series, categories=["p", "q"], diagonal=kind == "points"), {"a": 0, "a (paper)": 0}, tmp_path
    )
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert {file.suffix for file in made} == set(starts)
    for file in made:
        assert file.read_bytes().startswith(starts[file.suffix])


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """WCAG 2: from 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast(scheme: int) -> None:
    """Text 4.5 to 1, marks 3 to 1, as WCAG 2.1 AA asks, on the page's ground and on its cards."""
    css = files("wocar.report").joinpath("page.css").read_text().split("@media print")[0]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", css.split("@media (prefers-color-scheme: dark)")[scheme]))
    for text in ("ink", "soft", "accent"):
        assert contrast(colours[text], colours["ground"]) >= 4.5 and contrast(colours[text], colours["card"]) >= 4.5
    assert contrast(colours["worst-ink"], colours["worst"]) >= 4.5 and contrast(colours["ink"], colours["worst"]) >= 4.5
    assert contrast(colours["ink"], colours["flag"]) >= 4.5 and contrast(colours["ink"], colours["code"]) >= 4.5
    for k in range(COLOURS):
        assert contrast(colours[f"c{k}"], colours["card"]) >= 3, k
    if scheme == 0:
        assert [colours[f"c{k}"] for k in range(COLOURS)] == list(PALETTE)


def test_twelve_methods_are_told_apart_without_colour() -> None:
    """By mark and dash together, and those that share a dash by four colours that every eye tells apart."""
    names = [f"method {k}" for k in range(COLOURS)]
    drawn = svg(
        chart("lines", [Series(name, [0.0, 1.0], [0.0, 1.0]) for name in names]),
        {n: k for k, n in enumerate(names)},
        "i",
    )
    looks = []
    for group in ET.fromstring(drawn).iter("g"):
        if "data-series" in group.attrib:
            line = next(p for p in group.iter("path") if p.get("class") == "line")
            mark = next(m for m in group.iter() if m.get("class") == "mark")
            corners = len(NUMBER.findall(mark.get("d", "")))
            points = [float(x) for x in NUMBER.findall(mark.get("d", ""))[1::2]]
            top = points.count(min(points)) if points else 0
            looks.append((line.get("stroke-dasharray"), corners, top))
    assert len(looks) == len(set(looks)) == COLOURS
