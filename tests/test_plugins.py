"""Entry points of other packages."""

import sys
from pathlib import Path

import pytest

from wocar.plugins import load_plugins


def install(folder: Path, name: str, points: dict[str, str], module: str) -> None:
    """A package as an installer leaves it: a module, and metadata that lists its entry points by group."""
    (folder / f"{name}.py").write_text(module)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    text = "".join(f"[{group}]\n{name} = {target}\n" for group, target in points.items())
    (info / "entry_points.txt").write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_entry_points_are_loaded_once_and_failures_are_one_line(site: Path, caplog: pytest.LogCaptureFixture) -> None:
    module = "calls = []\ndef register():\n    calls.append(1)\n"
    install(site, "wocar_good", {"wocar.test-group": "wocar_good:register"}, module)
    install(site, "wocar_plain", {"wocar.test-group": "wocar_plain"}, "imported = True\n")
    install(site, "wocar_broken", {"wocar.test-group": "wocar_broken"}, "import no_such_module_anywhere\n")
    load_plugins("test-group")
    load_plugins("test-group")
    assert sys.modules["wocar_good"].calls == [1]
    assert sys.modules["wocar_plain"].imported
    (line,) = [record.getMessage() for record in caplog.records]
    assert "plugin wocar_broken (wocar.test-group) was not loaded: ModuleNotFoundError" in line
    assert "\n" not in line
