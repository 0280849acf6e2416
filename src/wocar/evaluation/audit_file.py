"""Audit folder: finished cells, so that a killed audit continues with what is missing.

A cell counts only with the signature of this user's key: the folder may lie in what is audited, whose maker could have
put other numbers there.
"""

import hashlib
import json
import re
import shutil
from os.path import isfile
from pathlib import Path
from typing import Any, cast

from wocar.evaluation.audit_result import CellResult
from wocar.files import one_line_errors, read_json, write_json
from wocar.local_key import signature, signed
from wocar.types import UserError

Key = dict[str, Any]
"""All that a cell's numbers depend on: another key is another cell."""


class AuditFolder:
    """One file per finished cell; learned attackers are trained in folders beside them.

    `fresh`: what the folder held before is not used.
    """

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path, self.fresh = path, fresh
        self.made, self.reused, self.refused = 0, 0, 0
        """Cells that were run, that were found, and that were found without our signature."""
        self._begun: set[str] = set()
        with one_line_errors("write", path):
            path.mkdir(parents=True, exist_ok=True)

    def read(self, key: Key) -> CellResult | None:
        """The cell, or None where it is missing, not readable or not signed: it is then made again."""
        file = self._file(key)
        if self.fresh and file.name not in self._begun:
            return None
        try:
            data = read_json(file) if isfile(file) else {}
        except UserError:
            return None
        if not isinstance(data, dict) or data.get("key") != key or "result" not in data:
            return None
        if not signed(data.get("signature"), key, data["result"]):
            self.refused += 1
            return None
        self.reused += 1
        return cast(CellResult, data["result"])

    def write(self, key: Key, result: CellResult) -> None:
        plain = json.loads(json.dumps(result))
        write_json(self._file(key), {"key": key, "result": plain, "signature": signature(key, plain)})
        self.made += 1
        self._begun.add(self._file(key).name)

    def folder(self, key: Key) -> Path:
        """Where the attacker of this key is trained."""
        folder = self.path / _name(key)
        if self.fresh and folder.name not in self._begun:
            shutil.rmtree(folder, ignore_errors=True)
        self._begun.add(folder.name)
        return folder

    def _file(self, key: Key) -> Path:
        return self.path / f"{_name(key)}.json"


def _name(key: Key) -> str:
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', key['attack'])}-eps{key['eps']:g}-{digest[:12]}"
