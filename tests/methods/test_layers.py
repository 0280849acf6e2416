"""Layers of settings: which one wins, and mistakes in a file."""

import dataclasses
import json
from pathlib import Path

import pytest

from wocar.cli import main
from wocar.methods.hardening import HARDENED_BY
from wocar.methods.layers import files
from wocar.methods.presets import default_config, find_preset
from wocar.methods.registry import METHODS
from wocar.methods.tasks import kind_of, sweep_radii, table_radii, task_of, usual_radius
from wocar.types import UserError

TABLE = {
    "extends": ["robust-ppo"],
    "policy_lr": 1.0,
    "kind": {"vector": {"policy_lr": 2.0, "ent_coef": "1/4"}},
    "task": {"Hopper": {"policy_lr": 3.0, "hidden": [4, 4]}},
    "preset": {"reference": {"task": {"Hopper": {"policy_lr": 4.0}}}},
}


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> None:
    method = dataclasses.replace(METHODS["sa-ppo"], name="mine", layers=TABLE)
    monkeypatch.setitem(METHODS, "mine", method)


@pytest.mark.usefixtures("mine")
def test_the_narrower_layer_wins_and_is_named() -> None:
    found = {
        (env, preset): find_preset("mine", env, preset)
        for env in ("Hopper-v4", "HalfCheetah-v4", "x-v0")
        for preset in ("paper", "reference")
    }
    rates = {where: preset.config.algorithm.policy_lr for where, preset in found.items()}  # type: ignore[attr-defined]
    assert rates["Hopper-v4", "paper"] == 3.0 and rates["Hopper-v4", "reference"] == 4.0
    assert set(rates.values()) == {2.0, 3.0, 4.0}  # what a file says is above all that it extends
    hopper, cheetah = found["Hopper-v4", "paper"], found["HalfCheetah-v4", "paper"]
    assert (hopper.config.algorithm.hidden, hopper.settings["ent_coef"]) == ((4, 4), 0.25)
    assert hopper.sources["policy_lr"] == "settings of mine [task.Hopper]"
    assert hopper.sources["eps"] == "radii.toml [normalised]"
    assert cheetah.sources["value_lr"] == "robust-ppo.toml [task.HalfCheetah]"
    assert cheetah.sources["init_std"] == "ppo.toml [task.HalfCheetah]"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"polcy_lr": 1.0}, "settings of mine: unknown setting polcy_lr"),
        ({"task": {"Ant": {"kappa_wst": 1}}}, "settings of mine: unknown setting task.Ant.kappa_wst"),
        ({"kind": {"games": {}}}, "unknown kind kind.games; there are vector, game"),
        ({"preset": {"papper": {"steps": 1}}}, "unknown preset preset.papper; there are paper"),
        ({"task": {"Ant": 3}}, "task.Ant must be a table"),
        ({"tasks": ["Ant"]}, "unknown setting tasks"),
        ({"extends": ["nothing"]}, "no file of settings nothing.toml"),
        ({"task": {"Ant": {"algorithm": "ppp"}}}, "settings of mine: unknown algorithm 'ppp'"),
    ],
)
def test_mistakes_name_file_and_key(change: dict, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "mine", dataclasses.replace(METHODS["sa-ppo"], name="mine", layers=change))
    with pytest.raises(UserError, match=words.replace(".", r"\.")):
        default_config("mine", "Hopper-v4")


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("steps = = 3")
    with pytest.raises(UserError, match=r"cannot read .*bad\.toml: .*line 1"):
        files(tmp_path / "bad.toml")
    with pytest.raises(UserError, match=r"cannot read .*none\.toml"):
        files(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("method", "env", "preset", "words"),
    [
        ("ppo", "Hopper-v4", "huge", "unknown preset 'huge'; presets: paper, reference, robust, small, fine-tune"),
        ("radial-ppo", "Hopper-v4", "reference", "radial-ppo has the preset paper only, not reference"),
        ("dqn", "CartPole-v1", "reference", "dqn has the presets paper, small, not reference"),
        ("dqn", "CartPole-v1", "fine-tune", "only sa-dqn and wocar-dqn have a fine-tune preset, on CartPole, Freeway"),
        ("wocar-dqn", "Breakout-v5", "fine-tune", "only sa-dqn and wocar-dqn have a fine-tune preset"),
        ("atla-ppo", "Pong-v5", "paper", "atla-ppo has no settings for games; a2c, sa-a2c, wocar-a2c, dqn"),
    ],
)
def test_presets_that_there_are_not(method: str, env: str, preset: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        default_config(method, env, preset)


def test_the_first_preset_is_the_default() -> None:
    for method, first in (("wocar-ppo", "robust"), ("sa-a2c", "robust"), ("ppo", "paper"), ("wocar-dqn", "paper")):
        config = default_config(method, "Hopper-v4" if "ppo" in method else "CartPole-v1")
        assert config.preset == first
        config.check()
    games = [vars(default_config("wocar-a2c", "Pong-v5", preset)) | {"preset": ""} for preset in ("robust", "paper")]
    assert games[0] == games[1]


def test_every_file_is_some_method_s() -> None:
    used = {file.name for m in METHODS.values() for file in files(m.layers or m.name)}
    there = {path.name for path in Path(default_config.__code__.co_filename).parent.glob("*.toml")}
    used |= {f"harden-{name}.toml" for name in (*HARDENED_BY, "values")}
    assert there - used == {"radii.toml"}


def test_tasks_and_their_radii() -> None:
    assert [task_of(env) for env in ("Hopper-v4", "Pong-stack4-v5", "ALE/Pong-v5", "toy")] == [
        *("Hopper", "Pong", "Pong", "toy")
    ]
    assert [kind_of(env) for env in ("Hopper-v4", "Pong-v5", "Hopper-v5")] == ["vector", "game", "vector"]
    assert (usual_radius("CartPole-v1"), usual_radius("CartPole-v1", normalised=False)) == (0.3, 0.07)
    assert usual_radius("Nowhere-v0") is None and table_radii("Nowhere-v0") == (0.1,)
    assert table_radii("BankHeist-stack4-v5") == (1 / 255, 3 / 255)
    assert sweep_radii("Ant-v4") == (0.075, 0.15, 0.225, 0.3, 0.45)


def test_the_command_lists_methods_and_explains_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def methods(*words: str) -> dict:
        with pytest.raises(SystemExit) as stop:
            main(["methods", *words, "--json", str(tmp_path / "m.json")])
        assert not stop.value.code
        return json.loads((tmp_path / "m.json").read_text())

    listed = methods()["methods"]
    assert [method["name"] for method in listed] == list(METHODS)
    assert "worst-case-aware robust PPO" in capsys.readouterr().out
    shown = methods("wocar-ppo", "--env", "Ant-v4", "--preset", "reference")
    assert shown["settings"]["kappa_wst"] == {"value": 0.8, "from": "worst-case.toml [preset.reference.task.Ant]"}
    assert shown["settings"]["gamma"] == {"value": 0.99, "from": "default"}
    assert [layer["source"] for layer in shown["layers"]][:2] == ["radii.toml [normalised]", "ppo.toml [task.Ant]"]
    attacker = methods("pa-ad", "--env", "Hopper-v4", "--family", "atla")
    assert attacker["settings"]["value_lr"] == {"value": 1e-4, "from": "attacker.toml [family.atla.task.Hopper]"}
    with pytest.raises(SystemExit) as stop:
        main(["methods", "nobody"])
    assert stop.value.code == 2
