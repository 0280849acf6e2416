"""House rules that a parser can check: who imports whom, how long a file may be, no paths of one machine."""

import ast
import re
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

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
