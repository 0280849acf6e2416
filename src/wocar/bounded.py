"""Bounded reading of files that may be anybody's: regular files only, with limits on bytes, elements and depth."""

import json
import os
import stat
from pathlib import Path
from typing import Any

from wocar.types import UserError

MAX_BYTES = 2**29
"""Of one file: more than any agent needs."""
MAX_ELEMENTS = 200_000
"""Values in one JSON text."""
MAX_DEPTH = 64


def read_regular(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file of limited size; devices, pipes and folders are refused without waiting for them."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            found = os.fstat(handle)
            if stat.S_ISDIR(found.st_mode):
                raise UserError(f"cannot read {path}: Is a directory")
            if not stat.S_ISREG(found.st_mode):
                raise UserError(f"cannot read {path}: it is not a regular file")
            if found.st_size > max_bytes:
                raise UserError(f"cannot read {path}: it is larger than {_size(max_bytes)}")
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > max_bytes:  # it has grown meanwhile, or did not tell its size
        raise UserError(f"cannot read {path}: it is larger than {_size(max_bytes)}")
    return data


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


def _size(n: int) -> str:
    return f"{n >> 20} MB" if n >= 2**20 else f"{n >> 10} kB"
