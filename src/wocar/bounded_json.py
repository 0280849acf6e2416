"""JSON of strangers, with limits on the number of its values and their depth."""

import json
from typing import Any

MAX_ELEMENTS = 200_000
"""Values in one JSON text."""
MAX_DEPTH = 64


def parse_json(data: bytes, max_elements: int = MAX_ELEMENTS, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text; a ValueError where it would become more values than a text of its kind has.

    Containers cost up to a thousand times the bytes of their brackets, so they are counted before they are made.
    """
    if sum(data.count(mark) for mark in (b"[", b"{", b",")) > max_elements:
        raise ValueError(f"its JSON has more than {max_elements} values")
    deepest = depth = 0
    for byte in data.translate(None, bytes(set(range(256)) - set(b"[]{}"))):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > max_depth and _true_depth(data) > max_depth:
        raise ValueError(f"its JSON is nested more than {max_depth} deep")
    return json.loads(data)


def _true_depth(data: bytes) -> int:
    """The nesting of brackets outside strings."""
    deepest = depth = 0
    inside = escaped = False
    for byte in data:
        if inside:
            inside, escaped = escaped or byte != ord('"'), not escaped and byte == ord("\\")
        elif byte == ord('"'):
            inside = True
        elif byte in b"[]{}":
            depth += 1 if byte in b"[{" else -1
            deepest = max(deepest, depth)
    return deepest
