"""Files that survive a crash: atomic writes, checked reads."""

import contextlib
import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterator
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from wocar.bounded_json import count_values, parse_json
from wocar.types import UserError

PARTIAL = re.compile(r"\.[0-9a-f]{12}\.partial$")
"""Ends the names of files and folders that are being written."""
MOST_JSON, MOST_LOG, MOST_ARRAYS = 16_000_000, 64_000_000, 256_000_000
"""Largest files that are read, in bytes: JSON takes many times as much memory."""
MOST_VALUES = 2_000_000
"""Values in one file of JSON, and as many again for its lines."""

LONGEST_NAME = "x" * 64
"""No shorter than the names that are looked for in folders."""


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


def no_link(path: str, flags: int) -> int:
    """Opener of files that are written in place: a link in a stranger's folder would lead to a file elsewhere."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)


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


def named_path(folder: Path, name: str) -> Path | None:
    """The path that a file names, from a folder; None where nothing can be there: too long, a loop, no permission."""
    try:
        os.lstat(folder / name / LONGEST_NAME)
    except (FileNotFoundError, NotADirectoryError):
        return folder / name
    except (OSError, ValueError):  # a NUL, half a pair
        return None
    return folder / name


def read_json(path: Path, most: int = MOST_JSON) -> Any:
    data = read_regular(path, most)
    try:
        return parse_json(data, 2 * MOST_VALUES)
    except (ValueError, RecursionError) as error:
        why = str(error) if "its JSON" in str(error) else "it is not JSON"
        raise UserError(f"{path} is damaged: {why}") from error


def read_json_lines(path: Path) -> list[Any]:
    """The JSON values of a file, one per line, up to a line that is cut short; none where there is no file."""
    rows = []
    for line in read_lines(path) if isfile(path) else []:
        try:
            rows.append(parse_json(line))
        except (ValueError, RecursionError):  # still being written, or cut short by a kill
            break
    return rows


def read_lines(path: Path) -> list[bytes]:
    """The lines of a file of JSON lines; a UserError where they would become more values than memory holds."""
    data = read_regular(path, MOST_LOG)
    if count_values(data) > MOST_VALUES:
        raise UserError(f"cannot read {path}: it has more than {MOST_VALUES:,} values")
    return data.splitlines()


@contextlib.contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """A directory that gets its name only when everything in it is written; one of that name is there until then."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.partial")
    with one_line_errors("write", path):
        temporary.mkdir(parents=True)
    try:
        yield temporary
        with one_line_errors("write", path):
            _take_name(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _take_name(new: Path, path: Path) -> None:
    """Give a directory a name; what has it already is then found under the other's."""
    for folder in (*new.rglob("*"), new):
        if isdir(folder):
            _sync(folder)
    try:
        os.rename(new, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not _exchange(new, path):
            aside = new.with_name(f"{new.name}.old")
            os.rename(path, aside)
            os.rename(new, path)
            os.rename(aside, new)
    _sync(path.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names at once, where the system can."""
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return swap(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def _sync(folder: Path) -> None:
    """Have a directory's entries on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial(folder: Path) -> None:
    """Remove what `atomic_directory` and `write_atomic` left in a folder when their process died."""
    for path in folder.glob("*.partial") if isdir(folder) else ():
        if PARTIAL.search(path.name):
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if isdir(path) and not path.is_symlink() else path.unlink()


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
