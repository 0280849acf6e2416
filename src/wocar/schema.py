"""Schemas: whether plain data, as read from JSON, has the types that an annotation says.

Kinds of files are described by TypedDicts, configurations by their dataclasses; numbers must be finite.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from wocar.types import UserError

LONGEST = 20_000
"""Characters of a text, or of a name in an object."""
LARGEST = 1e15
"""Numbers beyond this are not measurements: sums and differences of them lose their meaning."""


def checked(data: Any, kind: Any, source: Path | str) -> Any:
    """The data; a UserError that names the place where they are not of the kind."""
    if problem := fault(data, kind):
        raise UserError(f"{source} is damaged: {problem}")
    return data


def fault(value: Any, kind: Any, at: str = "it") -> str:
    """What is wrong with a value, and where; empty where nothing is."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Annotated, NotRequired, Required):
        return fault(value, arguments[0], at)
    if origin in (Union, UnionType):
        problems = [fault(value, option, at) for option in arguments]
        return "" if "" in problems else problems[0]
    if is_typeddict(kind):
        return _typed_dict_fault(value, kind, at)
    if origin is Literal:
        return (
            ""
            if any(value == option and type(value) is type(option) for option in arguments)
            else f"{at} is {_shown(value)}"
        )
    if origin in (dict, Mapping):
        problems = (
            [
                fault(name, str, f"a name in {at}") or fault(item, arguments[1], f"{at}.{name}")
                for name, item in value.items()
            ]
            if isinstance(value, dict)
            else [f"{at} is no object"]
        )
        return next(filter(None, problems), "")
    if origin in (list, tuple, Sequence):
        return _sequence_fault(value, origin, arguments, at)
    return _plain_fault(value, kind, at)


def _typed_dict_fault(value: Any, kind: Any, at: str) -> str:
    if not isinstance(value, dict):
        return f"{at} is no object"
    hints = get_type_hints(kind, include_extras=True)
    if missing := sorted(kind.__required_keys__ - value.keys()):
        return f"{at} lacks {missing[0]}"
    problems = (
        fault(value[name], hint, f"{at}.{name}" if at != "it" else name)
        for name, hint in hints.items()
        if name in value
    )
    return next(filter(None, problems), "")


def _sequence_fault(value: Any, origin: Any, arguments: tuple[Any, ...], at: str) -> str:
    if not isinstance(value, list | tuple):
        return f"{at} is no list"
    kinds = list(arguments)
    if origin is tuple and arguments[-1:] != (...,):
        if len(value) != len(kinds):
            return f"{at} has {len(value)} entries, not {len(kinds)}"
    else:
        kinds = [arguments[0]] * len(value)
    problems = (fault(item, kind, f"{at}[{i}]") for i, (item, kind) in enumerate(zip(value, kinds, strict=True)))
    return next(filter(None, problems), "")


def _plain_fault(value: Any, kind: Any, at: str) -> str:
    if kind in (None, NoneType):
        fits = value is None
    elif kind is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)
    elif kind is int:
        fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    elif kind is str and isinstance(value, str) and len(value) > LONGEST:
        return f"{at} has {len(value):,} characters"
    elif kind in (bool, str, dict, list):
        fits = isinstance(value, kind)
    elif kind is Path:
        fits = isinstance(value, str | Path)
    else:
        fits = True
    return "" if fits else f"{at} is {_shown(value)}"


def _finite(value: float) -> bool:
    return abs(value) <= LARGEST  # false of nan too, and safe for integers of hundreds of digits


def _shown(value: Any) -> str:
    """The value in a few characters, or its kind."""
    return repr(value)[:40] if isinstance(value, int | float | str | NoneType) else f"a {type(value).__name__}"


def dataclass_fault(settings: Any, infinite: bool = True) -> str:
    """What is wrong with the fields of a configuration; other dataclasses in it are left out.

    `infinite`: numbers that are not finite have their own messages, where their ranges are checked.
    """
    hints = get_type_hints(type(settings), include_extras=True)
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if infinite and isinstance(value, float) and not math.isfinite(value):
            continue
        if not dataclasses.is_dataclass(value) and (problem := fault(value, hints[field.name], field.name)):
            return problem
    return ""
