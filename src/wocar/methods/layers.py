"""Layers of settings: TOML files whose tables hold for a kind of task, a task, a family of victims or a preset.

A file's plain keys hold everywhere. `[task.Hopper]` holds on Hopper, `[preset.small.kind.game]` in the preset small on
games. Within a file the later of SELECTORS wins; `extends` names files that come before. In a preset's table `after`
names the preset that it departs from, and `tasks` the only ones that it is for.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, get_args

from wocar.methods.method import LayerSource
from wocar.methods.tasks import TaskKind
from wocar.types import UserError, VictimFamily

SELECTORS = ("kind", "family", "task", "preset")
VALUES: dict[str, Collection[str]] = {"kind": get_args(TaskKind), "family": get_args(VictimFamily)}
PRESET_KEYS = ("after", "tasks")


class Layer(NamedTuple):
    source: str
    """File and table."""
    settings: dict[str, Any]


class LayerFile(NamedTuple):
    name: str
    table: Mapping[str, Any]

    def layers(self, where: Mapping[str, Sequence[str]]) -> Iterator[Layer]:
        """Those that hold where the selectors have these values."""
        yield from _chosen(self.name, self.table, where, ())

    def check(self, settings: Collection[str], presets: Collection[str]) -> None:
        """A UserError for a key that is neither a setting nor a selector."""
        _check(self.name, self.table, settings, {**VALUES, "preset": presets}, ())

    def preset(self, name: str) -> Mapping[str, Any]:
        return self.table.get("preset", {}).get(name, {})


def files(source: LayerSource, name: str = "") -> list[LayerFile]:
    """A file after those that it extends, each once. `name` is that of contents without a file."""
    own = _named(source) if isinstance(source, str) else _read(source, name)
    found: dict[str, LayerFile] = {}
    for other in own.table.get("extends", ()):
        found |= {file.name: file for file in files(other)}
    return [*found.values(), own]


def is_file(name: str) -> bool:
    return (resources.files("wocar.methods.presets") / f"{name}.toml").is_file()


@cache
def _named(name: str) -> LayerFile:
    if not is_file(name):
        raise UserError(f"there is no file of settings {name}.toml")
    return _read(resources.files("wocar.methods.presets") / f"{name}.toml", name)


def _read(source: Any, name: str) -> LayerFile:
    if isinstance(source, Mapping):
        return LayerFile(f"settings of {name}", source)
    try:
        return LayerFile(source.name, tomllib.loads(source.read_text()))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"cannot read {source}: {error}") from error


def _chosen(
    file: str, table: Mapping[str, Any], where: Mapping[str, Sequence[str]], path: tuple[str, ...]
) -> Iterator[Layer]:
    own = {key: _value(value) for key, value in table.items() if key not in SELECTORS and not _reserved(key, path)}
    if own:
        yield Layer(f"{file} [{'.'.join(path)}]" if path else file, own)
    for selector in SELECTORS:
        for value in where.get(selector, ()):
            if value in table.get(selector, {}):
                yield from _chosen(file, table[selector][value], where, (*path, selector, value))


def _check(
    file: str,
    table: Mapping[str, Any],
    settings: Collection[str],
    values: Mapping[str, Collection[str]],
    path: tuple[str, ...],
) -> None:
    for key, value in table.items():
        place = ".".join((*path, key))
        if key in SELECTORS:
            for name, inner in value.items():
                if name not in values.get(key, (name,)):
                    raise UserError(f"{file}: unknown {key} {place}.{name}; there are {', '.join(values[key])}")
                if not isinstance(inner, Mapping):
                    raise UserError(f"{file}: {place}.{name} must be a table")
                _check(file, inner, settings, values, (*path, key, name))
        elif key not in settings and not _reserved(key, path):
            raise UserError(f"{file}: unknown setting {place}")


def _reserved(key: str, path: tuple[str, ...]) -> bool:
    return (not path and key == "extends") or (len(path) == 2 and path[0] == "preset" and key in PRESET_KEYS)


def _value(value: Any) -> Any:
    """Lists as tuples; "1/255" as the number."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str) and all(part.isdigit() for part in value.split("/")):
        return float(Fraction(value))
    return value
