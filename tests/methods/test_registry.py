"""Methods: nothing follows from a name, configurations survive JSON, and those of old runs still load."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wocar.methods.attackers import attacker_config, attacker_settings, victim_family
from wocar.methods.method import Method
from wocar.methods.presets import default_config, make_algorithm, preset_names
from wocar.methods.registry import METHODS, find_method, register_method
from wocar.report.groups import _rank, method_label
from wocar.reproduce.durations import train_seconds
from wocar.reproduce.targets import make_plan
from wocar.threat import Threat
from wocar.training.run_config import RunConfig, from_json, to_json
from wocar.types import ActionSpace, EnvSpec, UserError

NONSENSE = "qqq"
ENVS = ("Hopper-v4", "HalfCheetah-v4", "CartPole-v1", "Pong-v5", "Nowhere-v0")
SPECS = {
    "Hopper-v4": EnvSpec("Hopper-v4", (11,), ActionSpace(3, -np.ones(3, np.float32), np.ones(3, np.float32))),
    "CartPole-v1": EnvSpec("CartPole-v1", (4,), ActionSpace(2)),
}


def renamed(name: str, monkeypatch: pytest.MonkeyPatch) -> Method:
    method = METHODS[name]
    own = dataclasses.replace(method, name=NONSENSE, layers=method.layers or method.name)
    monkeypatch.setitem(METHODS, NONSENSE, own)
    return own


def preset(name: str, env: str, preset: str) -> RunConfig | None:
    try:
        return dataclasses.replace(default_config(name, env, preset), method="")
    except UserError:
        return None


def objective(name: str, env: str) -> Any:
    algorithm = make_algorithm(default_config(name, env), SPECS[env])
    return type(algorithm), type(algorithm.objective)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.attack is None])
def test_nothing_follows_from_a_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {(env, p): preset(name, env, p) for env in ENVS for p in preset_names()}
    victim = SimpleNamespace(meta={"method": name}, spec=SPECS["Hopper-v4"])
    mine = renamed(name, monkeypatch)
    other = SimpleNamespace(meta={"method": NONSENSE}, spec=SPECS["Hopper-v4"])
    assert any(wanted.values())
    assert {(env, p): preset(NONSENSE, env, p) for env in ENVS for p in preset_names()} == wanted
    for env in SPECS:
        assert objective(NONSENSE, env) == objective(name, env)
    assert (method_label(NONSENSE), _rank(NONSENSE)) == (method_label(name), _rank(name))
    assert train_seconds(mine, "Hopper-v4", 10**6) == train_seconds(METHODS[name], "Hopper-v4", 10**6)
    assert victim_family(other) == victim_family(victim)  # type: ignore[arg-type]
    assert attacker_settings(other) == attacker_settings(victim)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.attack is not None])
def test_nothing_follows_from_the_name_of_an_attacker(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    victim: Any = SimpleNamespace(meta={"method": "sa-ppo"}, spec=SPECS["CartPole-v1"])
    wanted = attacker_config(name, victim, Path("victim"), Threat(0.1))
    renamed(name, monkeypatch)
    found = attacker_config(NONSENSE, victim, Path("victim"), Threat(0.1))
    assert dataclasses.replace(found, method=name) == wanted
    assert to_json(found)["attack"] == to_json(wanted)["attack"]
    assert to_json(found)["attack"]["kind"] == name
    assert from_json(to_json(found), found.out).attack == found.attack
    with pytest.raises(UserError, match="attacks an agent"):
        default_config(NONSENSE, "Hopper-v4")


def test_families_of_published_files_are_read_word_by_word() -> None:
    families = {
        "ppo": ("attack-ppo-walker", "model-ppo-halfcheetah", "sppo-sgld-hopper", "stranger"),
        "robust": ("sappo-walker", "model-sappo-convex-halfcheetah", "radial-hopper", "wocarmlp-halfcheetah"),
        "atla": ("paatla-hopper", "atlalstmsa-hopper", "model-atla-lstm-sappo-walker"),
    }
    for family, stems in families.items():
        for stem in stems:
            victim: Any = SimpleNamespace(meta={"method": stem})
            assert victim_family(victim) == family
    stated: Any = SimpleNamespace(meta={"method": "ppo", "family": "atla"})
    assert victim_family(stated) == "atla"


def test_a_plan_trains_first_what_a_method_starts_from(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = [task.argv()[1] for task in make_plan("table-atari", "small", methods=["radial-dqn"]).tasks]
    assert trained[:2] == ["dqn", "radial-dqn"]
    monkeypatch.setitem(METHODS, "dqn", dataclasses.replace(METHODS["dqn"], starts_from="a2c"))
    trained = [task.argv()[1] for task in make_plan("table-atari", "small", methods=["radial-dqn"]).tasks]
    assert trained[:3] == ["a2c", "dqn", "radial-dqn"]


def test_a_name_is_taken_once() -> None:
    assert register_method(find_method("ppo")) is find_method("ppo")
    with pytest.raises(ValueError, match="another method 'ppo'"):
        register_method(dataclasses.replace(find_method("ppo"), label="mine"))
    assert find_method("ppo").label == "PPO"
    with pytest.raises(UserError, match="unknown method 'dreamer'; methods: ppo, a2c"):
        find_method("dreamer")


OLD = json.loads(Path(__file__).with_name("run_configs_0.1.json").read_text())


@pytest.mark.parametrize("old", OLD, ids=[data["method"] for data in OLD])
def test_runs_of_the_first_release_load(old: dict[str, Any]) -> None:
    config = from_json(old, Path("runs/x"))
    config.check()
    new = to_json(config)
    for part in ("algorithm", "robust", "attack", "adversary"):
        assert (new[part] is None) == (old.get(part) is None)
        for name, value in (old.get(part) or {}).items():
            assert new[part][name] == (tuple(value) if isinstance(value, list) else value), name
    again = from_json(json.loads(json.dumps(new)), Path("runs/x"))
    assert again == config
    if config.attack is None:
        same = {"out": config.out, "resume": True}
        assert config == dataclasses.replace(default_config(config.method, config.env, config.preset), **same)
