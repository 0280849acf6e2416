"""The house rules hold in the package, and each of them can fail."""

import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.house_rules import MAX_LINES, MAY_IMPORT, PACKAGE, ROOT, host_paths, import_cycle, import_faults, long_files


def tiny_package(folder: Path, files: dict[str, str]) -> Path:
    """A package `wocar` made of the given module names (with slashes) and texts."""
    package = folder / "wocar"
    for name, text in files.items():
        file = package / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return package


def test_imports_follow_the_tables() -> None:
    faults = import_faults(PACKAGE)
    assert not faults, "\n".join(faults)


def test_the_table_points_down_only() -> None:
    TopologicalSorter(MAY_IMPORT).prepare()  # raises CycleError
    assert {target for targets in MAY_IMPORT.values() for target in targets} <= set(MAY_IMPORT)


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert import_cycle(PACKAGE) == []


def test_importing_the_package_imports_no_room() -> None:
    code = "import sys, wocar; print([name for name in sys.modules if name.startswith(('wocar.', 'jax', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_is_too_long() -> None:
    assert long_files(PACKAGE) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    files = [ROOT / name.decode() for name in listed.split(b"\0") if name]
    assert ROOT / "tests" / "conftest.py" in files
    assert host_paths(files) == []


@pytest.mark.parametrize(
    ("importer", "line", "fault"),
    [
        ("bounds/ball", "from wocar.training import ppo", "bounds -> training"),
        ("bounds/ball", "from wocar import training", "bounds -> training"),
        ("bounds/ball", "import wocar.training.ppo as p", "bounds -> training"),
        ("bounds/ball", "from ..training.ppo import fit", "bounds -> training"),
        ("bounds/ball", "def f():\n    from .. import training", "bounds -> training"),
        ("bounds/__init__", "from ..training import ppo", "bounds -> training"),
        ("types", "from .training import ppo", "types -> training"),
        ("types", "import gymnasium as gym", "types imports gymnasium"),
        ("attacks/pgd", "from envpool.registration import make", "attacks.pgd imports envpool"),
        ("mechanisms/worst_policy", "import optax", "mechanisms.worst_policy imports optax"),
        ("interop/sb3", "import torch.nn", "interop.sb3 imports torch"),
        ("bounds/ball", 'import_module("wocar.training.ppo")', "bounds -> training"),
        ("bounds/ball", 'import_module(f"wocar.training.{name}")', "bounds -> training"),
        ("bounds/ball", 'run([executable, "-m", "wocar.training.ppo", "--help"])', "bounds -> training"),
        ("bounds/ball", 'run("python -m wocar.training.ppo".split())', "bounds -> training"),
        ("bounds/ball", 'register(entry_point="wocar.training.ppo:PPO")', "bounds -> training"),
        ("cli", 'main = 1\nPLACES = {"train": "wocar.__main__"}', "cli -> __main__"),
        ("types", 'run([executable, "-m", "wocar", "train"])', "types -> cli"),
        ("cellar", "", "room 'cellar' is unknown: add it to MAY_IMPORT"),
    ],
)
def test_the_import_rule_can_fail(tmp_path: Path, importer: str, line: str, fault: str) -> None:
    files = {"training/ppo": "", "cli": "", "__main__": "", importer: line}
    faults = import_faults(tiny_package(tmp_path, files))
    assert len(faults) == 1
    assert fault in faults[0]


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        ("training/ppo", "from ..bounds import ball\nfrom . import gae\nimport optax"),
        ("bounds/ball", "from wocar import __version__\nfrom .interval import ibp\nimport jax"),
        ("mechanisms/worst_value", "import optax\nfrom wocar.bounds.ball import project"),
        ("envs/make", "import envpool, gymnasium"),
        ("training/ppo", 'import_module("wocar.bounds.ball")'),
        ("bounds/ball", '"""Used by `python -m wocar.training.gae`, see "wocar.training.gae"."""'),
    ],
)
def test_the_import_rule_lets_good_edges_pass(tmp_path: Path, importer: str, line: str) -> None:
    files = {"__init__": "", "bounds/interval": "", "training/gae": "", importer: line}
    assert import_faults(tiny_package(tmp_path, files)) == []


@pytest.mark.parametrize(
    ("files", "cycle"),
    [
        ({"training/ppo": "from wocar.training.gae import f", "training/gae": "from . import ppo"}, True),
        ({"training/__init__": "from .ppo import fit", "training/ppo": "from wocar.training import fit"}, True),
        ({"__init__": "from wocar.types import f", "types": "from wocar import __version__"}, True),
        (
            {"networks/__init__": "import wocar.agent", "networks/layers": "", "agent": "import wocar.networks.layers"},
            True,
        ),
        ({"training/ppo": "if x:\n    import wocar.training.gae", "training/gae": "import wocar.training.ppo"}, True),
        ({"training/ppo": "def f():\n    from . import gae", "training/gae": "from . import ppo"}, False),
        ({"types": "if TYPE_CHECKING:\n    from wocar import agent", "agent": "from wocar import types"}, False),
        ({"training/__init__": "from .ppo import fit", "training/ppo": "from . import gae", "training/gae": ""}, False),
    ],
)
def test_the_cycle_rule_sees_what_is_imported_at_once(tmp_path: Path, files: dict[str, str], cycle: bool) -> None:
    assert bool(import_cycle(tiny_package(tmp_path, {"__init__": "", "training/__init__": "", **files}))) is cycle


def test_the_length_rule_can_fail(tmp_path: Path) -> None:
    package = tiny_package(tmp_path, {"types": "x = 1\n" * MAX_LINES, "agent": "x = 1\n" * (MAX_LINES + 1)})
    assert long_files(package) == [f"agent: {MAX_LINES + 1} lines"]


def test_the_host_path_rule_can_fail(tmp_path: Path) -> None:
    guilty, innocent = tmp_path / "guilty", tmp_path / "innocent"
    guilty.write_bytes(b'see "/' + b'root/cache/x"')
    innocent.write_bytes(b"https://example.org/work/ and ./work/ and homework/root/")
    assert host_paths([guilty, innocent, tmp_path / "absent"]) == [str(guilty)]
