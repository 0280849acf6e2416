"""Git commit of the running source code."""

import functools
import os
import subprocess
from pathlib import Path
from typing import Any

SECONDS = 5
"""After this git is not waited for: a record without a commit is better than none."""
REDIRECTIONS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Variables, set inside git hooks, that point git to another repository than the folder's own."""


@functools.cache
def source_commit(package: Path = Path(__file__).parents[1]) -> dict[str, Any]:
    """`commit` of the package's folder and whether it is `dirty`: some file in it differs from that commit.

    Empty where git does not track the folder (an installed wheel), is not installed, or refuses to read it.
    """
    try:
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        lines = _git(package, "status", "--porcelain=v2", "--branch", "--", ".").splitlines()
    except (OSError, subprocess.SubprocessError):
        return {}
    headers = [line.split() for line in lines if line.startswith("# ")]
    commit = next((fields[2] for fields in headers if fields[1] == "branch.oid"), None)
    dirty = len(headers) < len(lines)
    return {"commit": commit, "dirty": dirty} if commit and commit != "(initial)" else {}


def _git(folder: Path, *arguments: str) -> str:
    variables = {name: value for name, value in os.environ.items() if name not in REDIRECTIONS}
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout
