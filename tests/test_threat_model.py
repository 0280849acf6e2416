"""The threat model: every sentence of a table names a test, and the test exists."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "threat-model.md").read_text()
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| (?!an? (file|run|folder)|-)", line)]


@pytest.mark.parametrize("row", [row for row in ROWS if not row.startswith("|---")])
def test_every_sentence_has_its_test(row: str) -> None:
    (named,) = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
    assert re.search(rf"^def {named[1]}\(", (TESTS / named[0]).read_text(), re.M)


def test_the_tables_are_found() -> None:
    assert len(ROWS) > 15
