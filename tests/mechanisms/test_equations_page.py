"""docs/equations.md: every equation in exactly one docstring of bounds or mechanisms, where the page says it is."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| \((\d)\) \|.*\| `([\w.]+)` \|$", (ROOT / "docs/equations.md").read_text(), re.MULTILINE)


def resolve(path: str) -> object:
    """The object of a dotted path whose first part that imports is a module."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise ImportError(path)


def docstrings() -> list[str]:
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
    files = [f for room in ("bounds", "mechanisms") for f in (ROOT / "src/wocar" / room).rglob("*.py")]
    nodes = [node for f in files for node in ast.walk(ast.parse(f.read_text())) if isinstance(node, kinds)]
    return [ast.get_docstring(node) or "" for node in nodes]


def test_the_page_lists_all_eight() -> None:
    assert [number for number, _ in ROWS] == [str(k) for k in range(1, 9)]


@pytest.mark.parametrize(("number", "path"), ROWS)
def test_the_function_names_its_equation_and_no_other_does(number: str, path: str) -> None:
    assert f"Eq. ({number})" in (resolve(path).__doc__ or "")
    assert sum(f"Eq. ({number})" in text for text in docstrings()) == 1


def test_every_function_of_the_page_exists() -> None:
    for path in re.findall(r"`(wocar\.[\w.]+)`", (ROOT / "docs/equations.md").read_text()):
        resolve(path)
