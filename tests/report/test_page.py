"""The page in a real browser: no error, no request, tables sort, legends hide, and keys do what a mouse does."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wocar.cli.report_command import main
from wocar.types import UserError

FIRST_COLUMN = "[...document.querySelectorAll('table')[0].tBodies[0].rows].map(r => r.cells[0].textContent)"


@pytest.fixture(scope="module")
def page(results: Path, tmp_path_factory: pytest.TempPathFactory, write_gif: Callable[[Path, Any], None]) -> Path:
    folder = tmp_path_factory.mktemp("page")
    about = {"env": "Hopper-v4", "method": "PPO", "attack": "maxdiff", "eps": 0.075, "return": 12.0, "steps": 20}
    write_gif(folder / "ppo.gif", {**about, "command": "wocar record runs/ppo --attack maxdiff"})
    out = folder / "report.html"
    assert main([str(results), str(folder / "ppo.gif"), "--out", str(out), "--title", "A <b> title"]) == 0
    return out


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light")])
def test_it_loads_and_fits(browser: Any, page: Path, width: int, scheme: str) -> None:
    browser.open(page, width, scheme)
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    dark = browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")
    assert browser.evaluate("document.querySelector('h1').textContent") == "A <b> title"


def test_tables_sort_by_number_and_by_name(browser: Any, page: Path) -> None:
    browser.open(page)
    before = browser.evaluate(FIRST_COLUMN)
    click = "document.querySelectorAll('table')[0].tHead.rows[0].cells[{}].querySelector('button').click()"
    values = "[...document.querySelectorAll('table')[0].tBodies[0].rows].map(r => Number(r.cells[3].dataset.value))"
    browser.evaluate(click.format(3))
    up = browser.evaluate(values)
    assert up == sorted(up) and browser.evaluate(FIRST_COLUMN) != before
    browser.evaluate(click.format(3))
    assert browser.evaluate(values) == up[::-1]
    assert browser.evaluate("document.querySelectorAll('[aria-sort]').length") == 1
    browser.evaluate(click.format(0))
    names = browser.evaluate(FIRST_COLUMN)
    assert names == sorted(names)


def test_legends_hide_and_show_by_keyboard(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.evaluate("document.querySelector('.legend button').focus()")
    state = (
        "(() => { const f = document.querySelector('figure'), b = f.querySelector('.legend button');"
        " return [b.getAttribute('aria-pressed'), getComputedStyle(f.querySelector('[data-series]')).display] })()"
    )
    assert browser.evaluate(state)[0] == "true"
    browser.press("Enter")
    assert browser.evaluate(state) == ["false", "none"]
    browser.press(" ")
    assert browser.evaluate(state)[0] == "true" and browser.evaluate(state)[1] != "none"


def test_tab_reaches_what_can_be_pressed(browser: Any, page: Path) -> None:
    browser.open(page)
    reached = set()
    for _ in range(16):
        browser.press("Tab")
        reached.add(browser.evaluate("document.activeElement.tagName"))
    assert {"A", "BUTTON"} <= reached


def test_everything_has_a_name(browser: Any, page: Path) -> None:
    browser.open(page)
    for unnamed in (
        "img:not([alt])",
        "th:not([scope])",
        "table:not(:has(caption))",
        "svg:not([aria-labelledby]):not([aria-hidden])",
        "figure > svg:not(:has(title))",
    ):
        assert browser.evaluate(f"document.querySelectorAll({json.dumps(unnamed)}).length") == 0, unnamed
    assert browser.evaluate("document.documentElement.lang") == "en"
    ids = browser.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    anchors = browser.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert all(anchor[1:] in ids for anchor in anchors)


def test_recordings_play_and_pause(browser: Any, page: Path) -> None:
    browser.open(page)
    source = "document.querySelector('figure img').src.slice(0, 14)"
    assert browser.evaluate("document.querySelector('figure img').alt").startswith("PPO on Hopper-v4 under MaxDiff")
    assert browser.evaluate(source) == "data:image/gif"
    browser.evaluate("document.querySelector('.play').click()")
    assert browser.evaluate(source) == "data:image/png"
    assert browser.complaints() == []


def test_the_text_alone(page: Path) -> None:
    """Without a browser: what the page must say, and that it names no other place."""
    text = page.read_text()
    assert "http:" not in text and "https:" not in text and "default-src 'none'" in text
    for words in ("few-episodes", "wocar audit runs/ppo-Hopper-v4-s0", "paper 1410 ± 655", "wocar record runs/ppo"):
        assert words in text


def test_figures_and_tables_beside(results: Path, tmp_path: Path) -> None:
    one = results / "ppo-Walker2d-v4-s0.json"
    out, figures, tables = tmp_path / "r.html", tmp_path / "f", tmp_path / "t"
    assert main([str(one), "--out", str(out), "--figures", str(figures), "--tables", str(tables)]) == 0
    assert {file.suffix for file in figures.iterdir()} == {".png", ".svg", ".pdf", ".csv"}
    assert {file.suffix for file in tables.iterdir()} == {".md", ".csv", ".tex"}


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="its folder does not exist"):
        main([str(tmp_path), "--out", str(tmp_path / "no" / "r.html")])
    with pytest.raises(UserError, match="nothing to report"):
        main([str(tmp_path), "--out", str(tmp_path / "r.html")])


def test_two_hundred_runs_are_quick_and_small(results: Path, tmp_path: Path) -> None:
    """200 runs with their audits: under 20 s of work and 10 MB."""
    lines = "".join(json.dumps({"steps": 2048 * i, "time": i, "return": i, "kl": 0.01}) + "\n" for i in range(1, 978))
    for source in sorted(results.glob("*-Hopper-v4-s0.json")):
        audit = json.loads(source.read_text())
        run = json.loads((results / source.stem / "run.json").read_text())
        for seed in range(67):
            name = f"{audit['meta']['method']}-s{seed}"
            folder = tmp_path / name
            folder.mkdir()
            run["config"]["seed"] = audit["meta"]["seed"] = seed
            audit |= {"agent": str(folder), "agent_sha256": name}
            (folder / "run.json").write_text(json.dumps(run))
            (folder / "metrics.jsonl").write_text(lines)
            (tmp_path / f"{name}.json").write_text(json.dumps(audit))
    start = time.process_time()
    main([str(tmp_path), "--out", str(tmp_path / "report.html")])
    assert time.process_time() - start < 20
    assert (tmp_path / "report.html").stat().st_size < 10e6


def test_the_headline_says_the_result(browser: Any, page: Path) -> None:
    """Bars of natural and worst return: the best worst case first, as wide as the numbers say, with flags beside."""
    for width in (1200, 390):
        browser.open(page, width)
        items = "[...document.querySelector('.headline').querySelectorAll('li')]"
        names = browser.evaluate(f"{items}.map(li => li.querySelector('.who').textContent)")
        texts = browser.evaluate(f"{items}.map(li => li.querySelector('strong').textContent)")
        assert names[0].startswith("WocaR-PPO") and len(names) == len(texts) >= 2
        shares = [
            [float(word) for word in text.removesuffix(" % kept").replace(" of ", ", ").split(", ")] for text in texts
        ]
        worst = [share[0] for share in shares]
        assert worst == sorted(worst, reverse=True)
        wide = "li.querySelector('.{}').getBoundingClientRect().width"
        bars = browser.evaluate(f"{items}.map(li => [{wide.format('solid')}, {wide.format('natural')}])")
        for (solid, pale), (low, natural, kept) in zip(bars, shares, strict=True):
            assert solid / pale == pytest.approx(low / natural, abs=0.02) == pytest.approx(kept / 100, abs=0.02)
        outside = "[...document.querySelectorAll('.headline span')].some(s => s.getBoundingClientRect().right > {})"
        assert not browser.evaluate(outside.format(width))
    browser.open(page)
    flagged = browser.evaluate("document.querySelectorAll('.headline .flagged').length")
    assert (flagged > 0) == browser.evaluate("document.querySelectorAll('#flags li').length > 0")
