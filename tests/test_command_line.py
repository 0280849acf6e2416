"""The command line: names and numbers as people type them, help texts, advice after a mistake."""

import ast
import json
from pathlib import Path

import pytest

from wocar import __version__
from wocar.cli import COMMANDS, main
from wocar.cli.option_types import number, whole_number
from wocar.cli.train_command import _default
from wocar.envs import full_id
from wocar.evaluation.attack_registry import resolve
from wocar.evaluation.frozen_suites import SUITES
from wocar.methods.registry import all_methods, find_method

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wocar"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        code = main(list(words)) or 0
    except SystemExit as stop:
        code = stop.code or 0  # type: ignore[assignment]
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Hopper", "Hopper-v4"),
        ("halfcheetah", "HalfCheetah-v4"),
        ("Ant", "Ant-v4"),
        ("Pusher", "Pusher-v5"),
        ("CartPole", "CartPole-v1"),
        ("GoHome", "GoHome-v0"),
        ("Pendulum?g=9.5", "Pendulum-v1?g=9.5"),
        ("Hopper-v5", "Hopper-v5"),
        ("module:Thing", "module:Thing"),
        ("Nowhere", "Nowhere"),
    ],
)
def test_environments_without_version(typed: str, meant: str) -> None:
    assert full_id(typed) == meant


def test_games_without_version() -> None:
    pytest.importorskip("ale_py")
    assert [full_id(name) for name in ("Pong", "pong", "bank_heist")] == ["Pong-v5", "Pong-v5", "BankHeist-v5"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("pgd", "pgd-10"), ("MAD", "maxdiff"), ("robust_sarsa", "robust-sarsa"), ("trained:A_b", "trained:A_b")],
)
def test_attacks_as_people_type_them(typed: str, meant: str) -> None:
    assert resolve(typed) == meant


def test_numbers_as_people_type_them() -> None:
    assert [whole_number(text) for text in ("7", "1e6", "1_000", "2.5e3")] == [7, 1_000_000, 1000, 2500]
    assert [number(text) for text in ("0.5", "1/255", "1e-3")] == [0.5, 1 / 255, 1e-3]
    for wrong in ("1.5", "x", "inf", "nan", ""):
        with pytest.raises(ValueError, match="whole number"):
            whole_number(wrong)
    for wrong in ("1/0", "x", "1/2/3"):
        with pytest.raises(ValueError, match="not a number"):
            number(wrong)


def test_a_training_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--env", "cartpole", "--steps", "6.4e1", "--n-envs", "4", "--n-steps", "16", "--eps", "1/8"]
    code, _, said = run(capsys, "train", "sa-ppo", *options, "--hidden", "4", "--out", str(tmp_path / "run"))
    stored = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    assert code == 0, said
    assert (stored["env"], stored["steps"], stored["robust"]["eps"]) == ("CartPole-v1", 64, 0.125)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["audti"], "did you mean audit?"),
        (["train", "wocar-pp"], "did you mean wocar-ppo?"),
        (["audit", "zoo:Hopper-v4/wocar-ppo", "--attacks", "pdg"], "did you mean pgd?"),
        (["audit", "zoo:Hopper-v4/wocar-ppo", "--suite", "fast"], "did you mean fast-v2?"),
        (["audit", "zoo:Hopper-v4/wocar-poo"], "did you mean Hopper-v4/wocar-ppo?"),
        (["train", "ppo", "--env", "Hoper-v4"], "Did you mean: `Hopper`?"),
        (["train", "ppo", "--sted", "1"], "did you mean --seed?"),
        (["suites", "mujoco"], "did you mean mujoco-v"),
        (["train", "ppo", "--sted", "1"], "wocar: unknown option --sted; did you mean --seed?; see"),
        (["train", "ppo", "--foo=1", "--bar", "2"], "wocar: unknown option --foo=1, --bar; see"),
        (["train", "ppo", "--steps"], "wocar: --steps needs a value; see wocar train ppo --help"),
        (["train", "ppo", "--steps", "many"], "wocar: --steps: 'many' is not a whole number; see"),
        (["audit"], "wocar: PATH is missing; see wocar audit --help"),
        (["harden", "zoo:Hopper-v4/wocar-sac", "--eps", "0.1"], "wocar: --out is missing; see wocar harden --help"),
        (["audit", "nope.zip"], "wocar: there is no nope.zip"),
        (["import", "nope.zip", "--out", "x"], "wocar: there is no nope.zip"),
        (["audit", "zoo:Hopper-v4/wocar-sac", "--eps", "nan"], "--eps must be a number from 0 up, not nan"),
        (["audit", "zoo:Hopper-v4/wocar-sac", "--fail-below", "nan"], "--fail-below must be a number, not nan"),
        (["audit", "zoo:Hopper-v4/wocar-sac", "--env", "HalfCheetah"], "(observations (17,), 6 action coordinates)"),
        (["train", "ppo", "--env", "CartPole", "--policy-lr", "nan"], "--policy-lr must be"),
    ],
)
def test_advice_after_a_mistake(words: list[str], advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = run(capsys, *words)
    assert code == 2 and said.count("\n") == 1
    assert advice in said


LONG = "a" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ["audit", LONG],
        ["audit", "zoo:Hopper-v4/wocar-sac", "--attacks", "none", "--out", LONG],
        ["estimate", LONG, "--eps", "0.1"],
        ["export", LONG, "--to", "onnx", "--out", "x.onnx"],
        ["harden", LONG, "--eps", "0.1", "--out", "x"],
        ["import", LONG, "--out", "x"],
        ["import", "x.zip", "--normaliser", LONG, "--out", "x"],
        ["record", LONG],
        ["report", LONG],
        ["train", "ppo", "--env", "CartPole", "--out", LONG],
        ["train", "pa-ad", "--victim", LONG],
        ["reproduce", "table-mujoco", "--out", LONG, "--scale", "smoke"],
    ],
    ids=lambda words: " ".join(word[:20] for word in words),
)
def test_a_name_too_long_is_told_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = run(capsys, *words)
    assert code == 2 and said.startswith("wocar: ") and said.count("\n") == 1, said[-300:]


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "-V") == run(capsys, "--version") == (0, f"{__version__}\n", "")


