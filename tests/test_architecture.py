"""House rules that a parser can check: who imports whom, how long a file may be, no paths of one machine."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "wocar"
MAX_LINES = 300
HOST_PATH = re.compile(rb"(?<![\w.\-/])/(?:work|root|home|Users)/")

# room -> the other rooms it may import. A room is a module or a package directly under wocar.
MAY_IMPORT: dict[str, list[str]] = {
    "types": [],
    "activations": [],
    "plugins": [],
    "runtime": [],
    "bounded_json": [],
    "local_key": [],
    "text": [],
    "files": ["bounded_json", "types"],
    "schema": ["types"],
    "metrics_file": ["files", "schema"],
    "schedules": ["types"],
    "networks": ["activations", "types"],
    "bounds": ["activations", "types"],
    "envs": ["plugins", "types"],
    "agent": ["files", "networks", "schema", "types"],
    "black_box": ["agent", "networks", "types"],
    "rollout": ["agent", "networks", "types"],
    "episodes": ["agent", "envs", "networks", "types"],
    "threat": ["bounds", "networks", "types"],
    "config_base": ["threat", "types"],
    "mechanisms": ["bounds", "config_base", "schedules", "threat", "types"],
    "attacks": ["agent", "bounds", "episodes", "mechanisms", "networks", "threat", "types"],
    "training": [
        "agent",
        "attacks",
        "bounds",
        "config_base",
        "envs",
        "episodes",
        "files",
        "local_key",
        "mechanisms",
        "metrics_file",
        "networks",
        "plugins",
        "rollout",
        "runtime",
        "schedules",
        "schema",
        "threat",
        "types",
    ],
    "evaluation": [
        "agent",
        "attacks",
        "bounds",
        "envs",
        "episodes",
        "files",
        "local_key",
        "mechanisms",
        "networks",
        "plugins",
        "rollout",
        "runtime",
        "text",
        "threat",
        "types",
    ],
    "interop": ["agent", "black_box", "bounded_json", "files", "networks", "types"],
    "zoo": ["agent", "evaluation", "files", "text", "types"],
}
LOWER = list(MAY_IMPORT)
MAY_IMPORT["methods"] = LOWER
MAY_IMPORT["loading"] = LOWER
MAY_IMPORT["report"] = ["agent", "evaluation", "files", "metrics_file", "methods", "schema", "text", "types"]
MAY_IMPORT["api"] = [*LOWER, "loading", "methods"]
MAY_IMPORT["hardening"] = [*LOWER, "loading", "methods", "api"]
MAY_IMPORT["reproduce"] = [*LOWER, "methods", "report"]
MAY_IMPORT["__init__"] = [*LOWER, "loading", "methods", "api", "hardening"]  # by name, when first used
MAY_IMPORT["cli"] = [room for room in MAY_IMPORT if room != "__init__"]
MAY_IMPORT["bench"] = [*LOWER, "methods", "api", "cli"]
MAY_IMPORT["__main__"] = ["cli"]

# library -> the only modules or packages under wocar that may import it.
ONLY_IN: dict[str, list[str]] = {
    "ale_py": ["envs"],
    "envpool": ["envs"],
    "gymnasium": ["envs"],
    "matplotlib": ["report"],
    "mujoco": ["envs"],
    "ray": ["reproduce.ray_cluster"],
    "optax": ["training", "attacks", "mechanisms.worst_value"],
    "stable_baselines3": ["bench"],
    "torch": [],
}


def module_name(package: Path, file: Path) -> str:
    """Dotted name below the package: `envs.make`, `types`, `envs.__init__`."""
    return ".".join(file.relative_to(package).with_suffix("").parts)


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def import_statements(package: Path, file: Path, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """(a, "") for `import a`, (a, b) for `from a import b`; `a` is absolute."""
    inside = [package.name, *module_name(package, file).split(".")]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = inside[: len(inside) - node.level] if node.level else []
            source = ".".join([*parts, *([node.module] if node.module else [])])
            yield from ((source, alias.name) for alias in node.names)


def modules_in_strings(package: Path, tree: ast.AST) -> Iterator[str]:
    """Modules that strings name, to be imported by name or run by `python -m`; docstrings do not count.

    `-m wocar` runs the command line.
    """
    name = re.compile(rf"(?:.*-m )?({package.name}(?:\.\w+)+)\.?(?::\w*)?")
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            if found := name.fullmatch(node.value):
                yield found[1]
        elif isinstance(node, ast.List | ast.Tuple):
            words = [word.value if isinstance(word, ast.Constant) else None for word in node.elts]
            if ("-m", package.name) in pairwise(words):
                yield f"{package.name}.cli"


def imported_modules(package: Path, file: Path) -> Iterator[str]:
    """Dotted names of all that a file imports, also inside functions, by name in a string, or in a new process."""
    tree = parsed(file)
    for source, name in import_statements(package, file, ast.walk(tree)):
        yield source
        yield f"{source}.{name}"
    yield from modules_in_strings(package, tree)


def run_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module that importing it runs: not functions' bodies, nor what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        yield from run_at_import(node)


def import_graph(package: Path) -> dict[str, set[str]]:
    """Module to the modules that importing it needs; a package stands for its `__init__`."""
    files = {f"{package.name}.{module_name(package, f)}".removesuffix(".__init__"): f for f in package.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for module, file in files.items():
        graph[module] = set()
        for source, name in import_statements(package, file, run_at_import(parsed(file))):
            target = f"{source}.{name}" if f"{source}.{name}" in files else source
            parts = target.split(".")
            packages = {".".join(parts[:k]) for k in range(1, len(parts))}  # imported before the target
            under_way = {package for package in packages if f"{module}.".startswith(f"{package}.")}
            graph[module] |= ({target} | packages - under_way) & set(files)
    return graph


def import_cycle(package: Path) -> list[str]:
    """Modules that import each other in a circle while they are being imported; empty where there are none."""
    try:
        TopologicalSorter(import_graph(package)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def rooms_of(package: Path) -> set[str]:
    """The modules and packages directly under the package."""
    return {module_name(package, file).split(".")[0] for file in package.rglob("*.py")}


def import_faults(package: Path) -> list[str]:
    """Every import that the two tables forbid, as a sentence."""
    rooms = rooms_of(package)
    faults = {f"room '{room}' is unknown: add it to MAY_IMPORT" for room in rooms - set(MAY_IMPORT)}
    for file in sorted(package.rglob("*.py")):
        name = module_name(package, file)
        room = name.split(".")[0]
        for imported in imported_modules(package, file):
            top, _, rest = imported.partition(".")
            if top in ONLY_IN and not any(f"{name}.".startswith(f"{place}.") for place in ONLY_IN[top]):
                faults.add(f"{name} imports {top}, which only {ONLY_IN[top] or 'nobody'} may")
            target = rest.split(".")[0]
            known = top == package.name and target in rooms
            if known and target != room and target not in MAY_IMPORT.get(room, rooms):
                faults.add(f"{name} imports {package.name}.{target}: the edge {room} -> {target} is not in MAY_IMPORT")
    return sorted(faults)


def long_files(package: Path) -> list[str]:
    """Files above the line limit."""
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in sorted(package.rglob("*.py"))}
    return [f"{module_name(package, file)}: {n} lines" for file, n in lengths.items() if n > MAX_LINES]


def host_paths(files: Iterable[Path]) -> list[str]:
    """Files that name a directory of somebody's machine."""
    return [str(file) for file in files if file.is_file() and HOST_PATH.search(file.read_bytes())]


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
