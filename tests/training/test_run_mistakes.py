"""Runs that are refused: damaged or taken folders, other settings, mistakes on the command line; one line each."""

import os
from pathlib import Path

import pytest

from tests.training.test_runs import checkpoints, contents, copy, metrics, one_line, train
from wocar.cli import main


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "run"
    assert train("ppo", out, "--env", "CartPole-v1", "--steps", "64") == 0
    return out


def test_a_run_is_never_overwritten(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(finished)
    assert train("ppo", finished, "--env", "CartPole-v1", "--steps", "64") == 2
    assert "already holds a run" in one_line(capsys)
    assert contents(finished) == before


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("ppo", ["--seed", "5"], "seed 0 (asked: 5)"),
        ("ppo", ["--env", "Pendulum-v1"], "env 'CartPole-v1' (asked: 'Pendulum-v1')"),
        ("ppo", ["--steps", "128"], "steps 64 (asked: 128)"),
        ("ppo", ["--gamma", "0.5"], "with gamma 0.99 (asked: 0.5); resume"),
        ("a2c", [], "holds a run of ppo, not of a2c"),
    ],
)
def test_a_run_resumes_as_it_was_or_not_at_all(
    method: str, options: list[str], words: str, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(method, finished, "--resume", *options) == 2
    assert words in one_line(capsys)


def newest(out: Path, name: str) -> Path:
    return checkpoints(out)[-1] / name


DAMAGES = {
    "truncated learner": lambda out: os.truncate(newest(out, "learner.safetensors"), 100),
    "edited learner": lambda out: newest(out, "learner.safetensors").write_bytes(b"x" * 500),
    "no learner": lambda out: newest(out, "learner.safetensors").unlink(),
    "learner.json is no JSON": lambda out: newest(out, "learner.json").write_text("{"),
    "learner.json is another": lambda out: newest(out, "learner.json").write_text("{}"),
    "learner.json is a list": lambda out: newest(out, "learner.json").write_text("[1]"),
    "truncated agent": lambda out: os.truncate(newest(out, "agent.safetensors"), 100),
    "run.json is no JSON": lambda out: (out / "run.json").write_text("wocar"),
    "run.json is another": lambda out: (out / "run.json").write_text('{"config": {"seed": 1}}'),
    "run.json is a list": lambda out: (out / "run.json").write_text("[]"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_checkpoint_is_told(
    name: str, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = copy(finished, tmp_path)
    DAMAGES[name](out)
    before = contents(out / "checkpoints")
    assert train("ppo", out, "--resume") == 2
    assert str(out) in one_line(capsys)
    assert contents(out / "checkpoints") == before


def test_metrics_that_are_no_text_do_not_stop_a_resume(finished: Path, tmp_path: Path) -> None:
    out = copy(finished, tmp_path)
    rows = metrics(out)
    with open(out / "metrics.jsonl", "ab") as file:
        file.write(b"\xff\xfe\n[1]\n")
    assert train("ppo", out, "--resume") == 0
    assert metrics(out) == rows


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--env", "Nowhere-v0"], "unknown environment 'Nowhere-v0'"),
        (["--env", "FrozenLake-v1"], "FrozenLake-v1"),
        (["--steps", "-5"], "--steps must be positive"),
        (["--steps", "many"], "many"),
        (["--seed", "-1"], "--seed must lie between"),
        (["--seed", str(2**70)], "--seed"),
        (["--n-envs", "0"], "positive"),
        (["--minibatches", "33"], "--minibatches"),
        (["--policy-epochs", "0"], "--policy-epochs"),
        (["--hidden", "0"], "--hidden"),
        (["--gamma", "1.5"], "--gamma"),
        (["--policy-lr", "nan"], "--policy-lr"),
        (["--init-std", "0"], "--init-std"),
        (["--stepz", "5"], "--stepz"),
    ],
)
def test_mistakes_are_told_in_one_line(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("ppo", tmp_path / "run", "--env", "CartPole-v1", "--steps", "64", *options) == 2
    assert words in one_line(capsys)
    assert not (tmp_path / "run").exists()


def test_a_place_that_is_taken_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "run"):
        assert train("ppo", out, "--env", "CartPole-v1", "--steps", "64") == 2
        assert str(out) in one_line(capsys)
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "folder" / "agent").mkdir(parents=True)
    (tmp_path / "folder" / "agent" / "diary").write_text("mine")
    assert train("ppo", tmp_path / "folder", "--env", "CartPole-v1", "--steps", "64") == 2
    assert "other files" in one_line(capsys)
    assert contents(tmp_path / "folder") == {"agent/diary": b"mine"}


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        ([], 2, "usage"),
        (["--help"], 0, "train an agent"),
        (["--version"], None, "0."),
        (["fly"], 2, "unknown command 'fly'"),
        (["train"], 2, "METHOD"),
        (["train", "--help"], 0, "ppo"),
        (["train", "sarsa"], 2, "unknown method 'sarsa'"),
        (["train", "ppo", "--help"], 0, "--n-envs"),
    ],
)
def test_the_command_line_explains_itself(
    argv: list[str], code: int | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if code is None:
        main(argv)
    else:
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == code
    said = capsys.readouterr()
    assert words in said.out + said.err
