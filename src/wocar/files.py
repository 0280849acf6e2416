"""Files that survive a crash: atomic writes, checked reads."""

import contextlib
import hashlib
import json
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from wocar.types import UserError

MOST_JSON, MOST_LOG, MOST_ARRAYS = 16_000_000, 256_000_000, 256_000_000
"""Largest files that are read, in bytes: JSON takes many times as much memory."""


@contextlib.contextmanager
def one_line_errors(what: str, path: Path) -> Iterator[None]:
    """Turn an operating-system error (full disk, no permission) into a UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot {what} {path}: {error.strerror or error}") from error


def write_atomic(path: Path, data: bytes) -> None:
    """Write the whole file or nothing, also where several processes write it at once."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.partial")
    with one_line_errors("write", path):
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def write_json(path: Path, data: Any) -> None:
    write_atomic(path, (json.dumps(data, indent=1) + "\n").encode())


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a regular file, at most so many: a pipe or a device would never end."""
    with one_line_errors("read", path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise UserError(f"cannot read {path}: it is not a regular file")
            if about.st_size > most:
                raise UserError(f"cannot read {path}: {about.st_size:,} bytes are more than the {most:,} allowed")
            return file.read(about.st_size)  # asked for more, it would set aside as much memory


def read_json(path: Path, most: int = MOST_JSON) -> Any:
    data = read_regular(path, most)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: it is not JSON") from error


def read_json_lines(path: Path) -> list[Any]:
    """The JSON values of a file, one per line, up to a line that is cut short; none where there is no file."""
    rows = []
    lines = read_regular(path, MOST_LOG).splitlines() if path.is_file() else []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):  # still being written, or cut short by a kill
            break
    return rows


@contextlib.contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """A directory that gets its name only when everything in it is written."""
    temporary = path.with_name(path.name + ".partial")
    with one_line_errors("write", path):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
    try:
        yield temporary
        with one_line_errors("write", path):
            shutil.rmtree(path, ignore_errors=True)
            os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def tree_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a pytree by their path in it."""
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, eqx.is_array))
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def fill_tree(template: Any, arrays: dict[str, np.ndarray], source: Path) -> Any:
    """The template with its arrays (or shapes) replaced by the arrays of the same path; shapes must match."""
    params, static = eqx.partition(template, lambda x: eqx.is_array(x) or isinstance(x, jax.ShapeDtypeStruct))
    paths, treedef = jax.tree_util.tree_flatten_with_path(params)
    filled = []
    for path, leaf in paths:
        name = jax.tree_util.keystr(path)
        if name not in arrays:
            raise UserError(f"{source} lacks {name}: it was made for another kind of network")
        if arrays[name].shape != leaf.shape:
            raise UserError(f"{source}: {name} has shape {arrays[name].shape}, expected {leaf.shape}")
        array = arrays[name].astype(leaf.dtype)
        filled.append(array if isinstance(leaf, np.ndarray) else jax.numpy.asarray(array))
    return eqx.combine(jax.tree_util.tree_unflatten(treedef, filled), static)


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> str:
    """Write a safetensors file; returns its checksum."""
    data = save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    write_atomic(path, data)
    return checksum(data)


def read_arrays(path: Path, expected_checksum: str) -> dict[str, np.ndarray]:
    data = read_regular(path, MOST_ARRAYS)
    if checksum(data) != expected_checksum:
        raise UserError(f"{path} does not match its checksum: it was truncated or edited; copy it again")
    try:
        return load(data)
    except SafetensorError as error:
        raise UserError(f"{path} is damaged: it is not a safetensors file") from error


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
