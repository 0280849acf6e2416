"""SAC's runs: what they write, that they resume to the same bytes, and what they refuse."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wocar.agent import load_agent
from wocar.cli import main
from wocar.networks import SquashedGaussianPolicy
from wocar.training.sac import SACConfig
from wocar.training.sac_trainer import SACTrainer
from wocar.types import Step

TINY = ["--n-envs", "2", "--n-steps", "4", "--hidden", "8", "8", "--batch-size", "8", "--learning-starts", "40"]


def train(method: str, out: Path, *options: str) -> int:
    words = ["train", method, "--env", "Pendulum-v1", "--steps", "320", *TINY, "--out", str(out), *options]
    with pytest.raises(SystemExit) as stop:
        main(words)
    return int(stop.value.code or 0)


@pytest.mark.parametrize("method", ["sac", "wocar-sac"])
def test_a_run_leaves_an_agent_with_its_critics(method: str, tmp_path: Path) -> None:
    assert train(method, tmp_path / "run") == 0
    agent = load_agent(tmp_path / "run" / "agent")
    assert isinstance(agent.policy, SquashedGaussianPolicy)
    assert set(agent.critics) == {"q", "q-twin"} | ({"worst", "worst-twin"} if method == "wocar-sac" else set())
    actions, _ = agent.predict(np.random.default_rng(0).normal(size=(5, 3)))
    assert actions.shape == (5, 1) and np.all(np.abs(actions) <= 2)
    assert not (tmp_path / "run" / "replay").exists()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("sac", ["--per-alpha", "0.6"]),
        ("wocar-sac", ["--env", "Hopper-v4", "--average", "0.9"]),
        ("wocar-sac", ["--env", "Hopper-v4", "--hunt-begin", "0.2", "--normalise-steps", "40"]),
    ],
)
def test_a_run_resumes_to_the_same_bytes(
    method: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle of a segment, its replay of 100 written over by then; on Hopper episodes end within one."""
    whole, out = tmp_path / "whole", tmp_path / "run"
    settings = ["--buffer-size", "100", "--checkpoint-every", "80", *options]
    assert train(method, whole, *settings) == 0
    iterate = SACTrainer.iterate

    def stop_late(self: SACTrainer, iteration: int) -> Any:
        if iteration == 27:
            raise KeyboardInterrupt
        return iterate(self, iteration)

    monkeypatch.setattr(SACTrainer, "iterate", stop_late)
    assert train(method, out, *settings) == 130
    monkeypatch.undo()
    assert train(method, out, *settings, "--resume") == 0
    name = "agent.safetensors"
    assert (out / "agent" / name).read_bytes() == (whole / "agent" / name).read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--env", "CartPole-v1"], "discrete"),
        (["--policy-delay", "3"], "--policy-delay"),
        (["--train-freq", "7"], "--train-freq"),
        (["--tau", "2"], "--tau"),
    ],
)
def test_mistakes_get_one_line(options: list[str], words: str, tmp_path: Path, capsys: Any) -> None:
    assert train("sac", tmp_path / "run", *options) == 2
    error = capsys.readouterr().err
    assert words in error and "Traceback" not in error


def test_the_replay_holds_capped_rewards() -> None:
    trainer = SACTrainer.__new__(SACTrainer)
    flags = np.zeros(3, bool)
    step = Step(np.zeros((3, 1)), np.array([1.0, 2, 3], np.float32), flags, flags, flags)
    for cap, slope, rewards in ((None, -1.0, [1, 2, 3]), (2.0, 0.0, [1, 2, 2]), (2.0, -1.0, [1, 2, 1])):
        trainer.cfg = SACConfig(reward_cap=cap, reward_slope=slope)
        assert trainer.stored(step).rewards.tolist() == rewards
