"""JSON of strangers, with limits on the number of its values and their depth."""

import json
import re
from typing import Any

MAX_ELEMENTS = 200_000
"""Values in one JSON text."""
MAX_DEPTH = 64
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.S)


def parse_json(data: bytes, max_elements: int = MAX_ELEMENTS, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text; a ValueError where it would become more values than a text of its kind has.

    Containers cost up to a thousand times the bytes of their brackets, so they are counted before they are made.
    """
    if count_values(data) > max_elements:
        raise ValueError(f"its JSON has more than {max_elements} values")
    if sum(data.count(mark) for mark in (b"[", b"{")) > max_depth and _depth(data) > max_depth:
        raise ValueError(f"its JSON is nested more than {max_depth} deep")
    return json.loads(data)


def count_values(data: bytes) -> int:
    """At least as many as the values of the JSON texts, and as their lines."""
    return sum(data.count(mark) for mark in (b"[", b"{", b",", b"\n", b"\r"))


def _depth(data: bytes) -> int:
    """The nesting of brackets outside strings."""
    deepest = depth = 0
    for byte in STRING.sub(b"", data).translate(None, bytes(set(range(256)) - set(b"[]{}"))):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest
