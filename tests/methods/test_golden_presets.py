"""The preset of every method on every kind of task, as data. Run this file as a script to rewrite it."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from wocar.config_base import flat_settings
from wocar.methods.presets import default_config, preset_names
from wocar.methods.registry import METHODS
from wocar.training.run_config import RunConfig
from wocar.types import UserError

GOLDEN = Path(__file__).with_name("golden_presets.json")
ENVS = (
    *("Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4", "CartPole-v1", "LunarLander-v3", "GoHomeGrid-v0"),
    *("Pong-v5", "Freeway-v5", "BankHeist-v5", "RoadRunner-v5", "Breakout-v5"),
    *("Pong-stack2-v5", "Freeway-stack4-v5", "BankHeist-stack4-v5", "ALE/Pong-v5", "Nowhere-v0", "toy"),
)
PRESETS = preset_names()
PARTS = ("algorithm", "robust", "attack", "adversary")
IDENTITY = ("method", "env", "preset", "out", "resume")
Leaves = dict[str, Any]
Described = dict[str, dict[str, Leaves] | None]


def described(config: RunConfig) -> dict[str, Leaves]:
    """The parts of a configuration by the names of their classes."""
    own = {name: value for name, value in vars(config).items() if name not in (*IDENTITY, *PARTS)}
    parts = [part for name in PARTS if (part := getattr(config, name)) is not None]
    return {"RunConfig": own, **{type(part).__name__: flat_settings(part) for part in parts}}


def presets(methods: Iterable[str]) -> Described:
    """Every preset, or None where there is none."""
    found: Described = {}
    for method in methods:
        for env in ENVS:
            for preset in PRESETS:
                try:
                    config = described(default_config(method, env, preset))
                except UserError:
                    found[f"{method} {env} {preset}"] = None
                else:
                    found[f"{method} {env} {preset}"] = json.loads(json.dumps(config))
    return found


def compact(found: Described) -> dict[str, Any]:
    """Commonest values of each class once, then the groups of equal presets with what they have of their own."""
    values: dict[str, dict[str, list[Any]]] = {}
    for config in found.values():
        for part, settings in (config or {}).items():
            for name, value in settings.items():
                values.setdefault(part, {}).setdefault(name, []).append(value)
    usual = {part: {n: max(v, key=v.count) for n, v in names.items()} for part, names in values.items()}
    groups: dict[str, dict[str, str]] = {}
    for name, config in found.items():
        own: Any = config
        if config is not None:
            own = {p: {n: v for n, v in s.items() if v != usual[p][n]} for p, s in config.items()}
        method, env, preset = name.split()
        group, key = groups.setdefault(json.dumps(own), {}), f"{method} {preset}"
        group[key] = f"{group[key]} {env}" if key in group else env
    return {"usual": usual, "presets": [[json.loads(own), names] for own, names in groups.items()]}


def golden(method: str) -> Described:
    data = json.loads(GOLDEN.read_text())
    found: Described = {}
    for own, names in data["presets"]:
        whole = own and {part: data["usual"][part] | own[part] for part in own}
        for preset in PRESETS:
            found |= {f"{method} {env} {preset}": whole for env in names.get(f"{method} {preset}", "").split()}
    return found


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.attack is None])
def test_presets_are_as_they_were(method: str) -> None:
    before = golden(method)
    if not before:
        pytest.skip("a newer method")
    now = presets([method])
    assert len(before) >= 4 * len(ENVS)
    for name, config in before.items():
        assert known_then(now[name], config) == config, name


def known_then(now: dict[str, Leaves] | None, before: dict[str, Leaves] | None) -> dict[str, Leaves] | None:
    """Without settings that came later."""
    if now is None or before is None:
        return now
    return {part: {n: v for n, v in own.items() if n in before.get(part, own)} for part, own in now.items()}


if __name__ == "__main__":
    data = compact(presets(name for name, method in METHODS.items() if method.attack is None))
    rows = ",\n".join(json.dumps(row) for row in data["presets"])
    GOLDEN.write_text(f'{{"usual": {json.dumps(data["usual"])},\n"presets": [\n{rows}\n]}}\n')
