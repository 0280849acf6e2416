"""Presets: the settings of a method on a task, and which layer each comes from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wocar.config_base import KINDS, ConfigBase, configured, flat_settings, setting_names
from wocar.methods.layers import Layer, LayerFile, files, is_file
from wocar.methods.method import Method
from wocar.methods.registry import all_methods, find_method
from wocar.methods.tasks import RADII, kind_of, task_of, usual_radius
from wocar.training.adversary_config import AdversaryConfig
from wocar.training.run_config import PARTS, RunConfig
from wocar.types import EnvSpec, UserError, VictimFamily

RUN_SETTINGS = setting_names(RunConfig) - {"method", "env", "preset", "out", "resume", *PARTS}


@dataclass(frozen=True)
class Preset:
    """A method's settings on a task, in layers; the later ones win."""

    method: Method
    env: str
    name: str
    layers: list[Layer]
    radius: Layer | None
    """Of the task: before all layers."""

    @property
    def settings(self) -> dict[str, Any]:
        return {key: value for layer in self.all_layers for key, value in layer.settings.items()}

    @property
    def sources(self) -> dict[str, str]:
        """Setting to the layer it comes from."""
        return {key: layer.source for layer in self.all_layers for key in layer.settings}

    @property
    def config(self) -> RunConfig:
        settings, method = self.settings, self.method
        algorithm: Any = KINDS[settings.pop("algorithm", method.algorithm.kind)]
        return RunConfig(
            method=method.name,
            env=self.env,
            preset=self.name,
            **{name: value for name, value in settings.items() if name in RUN_SETTINGS},
            algorithm=_part(algorithm, settings),
            robust=_part(method.objective, settings) if method.objective else None,
            adversary=_part(AdversaryConfig, settings, adversary_kind=method.adversary) if method.adversary else None,
        )

    @property
    def all_layers(self) -> list[Layer]:
        return [self.radius, *self.layers] if self.radius else self.layers


def default_config(method: str, env: str, preset: str | None = None) -> RunConfig:
    """The preset of a method on a task: "paper", "reference" for the released code's choices, "robust" for what holds
    against stronger attacks, "small" for two cores; None: the first that the method has."""
    return find_preset(method, env, preset).config


def find_preset(name: str, env: str, preset: str | None = None, family: VictimFamily | None = None) -> Preset:
    """The layers of a method's settings; those of an attacker also depend on the `family` of its victim."""
    method = find_method(name)
    preset = preset or method.presets[0]
    if method.attack is not None and family is None:
        raise UserError(f"{name} attacks an agent: its settings follow from the victim")
    if preset not in (known := preset_names()):
        raise UserError(f"unknown preset {preset!r}; presets: {', '.join(known)}")
    _refuse_other_tasks(method, env, preset)
    if preset not in method.presets:
        them = (
            f"preset {method.presets[0]} only" if len(method.presets) == 1 else f"presets {', '.join(method.presets)}"
        )
        raise UserError(f"{name} has the {them}, not {preset}")
    kind = kind_of(env)
    if kind == "game" and method.attack is None and not has_games(method):
        others = ", ".join(other.name for other in all_methods() if has_games(other))
        raise UserError(f"{name} has no settings for games; {others} have")
    where = {"kind": (kind,), "task": (task_of(env),), "preset": _chain(layer_files(method), preset)}
    where["family"] = (family,) if family else ()
    layers = [layer for file in layer_files(method) for layer in file.layers(where)]
    return Preset(method, env, preset, layers, _radius(method, env, layers))


def make_algorithm(config: RunConfig, spec: EnvSpec) -> Any:
    """The algorithm of a run with its objective."""
    objective = config.robust.build(spec, config.algorithm) if config.robust else None
    return config.algorithm.build(objective)


def preset_names() -> list[str]:
    return list(dict.fromkeys(name for method in all_methods() for name in method.presets))


def layer_files(method: Method) -> list[LayerFile]:
    """Those of a method, checked for keys that it does not know."""
    source = method.layers if method.layers is not None else method.name if is_file(method.name) else None
    found = files(source, method.name) if source is not None else []
    chosen = [method.algorithm, *(kind for file in found for kind in _algorithms(file.name, file.table))]
    parts = [*chosen, method.objective, method.attack, AdversaryConfig if method.adversary else None]
    names = {name for part in parts if part for name in setting_names(part)} | RUN_SETTINGS | {"algorithm"}
    for file in found:
        file.check(names, preset_names())
    return found


def has_games(method: Method) -> bool:
    return any("game" in file.table.get("kind", {}) for file in layer_files(method))


def _algorithms(file: str, table: Mapping[str, Any]) -> Iterator[type[ConfigBase]]:
    """Algorithms that a file chooses in the place of the method's own."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _algorithms(file, value)
        elif key == "algorithm" and value not in KINDS:
            raise UserError(f"{file}: unknown algorithm {value!r}")
        elif key == "algorithm":
            yield KINDS[value]


def _chain(found: Sequence[LayerFile], preset: str) -> list[str]:
    """A preset after the one it departs from."""
    before = [after for file in found if (after := file.preset(preset).get("after"))]
    return [*(_chain(found, before[0]) if before else []), preset]


def _refuse_other_tasks(method: Method, env: str, preset: str) -> None:
    """A UserError where a preset is for some tasks only, and this is another."""
    having = [other for other in all_methods() if preset in other.presets]
    tasks = [task for file in layer_files(having[0]) for task in file.preset(preset).get("tasks", ())]
    if tasks and (method not in having or task_of(env) not in tasks):
        names = " and ".join(other.name for other in having)
        has = "has" if len(having) == 1 else "have"
        raise UserError(f"only {names} {has} a {preset} preset, on {', '.join(sorted(tasks))}")


def _radius(method: Method, env: str, layers: Sequence[Layer]) -> Layer | None:
    """The task's, in the units of what the agent sees, for all parts that have one."""
    names = {"eps": method.objective, "adversary_eps": AdversaryConfig if method.adversary else None}
    names = {name: part for name, part in names.items() if part and name in setting_names(part)}
    chosen = [layer.settings["normalise_obs"] for layer in layers if "normalise_obs" in layer.settings]
    normalised = chosen[-1] if chosen else flat_settings(method.algorithm())["normalise_obs"]
    radius = usual_radius(env, normalised)
    if radius is None or not names:
        return None
    return Layer(f"{RADII} [{'normalised' if normalised else 'raw'}]", dict.fromkeys(names, radius))


def _part(cls: Any, settings: dict[str, Any], **own: Any) -> Any:
    return configured(cls, **own, **{name: settings[name] for name in settings.keys() & setting_names(cls)})
