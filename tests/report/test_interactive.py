"""What the page shows of single episodes, radii, dimensions and recordings, in a real browser."""

import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wocar.cli.report_command import main

TIP = "(() => { const t = document.querySelector('.tip'); return t.hidden ? '' : t.textContent })()"


@pytest.fixture(scope="module")
def page(results: Path, tmp_path_factory: pytest.TempPathFactory, write_gif: Callable[..., None]) -> Path:
    folder = tmp_path_factory.mktemp("interactive")
    for name, frames in (("none", 9), ("maxdiff", 4)):
        about = {"env": "Hopper-v4", "method": "PPO", "attack": name, "eps": 0.075, "return": 12.0, "steps": 20}
        write_gif(folder / f"{name}.gif", about, frames)
    out = folder / "report.html"
    files = [folder / "none.gif", folder / "maxdiff.gif"]
    assert main([str(results), *map(str, files), "--out", str(out)]) == 0
    return out


def wait_for(browser: Any, script: str) -> Any:
    until = time.monotonic() + 60
    while not (found := browser.evaluate(script)):
        assert time.monotonic() < until, script
        time.sleep(0.05)
    return found


def test_every_episode_is_a_dot(browser: Any, page: Path) -> None:
    """At most a hundred in a row, filled only under attack; three seeds of fifty episodes are more than that."""
    browser.open(page)
    counts = (
        "[...document.querySelector('.strips').querySelectorAll('{}')].map(g => g.querySelectorAll('circle').length)"
    )
    free, attacked = (browser.evaluate(counts.format(kind)) for kind in ("g.free", "g.attacked"))
    assert len(free) == len(attacked) == 4 and sorted(set(free + attacked)) == [50, 100]
    assert "evenly spaced" in browser.evaluate("document.querySelector('.strips figcaption').textContent")
    titles = browser.evaluate("[...document.querySelectorAll('.strips g.free title')].map(t => t.textContent)")
    assert titles[0] == "PPO, no attack, seed 0: 3460"


def test_values_appear_under_the_pointer(browser: Any, page: Path) -> None:
    browser.open(page)
    assert browser.evaluate(TIP) == ""
    browser.evaluate("document.querySelector('.strips circle').scrollIntoView({block: 'center'})")
    box = browser.evaluate("document.querySelector('.strips circle').getBoundingClientRect().toJSON()")
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    browser.call("Input.dispatchMouseEvent", {"type": "mouseMoved", **at})
    assert wait_for(browser, TIP).startswith("PPO, no attack, seed ")
    browser.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 2, "y": 2})
    wait_for(browser, f"{TIP} === ''")


def test_the_slider_reads_the_curve(browser: Any, page: Path) -> None:
    """At each audited radius, by key; the curve's own numbers."""
    browser.open(page)
    told = "document.querySelector('.readings output').textContent"
    assert browser.evaluate(told).startswith("eps 0.1: PPO 7.0 (")
    where = "document.querySelector('.readings').closest('figure').querySelector('.cursor').getAttribute('d')"
    before = browser.evaluate(where)
    step = (
        "(() => { const box = document.querySelector('.readings'), s = box.querySelector('input');"
        " s.value = [...box.querySelectorAll('li')].findIndex(li => li.textContent.startsWith('{}'));"
        " s.dispatchEvent(new Event('input')) })()"
    )
    browser.evaluate(step.replace("{}", "eps 0.075:"))
    assert browser.evaluate(told).startswith("eps 0.075: PPO 882 (") and browser.evaluate(where) != before
    browser.evaluate(step.replace("{}", "eps 0:"))
    assert browser.evaluate(told).startswith("eps 0: PPO 3507 (")
    assert browser.complaints() == []


def test_dimensions_moved_by_the_worst_attack(browser: Any, page: Path) -> None:
    browser.open(page)
    items = "[...document.querySelector('.moved').querySelectorAll('li')]"
    assert "What Robust Sarsa moves: PPO" in browser.evaluate("document.querySelector('.moved h3').textContent")
    assert browser.evaluate(f"{items}.map(li => li.textContent)") == [
        "height0.50 -0.50",
        "angle0.90 +0.10",
        "speed0.75 +0.25",
    ]
    assert browser.evaluate(f"{items}.map(li => li.className)") == ["", "most", ""]
    bars = f"{items}.map(li => [...li.querySelectorAll('.bars span')].map(s => s.getBoundingClientRect().width))"
    for (size, mean), (wide, moved) in zip(browser.evaluate(bars), ((0.5, 0.5), (0.9, 0.1), (0.75, 0.25)), strict=True):
        assert mean / size == pytest.approx(moved / wide / 2, abs=0.02)


def test_flags_stand_beside_their_number(browser: Any, page: Path) -> None:
    """In the cell of the attack that they concern, with their text; nowhere else."""
    browser.open(page)
    cells = browser.evaluate(
        "[...document.querySelectorAll('table')[0].querySelectorAll('td .flagged')].map(a => "
        "[a.closest('tr').cells[0].textContent, a.closest('table').tHead.rows[0].cells[a.closest('td').cellIndex]"
        ".textContent, a.textContent, a.title])"
    )
    assert cells == [
        ["PPO", "no attack", "few-episodes", "few-episodes: 5 episodes; fewer than 20 say little (seed 0)"],
        ["PPO", "MaxDiff", "budget-unused", "budget-unused: maxdiff moves little (seed 0)"],
    ]


def test_recordings_play_in_step(browser: Any, page: Path) -> None:
    """One slider for both; the shorter one stays at its end."""
    browser.open(page)
    browser.evaluate("document.querySelector('.clips').scrollIntoView()")
    wait_for(browser, "!document.querySelector('.player').hidden")
    assert browser.evaluate("document.querySelector('.player input').max") == "8"
    move = "s.value = 6; s.dispatchEvent(new Event('input'))"
    browser.evaluate(f"(() => {{ const s = document.querySelector('.player input'); {move} }})()")
    frames = "[...document.querySelectorAll('.clips canvas')].map(c => c.dataset.frame).join()"
    wait_for(browser, f"{frames} === '6,3'")
    assert browser.evaluate("document.querySelector('.player output').textContent") == "frame 7 of 9; 1 ended"
    assert browser.evaluate("document.querySelector('.together').textContent") == "Play in step"
    browser.evaluate("document.querySelector('.together').click()")
    wait_for(browser, f"{frames} !== '6,3'")
    assert browser.complaints() == []


def test_it_prints_on_white_and_whole(browser: Any, page: Path) -> None:
    """Also from a dark screen: no control, nothing wider than the paper."""
    browser.open(page, scheme="dark")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for gone in ("nav", ".player", ".readings", ".play"):
        assert browser.evaluate(f"getComputedStyle(document.querySelector('{gone}')).display") == "none"
    paper = browser.call("Page.printToPDF", {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69})
    assert base64.b64decode(paper["data"]).startswith(b"%PDF")
    browser.call("Emulation.setEmulatedMedia", {"media": "", "features": features})
