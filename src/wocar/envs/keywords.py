"""Keyword arguments of an environment as part of its id: `Pendulum-v1?g=9.5&render=false`."""

import json
from typing import Any


def split_keywords(id: str) -> tuple[str, dict[str, Any]]:
    """The id without them, and the keyword arguments: numbers, truth values, None and text."""
    plain, mark, rest = id.partition("?")
    if not mark:
        return id, {}
    pairs = [pair.partition("=") for pair in rest.split("&") if pair]
    return plain, {name: _value(text) for name, _, text in pairs}


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | None) else text
