"""Plain data against the types that an annotation says."""

import math
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from wocar.schema import checked, dataclass_fault, fault
from wocar.types import UserError


class Row(TypedDict):
    mean: float
    name: NotRequired[str | None]


@dataclass
class Settings:
    steps: int = 1
    rate: float = 0.5
    hidden: tuple[int, ...] = (4,)
    kind: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, float),
        (1.5, float),
        (3, int),
        ([1, 2.5], list[float]),
        ([1.0, 2.0], tuple[float, float]),
        ({"mean": 1, "more": []}, Row),
        ({"mean": 1, "name": None}, Row),
        ({"a": {"mean": 0.0}}, dict[str, Row]),
        ("a", Literal["a", "b"]),
        ([[]], Any),
    ],
)
def test_what_fits(value: Any, kind: Any) -> None:
    assert fault(value, kind) == ""


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (True, float, "it is True"),
        (math.nan, float, "it is nan"),
        (10**400, float, "it is 1000"),
        (10**400, int, "it is 1000"),
        (1.0, int, "it is 1.0"),
        ([1.0], tuple[float, float], "it has 1 entries, not 2"),
        ({"mean": "high"}, Row, "mean is 'high'"),
        ({}, Row, "it lacks mean"),
        ({"a": {"mean": {}}}, dict[str, Row], "it.a.mean is a dict"),
        ([{"mean": 1.0}, 3], list[Row], "it[1] is no object"),
        (1, Literal["a", 2], "it is 1"),
        (True, Literal[1], "it is True"),
        ("x", int | None, "it is 'x'"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(value: Any, kind: Any, words: str) -> None:
    assert fault(value, kind).startswith(words)
    with pytest.raises(UserError, match=r"file\.json is damaged"):
        checked(value, kind, "file.json")


def test_configurations() -> None:
    assert dataclass_fault(Settings(hidden=[8, 8], rate=math.inf)) == ""  # type: ignore[arg-type]
    assert dataclass_fault(Settings(steps="many")) == "steps is 'many'"  # type: ignore[arg-type]
    assert dataclass_fault(Settings(hidden=(4, "x"))) == "hidden[1] is 'x'"  # type: ignore[arg-type]
    assert dataclass_fault(Settings(kind="c")) == "kind is 'c'"  # type: ignore[arg-type]
