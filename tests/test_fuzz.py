"""The fuzzer, for a short time: no reader runs code, raises anything but a UserError, takes long or much memory."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "fuzz.py"


def test_damaged_files_of_every_kind_are_refused_in_one_line_or_taken(tmp_path: Path) -> None:
    words = [sys.executable, SCRIPT, "--files", "580", "--minutes", "3", "--json", tmp_path / "fuzz.json"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    result = json.loads((tmp_path / "fuzz.json").read_text())
    assert result["found"] == [] and done.returncode == 0, done.stdout + done.stderr
    assert len(result["kinds"]) >= 28 and result["files"] >= 28
    assert sum(kind["refused"] for kind in result["kinds"].values()) > 0