def test_attacks_are_listed_with_what_they_need(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["attack"]: row for row in json.loads(run(capsys, "attacks", "--json")[1])}
    assert rows["sa-rl"]["family"] == "learned" and rows["sa-rl"]["black_box"]
    assert rows["pgd-10"]["aliases"] == ["pgd"] and rows["critic"]["needs"] == "value critic"
    shown = run(capsys, "attacks")[1]
    assert all(name in shown for name in rows)


def test_suites_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, "suites")[1]
    assert all(name in shown for name in SUITES) and max(map(len, shown.splitlines())) <= 80
    (only,) = json.loads(run(capsys, "suites", "fast-v2", "--json")[1]).values()
    assert only["attacks"] == SUITES["fast-v2"]["attacks"] and len(only["sha256"]) == 64


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "train"])
def test_help_has_no_none(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(capsys, command, "--help")
    assert code == 0 and shown.startswith(f"usage: wocar {command}")
    assert "None" not in shown


def test_help_has_no_comments_of_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    for method in ("wocar-sac", "wocar-ppo", "radial-dqn", "pa-ad"):
        shown = run(capsys, "train", method, "--help")[1]
        assert "algorithm options" in shown and "noqa" not in shown and "type: ignore" not in shown


def test_help_of_training_names_methods_and_presets(capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, "train", "--help")[1]
    assert all(method.name in shown for method in all_methods())
    assert "robust" in shown and "wocar-ppo*" in shown
    shown = run(capsys, "train", "wocar-ppo", "--help")[1]
    assert "{None}" not in shown and "(default: Hopper-v4)" in shown


@pytest.mark.parametrize("method", [method.name for method in all_methods()])
def test_the_default_preset_is_shown(method: str) -> None:
    assert _default(find_method(method), ["--help"]).method == method


def undocumented(file: Path) -> list[str]:
    """Fields of the dataclasses in a file that are options and have no line of help."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ClassDef) or not node.name.endswith(("Options", "Config")):
            continue
        for field, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and field.value is not None and not _has_help(field, after):
                found.append(f"{file.stem}.{node.name}.{ast.unparse(field.target)}")
    return found


def _has_help(field: ast.AnnAssign, after: ast.stmt | None) -> bool:
    kind = ast.unparse(field.annotation)
    text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
    return text or kind.startswith("ClassVar") or "Config" in kind or "Threat" in kind or "Suppress" in kind


@pytest.mark.parametrize("room", ["cli", "training", "mechanisms"])
def test_every_option_has_a_line_of_help(room: str) -> None:
    assert [name for file in sorted((SOURCE / room).glob("*.py")) for name in undocumented(file)] == []
