"""Honest files by kind: the name that the file must have, its bytes, and the reader."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
Reader = Callable[[Path], None]


class Corpus:
    """Files of every kind in a folder, where their readers look for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kinds: dict[str, tuple[str, bytes, Reader]] = {}

    def add(self, kind: str, name: str, data: bytes, reader: Reader) -> None:
        self.kinds[kind] = name, data, reader

    def read(self, kind: str, data: bytes) -> None:
        """Put the damaged file in place, read it, and put the honest one back."""
        name, honest, reader = self.kinds[kind]
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        try:
            reader(path)
        finally:
            path.unlink(missing_ok=True)
            if path.parent.name in ("agent", "run"):
                path.write_bytes(honest)


def module_of_tests(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / "tests" / name)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def void(_: Any) -> None:
    """Nothing: what was read does not matter."""
