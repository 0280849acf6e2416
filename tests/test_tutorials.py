"""Tutorials, pages and notebooks: Python is run with tiny budgets, commands parse, every block says what it is."""

import importlib
import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import jax
import pytest

import wocar
from wocar.agent import Agent
from wocar.cli import COMMANDS, main
from wocar.envs import env_spec
from wocar.networks import CategoricalPolicy, GaussianPolicy, RunningNormaliser

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.M | re.S)
TINY = {r"\bsteps=\d[\d_]*": "steps=2048", r"\bepisodes=\d+": "episodes=2"}
ZIPS = {"ppo-CartPole-v1.zip": CategoricalPolicy, "sb3-ppo-Hopper-v5.zip": GaussianPolicy}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(page: Path, kind: str) -> list[str]:
    return [text for language, text in FENCE.findall(page.read_text(encoding="utf-8")) if language == kind]


def tiny(code: str) -> str:
    for pattern, small in TINY.items():
        code = re.sub(pattern, small, code)
    return code


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the Stable-Baselines3 zips that the pages talk of, with random weights."""
    folder = tmp_path_factory.mktemp("agents")
    for file, kind in ZIPS.items():
        spec = env_spec("-".join(Path(file).stem.split("-")[-2:]))
        policy = kind.create(spec.obs_shape[0], spec.actions.size, jax.random.key(0), (8,))
        agent = Agent(spec, RunningNormaliser.create(spec.obs_shape), policy, {}, {"method": "ppo"})
        wocar.export(agent, "sb3", folder / file)
    return folder


@pytest.fixture
def place(agents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(agents, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_what_it_is(page: Path) -> None:
    found = {language for language, _ in FENCE.findall(page.read_text(encoding="utf-8"))}
    assert found <= {"python", "sh", "text", "toml", "bibtex"}
    for text in blocks(page, "toml"):
        tomllib.loads(text)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_of_prose_are_short(page: Path) -> None:
    shown = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
    assert [line for line in shown if len(line) > 120 and not line.startswith(("|", "<img"))] == []


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_of_a_page_runs(page: Path, place: Path) -> None:
    run([tiny(text) for text in blocks(page, "python")], page.name)


def run(cells: list[str], source: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": source}
    for cell in cells:
        exec(compile(cell, source, "exec"), space)
    return space


class Parsed(Exception):
    """The options were understood."""


def commands(page: Path) -> list[str]:
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("wocar ")]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name)
def test_commands_of_a_page_parse(page: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in COMMANDS:
        module = importlib.import_module(f"wocar.cli.{command}_command")
        if hasattr(module, "parse"):
            monkeypatch.setattr(module, "parse", parsed(module.parse))
    for line in commands(page):
        with pytest.raises((Parsed, SystemExit)) as stop:
            main(shlex.split(line, comments=True)[1:])
        assert isinstance(stop.value, Parsed) or not stop.value.code, line


def parsed(parse: Any) -> Any:
    def only(*words: Any, **options: Any) -> None:
        parse(*words, **options)
        raise Parsed

    return only


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name)
def test_a_notebook_runs(notebook: Path, place: Path) -> None:
    found = json.loads(notebook.read_text(encoding="utf-8"))
    assert (found["nbformat"], notebook.stat().st_size < 100_000) == (4, True)
    shutil.copytree(ROOT / "leaderboard", place / "leaderboard")
    run([tiny("".join(cell["source"])) for cell in found["cells"] if cell["cell_type"] == "code"], notebook.name)
