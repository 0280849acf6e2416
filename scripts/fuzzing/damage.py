"""Damage: by structure where a file is JSON, else by bytes."""

import json
from typing import Any

ODD: list[Any] = [None, True, -1, 0, 2**62, 10**400, 1e308, -1e308, float("nan"), float("inf"), "", "x", "../../x"]
ODD += ["\x1b[2J\u202e\n=1+1<script>", "a" * 5000, [], {}, [[]], [None], {"": {}}, [1, "x"], [0.5] * 300, "os:system"]
ODD += ["a\0b", "\ud800", "/dev/zero", "../" * 2000, "-" + "1" * 100_000 + "x"]


def damaged(data: bytes, rng: Any) -> bytes:
    """By structure where it is JSON, else, and sometimes then too, by bytes."""
    if data[:1] == b"{" and rng.random() < 0.8:
        lines = data.splitlines()
        at = int(rng.integers(len(lines))) if len(lines) > 1 and len(lines[0]) < 500 else 0
        try:
            tree = json.loads(lines[at]) if len(lines) > 1 and len(lines[0]) < 500 else json.loads(data)
        except ValueError:
            return damaged_bytes(data, rng)
        for _ in range(int(rng.integers(1, 3))):
            tree = damaged_tree(tree, rng)
        text = json.dumps(tree).encode()
        return b"\n".join([*lines[:at], text, *lines[at + 1 :]]) if len(lines) > 1 and len(lines[0]) < 500 else text
    return damaged_bytes(data, rng)


def damaged_tree(tree: Any, rng: Any) -> Any:
    """One entry, anywhere in it, replaced, left out, or put under another name."""
    if isinstance(tree, dict | list) and tree and rng.random() < 0.85:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = keys[int(rng.integers(len(keys)))]
        how = rng.random()
        if how < 0.1:
            del tree[key]
        elif how < 0.15 and isinstance(tree, dict):
            tree[str(ODD[int(rng.integers(len(ODD)))])[:50]] = tree.pop(key)
        else:
            tree[key] = damaged_tree(tree[key], rng)
        return tree
    odd = ODD[int(rng.integers(len(ODD)))]
    return json.loads(json.dumps(odd)) if rng.random() < 0.97 else deep(300)


def deep(levels: int) -> Any:
    tree: Any = 0
    for _ in range(levels):
        tree = [tree]
    return tree


def damaged_bytes(data: bytes, rng: Any) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at, how = int(rng.integers(len(out) or 1)), int(rng.integers(8))
        size = int(rng.integers(1, 17))
        if how == 0 and out:
            out[min(at, len(out) - 1)] ^= 1 << int(rng.integers(8))
        elif how == 1:
            out[at : at + size] = rng.bytes(size)
        elif how == 2:
            del out[at : at + size]
        elif how == 3:
            out[at:at] = rng.bytes(size)
        elif how == 4:
            out[at : at + 4] = (2 ** int(rng.integers(33)) - 1).to_bytes(5, "little")[:4]
        elif how == 5:
            other = int(rng.integers(len(out) or 1))
            out[at:at] = out[other : other + 4 * size]
        elif how == 6 and rng.random() < 0.1:
            out[at:at] = bytes(out[at : at + size]) * int(2 ** rng.integers(2, 15))
        elif how == 7 and rng.random() < 0.3:
            del out[at:]
    return bytes(out)
