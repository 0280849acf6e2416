"""wocar methods [NAME] [--env ID] [--preset NAME] [--json FILE]"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from wocar.cli.option_types import Maybe
from wocar.cli.options import parse
from wocar.config_base import flat_settings
from wocar.files import write_json
from wocar.methods.method import Method
from wocar.methods.presets import RUN_SETTINGS, Preset, find_preset
from wocar.methods.registry import all_methods
from wocar.training.run_config import RunConfig
from wocar.types import VictimFamily

DEFAULT = "default"


@dataclass(frozen=True)
class MethodsOptions:
    name: Annotated[Maybe[str], tyro.conf.Positional] = None
    """Show the settings of this method and which layer each comes from; without a name, list all methods."""
    env: str = RunConfig.env
    """The task whose settings are shown."""
    preset: str = ""
    """The preset whose settings are shown; by default the method's first."""
    family: VictimFamily = "ppo"
    """For attackers: how the victim was trained."""
    json: Maybe[Path] = None
    """Also write it here."""


def main(argv: list[str]) -> int:
    options: MethodsOptions = parse(MethodsOptions, argv, "methods", "Training methods and their presets.")
    if options.name is None:
        result: dict[str, Any] = {"methods": [described(method) for method in all_methods()]}
        _list(result["methods"])
    else:
        preset = find_preset(options.name, options.env, options.preset or None, options.family)
        result = explained(preset)
        _show(result)
    if options.json:
        write_json(options.json, result)
    return 0


def described(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "label": method.label,
        "about": method.about,
        "algorithm": method.algorithm.kind,
        "objective": method.objective and method.objective.kind,
        "adversary": method.adversary,
        "attack": method.attack and method.attack.kind,
        "starts_from": method.starts_from or None,
        "presets": list(method.presets),
    }


def explained(preset: Preset) -> dict[str, Any]:
    """A preset with the layer of each setting."""
    config, sources = preset.config, preset.sources
    values = {name: value for name, value in flat_settings(config).items() if name in RUN_SETTINGS}
    for part in config.parts.values():
        values |= flat_settings(part)
    settings = {name: {"value": value, "from": sources.get(name, DEFAULT)} for name, value in values.items()}
    layers = [{"source": layer.source, "settings": layer.settings} for layer in preset.all_layers]
    return {
        **described(preset.method),
        "env": preset.env,
        "preset": preset.name,
        "layers": layers,
        "settings": settings,
    }


def _list(methods: list[dict[str, Any]]) -> None:
    for method in methods:
        print(f"{method['name']:16} {method['about']}")
    print("\nwocar methods NAME --env ID shows the settings of one.")


def _show(result: dict[str, Any]) -> None:
    print(f"{result['name']} ({result['label']}): {result['about']}")
    print(f"presets: {', '.join(result['presets'])}")
    table = Table(title=f"{result['preset']} on {result['env']}")
    for heading in ("setting", "value", "from"):
        table.add_column(heading)
    rows = sorted(result["settings"].items(), key=lambda row: row[1]["from"] == DEFAULT)
    for name, row in rows:
        value = f"{row['value']:g}" if isinstance(row["value"], float) else str(row["value"])
        table.add_row(name, value, escape(row["from"]))
    Console().print(table)
