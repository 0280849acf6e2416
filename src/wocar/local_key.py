"""Local key: signatures by which files that this user's wocar wrote are told from those that others planted."""

import contextlib
import functools
import hmac
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

SIZE = 32


def key_file() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "wocar" / "key"


@functools.cache
def local_key() -> bytes:
    """The key in the user's data folder, made when first needed; where none can be kept, one of this process alone."""
    with contextlib.suppress(OSError, RuntimeError):
        file = key_file()
        if (found := _read(file)) is not None:
            return found
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = file.with_name(f"{file.name}.{secrets.token_hex(6)}.partial")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
            new.write(secrets.token_bytes(SIZE))
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.link(temporary, file)
        temporary.unlink()
        if (found := _read(file)) is not None:
            return found
    return secrets.token_bytes(SIZE)


def _read(file: Path) -> bytes | None:
    """The key, if it is a regular file that only its owner can read; one that others can read is a key no more."""
    try:
        about = file.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        with contextlib.suppress(OSError):
            file.unlink()
        return None
    key = file.read_bytes()
    if len(key) == SIZE:
        return key
    file.unlink()
    return None


def signature(*parts: Any) -> str:
    """HMAC-SHA256 of plain data."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hmac.digest(local_key(), text.encode(), "sha256").hex()


def signed(mark: Any, *parts: Any) -> bool:
    """Whether `mark` is our signature of these parts."""
    try:
        return isinstance(mark, str) and hmac.compare_digest(mark.encode(), signature(*parts).encode())
    except (TypeError, ValueError, RecursionError):
        return False
