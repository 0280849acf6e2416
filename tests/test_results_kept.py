"""Results are written before anything can go wrong with showing them, and mistakes are told before the work."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from wocar.agent import Agent
from wocar.cli import main
from wocar.envs import atari, env_spec, make_env
from wocar.envs.render import make_rendered
from wocar.networks import CategoricalPolicy, RunningNormaliser
from wocar.runtime import fingerprint
from wocar.types import UserError


def small_agent(folder: Path) -> Path:
    spec = env_spec("CartPole-v1")
    policy = CategoricalPolicy.create(spec.obs_shape[0], spec.actions.size, jax.random.key(0), (4,))
    Agent(spec, RunningNormaliser.create(spec.obs_shape), policy, {}, {"method": "ppo"}).save(folder)
    return folder


def told(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in argv])
    return int(stop.value.code or 0), capsys.readouterr().err


def test_a_reader_that_has_gone_costs_no_result(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "wocar", "audit", small_agent(tmp_path / "agent"), "--attacks", "none"]
    words += ["--episodes", "1", "--json", tmp_path / "audit.json", "--fail-below", "1e9"]
    command = f"{shlex.join(map(str, words))} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
    assert json.loads((tmp_path / "audit.json").read_text())["worst"] == "none"


def test_places_that_cannot_be_written_are_told_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for command, more in (("estimate", ()), ("audit", ()), ("harden", ("--out", tmp_path / "run"))):
        monkeypatch.setattr(f"wocar.cli.{command}_command.{command}", lambda *_, **__: pytest.fail("it worked first"))
        code, said = told(capsys, command, tmp_path, *more, "--json", tmp_path / "nofolder" / "e.json")
        assert code == 2 and "its folder does not exist" in said
        code, said = told(capsys, command, tmp_path, *more, "--json", tmp_path)
        assert code == 2 and "it is a folder" in said
    code, said = told(capsys, "audit", tmp_path, "--fail-below", "nan")
    assert code == 2 and "--fail-below must be a number" in said


def test_resume_says_where_it_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {"steps": 32, "n-envs": 2, "n-steps": 8, "minibatches": 1, "hidden": 4}
    tiny = ["--env", "CartPole-v1", "--resume", *(f"--{name}={size}" for name, size in sizes.items())]
    words = ["train", "ppo", "--out", tmp_path / "run", *tiny]
    code, said = told(capsys, *words)
    assert code == 0 and f"there is no run in {tmp_path / 'run'} to resume: training starts anew" in said
    assert f"continuing from {tmp_path / 'run' / 'checkpoints' / '0000002'}" in told(capsys, *words)[1]


def test_resume_says_where_numbers_may_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"steps": 32, "n-envs": 2, "n-steps": 8, "minibatches": 1, "hidden": 4}
    words = ["train", "ppo", "--env", "CartPole-v1", "--out", tmp_path / "run", "--resume"]
    words += [f"--{name}={size}" for name, size in sizes.items()]
    assert "end otherwise" not in told(capsys, *words)[1]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["numerics"] == fingerprint()
    assert "end otherwise" not in told(capsys, *words)[1]
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true")
    assert "may end otherwise than without the pause: XLA_FLAGS" in told(capsys, *words)[1]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["audit", "nope.zip"], "wocar: there is no nope.zip"),
        (["audit", "x", "--epz", "3"], "wocar: unknown option --epz; did you mean --eps?; see wocar audit"),
        (["audit"], "wocar: PATH is missing; see wocar audit --help"),
        (["train", "ppo", "--steps", "x"], "wocar: --steps: 'x' is not a whole number"),
    ],
)
def test_mistakes_are_one_plain_line(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, *argv)
    assert code == 2 and said.startswith(words) and said.count("\n") == 1
    assert "helptext" not in said


def test_an_environment_that_does_not_fit_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, "audit", small_agent(tmp_path / "agent"), "--env", "Pendulum-v1")
    assert (
        code == 2 and "(observations (3,), 1 action coordinates) than the agent's CartPole-v1 ((4,), 2 actions)" in said
    )


def test_games_without_ale_py_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wocar.envs.atari.find_spec", lambda name: None)
    monkeypatch.setattr("wocar.envs.make.find_spec", lambda name: None)
    atari.parse.cache_clear()
    with pytest.raises(UserError, match=r"pip install 'wocar\[atari\]'"):
        make_env("NotAGame-v5", 1, 0)
    atari.parse.cache_clear()


def test_a_wrong_way_to_draw_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "foo")
    with pytest.raises(UserError, match="MUJOCO_GL is 'foo'; set it to egl or osmesa"):
        make_rendered("CartPole-v1", 0)


def test_rows_are_not_preceded_by_warnings_of_libraries() -> None:
    words = ["audit", "zoo:Hopper-v4/wocar-sac", "--attacks", "none", "--episodes", "1"]
    done = subprocess.run([sys.executable, "-m", "wocar", *words], capture_output=True, text=True)
    assert done.returncode == 0 and "none at eps 0" in done.stderr
    assert all(line.startswith("wocar: ") for line in done.stderr.splitlines()), done.stderr
