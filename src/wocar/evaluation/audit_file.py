"""Audit folder: finished cells, so that a killed audit continues with what is missing."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, cast

from wocar.evaluation.audit_result import CellResult
from wocar.files import one_line_errors, read_json, write_json
from wocar.types import UserError

Key = dict[str, Any]
"""All that a cell's numbers depend on: another key is another cell."""


class AuditFolder:
    """One file per finished cell; learned attackers are trained in folders beside them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with one_line_errors("write", path):
            path.mkdir(parents=True, exist_ok=True)

    def read(self, key: Key) -> CellResult | None:
        """The cell, or None where it is missing or not readable: it is then made again."""
        file = self._file(key)
        try:
            data = read_json(file) if file.is_file() else {}
        except UserError:
            return None
        found = isinstance(data, dict) and data.get("key") == key and "result" in data
        return cast(CellResult, data["result"]) if found else None

    def write(self, key: Key, result: CellResult) -> None:
        write_json(self._file(key), {"key": key, "result": result})

    def folder(self, key: Key) -> Path:
        """Where the attacker of this key is trained."""
        return self.path / _name(key)

    def _file(self, key: Key) -> Path:
        return self.path / f"{_name(key)}.json"


def _name(key: Key) -> str:
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', key['attack'])}-eps{key['eps']:g}-{digest[:12]}"
