"""The commit in a result's provenance: of the code that ran, or absent."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wocar
from wocar.training.run_folder import provenance
from wocar.training.source_commit import source_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def own_git_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    source_commit.cache_clear()


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "src" / "wocar").mkdir(parents=True)
    (folder / "src" / "wocar" / "__init__.py").write_text("")
    (folder / ".gitignore").write_text(".venv\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_the_commit_is_that_of_the_checkout(repository: Path) -> None:
    found = source_commit(repository / "src" / "wocar")
    assert found == {"commit": git(repository, "rev-parse", "HEAD"), "dirty": False}


@pytest.mark.parametrize(
    ("file", "dirty"), [("src/wocar/__init__.py", True), ("src/wocar/new.py", True), ("notes.md", False)]
)
def test_changes_of_the_source_make_it_dirty(repository: Path, file: str, dirty: bool) -> None:
    (repository / file).write_text("x = 1\n")
    assert source_commit(repository / "src" / "wocar")["dirty"] is dirty


def test_a_package_installed_inside_another_repository_has_no_commit(repository: Path) -> None:
    installed = repository / ".venv" / "wocar"
    shutil.copytree(repository / "src" / "wocar", installed)
    assert source_commit(installed) == {}


def test_no_repository_no_commit(tmp_path: Path) -> None:
    assert source_commit(tmp_path) == {}
    assert source_commit(tmp_path / "absent") == {}


def test_no_git_no_commit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert source_commit(repository / "src" / "wocar") == {}


def test_a_folder_of_another_user_has_no_commit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own switch for this case
    assert source_commit(repository / "src" / "wocar") == {}


def test_the_variables_of_a_git_hook_do_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "another")
    expected = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert source_commit(repository / "src" / "wocar")["commit"] == expected


def test_provenance_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = source_commit()
    assert provenance().get("git", {}) == found
    assert provenance()["versions"]["wocar"] == wocar.__version__
    monkeypatch.setattr(sys, "argv", ["wocar", "train", "a b"])
    assert provenance()["command"] == "wocar train 'a b'"
