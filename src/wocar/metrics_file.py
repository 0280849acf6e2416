"""Metrics file of a run: one JSON object per line, as training appends them."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from wocar.files import read_json_lines
from wocar.schema import fault

PAUSE = 3600.0
"""Seconds between two rows after which a training is taken to have rested, where rows do not say what they took."""


def read_metrics(path: Path) -> list[dict[str, float]]:
    """The numbers of each row, up to a line that is cut short; none where there is no file."""
    rows: list[dict[str, float]] = []
    for row in read_json_lines(path):
        if not isinstance(row, dict):
            break
        rows.append({name: value for name, value in row.items() if not fault(value, float)})
    return rows


def spent_seconds(rows: list[dict[str, float]]) -> float:
    """Time that a training took: what its last row counts, else steps of the clock, without pauses and jumps back."""
    if rows and "seconds" in rows[-1]:
        return rows[-1]["seconds"]
    times = [row["time"] for row in rows if "time" in row]
    steps = [after - before for before, after in pairwise(times)]
    return float(sum(step for step in steps if 0 < step < PAUSE))


def returns_in(rows: list[dict[str, Any]]) -> list[float]:
    return [row["return"] for row in rows if "return" in row]
