"""Documentation: modules, functions, files and links that it names exist; the changelog has its headings."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wocar
from wocar.methods.builtin import BUILTIN

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "results").rglob("README.md")),
]
SCRIPTS = sorted(file for file in (ROOT / "scripts").rglob("*") if file.suffix in (".py", ".sh"))
MODULE = re.compile(r"\b(wocar(?:\.(?!json)\w+)+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:src|tests|scripts|docs|requirements)/[\w./-]+)`")


def defined(tree: ast.AST) -> dict[str, ast.AST]:
    """What a module or class defines or imports, by name."""
    found: dict[str, ast.AST] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node for alias in node.names}
    return found


def exists(name: str, src: Path = ROOT / "src") -> bool:
    """Whether a dotted name is a module, or something that a module or class defines; nothing is imported."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        path = src.joinpath(*parts[:cut])
        file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
        if not file.is_file():
            continue
        node: ast.AST = ast.parse(file.read_text(encoding="utf-8"))
        for part in parts[cut:]:
            found = defined(node)
            if part not in found and (not public(file) or part not in file.read_text(encoding="utf-8")):
                return False
            node = found.get(part, ast.Module([], []))
        return True
    return False


def public(file: Path) -> bool:
    """The package's own `__init__` names what it imports later in a table of strings."""
    return file == ROOT / "src" / "wocar" / "__init__.py"


@pytest.mark.parametrize("page", [*PAGES, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_exist(page: Path) -> None:
    named = set(MODULE.findall(page.read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_links_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in LINK.findall(text) if "://" not in link]
    missing = [link for link in links if link and not (page.parent / link).exists()]
    assert missing + [file for file in FILE.findall(text) if not (ROOT / file).exists()] == []


def test_the_changelog_has_the_version_and_only_its_headings() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert releases[:2] == ["Unreleased", f"{wocar.__version__} (tag `v{wocar.__version__}`)"]
    headings = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert headings == {"Breaking", "New", "Fixed", "Deprecated", "Documentation"}


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {wocar.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r": ([\w/-]+\.md)$", text, re.MULTILINE))
    assert named == {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("wocar.training", True),
        ("wocar.training.ppo", True),
        ("wocar.types.UserError", True),
        ("wocar.rollout.Collector.collect", True),
        ("wocar.bounds.Ball", True),
        ("wocar.load", True),
        ("wocar.cellar", False),
        ("wocar.training.cellar", False),
        ("wocar.rollout.Collector.cellar", False),
    ],
)
def test_the_search_for_names(name: str, found: bool) -> None:
    assert exists(name) is found


def test_every_claim_of_the_results_is_a_folder_with_its_commands() -> None:
    """At the top only the index and the archive; the index names every folder."""
    results = ROOT / "results"
    folders = {path.name for path in results.iterdir() if path.is_dir() and not path.name.endswith(".parts")}
    assert {path.name for path in results.iterdir() if path.is_file()} == {"README.md", "archive.tar.xz"}
    assert [name for name in sorted(folders) if not (results / name / "README.md").is_file()] == []
    assert [name for name in sorted(folders) if not (results / name / "commands.sh").is_file()] == []
    listed = set(LINK.findall((results / "README.md").read_text(encoding="utf-8")))
    assert listed == {f"{name}/README.md" for name in folders}


@pytest.mark.parametrize(
    "script", ["tables.py", "method_tables.py", "scatter.py", "matrix.py", "suites_table.py", "budget_table.py"]
)
def test_the_tables_outputs_and_picture_are_those_of_the_results(script: str) -> None:
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_method_has_one_page_that_says_all() -> None:
    """Idea, objective with equation, function, preset, cost, result, departures."""
    pages = {page: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "methods").glob("*.md")}
    listed = [name for text in pages.values() for name in re.findall(r"<!-- method (\S+) -->", text)]
    named = [name for names in listed for name in names.split(",")]
    assert sorted(named) == sorted(set(named)) == sorted(method.name for method in BUILTIN)
    for page, text in pages.items():
        parts = re.findall(r"^\*\*(\w+(?: \w+)*)", text, re.MULTILINE)
        parts = [part for part in parts if part != "Steps count both halves"]
        asked = ["Idea", "Objective", "Our function", "Preset", "Cost", "Result", "Where it departs"]
        assert parts == asked and "```text" in text and len(text.splitlines()) < 80, page


def test_the_tables_of_what_works_are_those_of_the_results() -> None:
    script = ROOT / "scripts" / "what_works_table.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "what-works.md").read_text()
    tables = done.stdout.strip().split("\n\n")
    assert len(tables) == 3 and all(table in page for table in tables)
