"""Environments that return what is not finite, raise or hang: told with their place; checkpoints are kept."""

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from wocar.agent import load_agent
from wocar.cli import main
from wocar.envs import EnvironmentFault, checked, make_env
from wocar.types import UserError


class Broken(gymnasium.Env):
    """Three numbers; from its `at`-th step on, in all of a process, it does what `how` says."""

    observation_space = gymnasium.spaces.Box(-5, 5, (3,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0

    def __init__(self, how: str, at: int) -> None:
        self.how, self.at = how, at

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 3), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        obs, reward = self.np_random.uniform(-1, 1, 3), 1.0
        Broken.steps += 1
        if Broken.steps >= self.at:
            if self.how == "raise":
                raise RuntimeError("the motor\nis on fire")
            if self.how == "sleep":
                time.sleep(0.5)
            obs[1] = {"nan": np.nan, "inf": np.inf, "large": 1e200}.get(self.how, obs[1])
            reward = -np.inf if self.how == "reward" else 1.0
        return obs, reward, False, Broken.steps % 10 == 0, {}


HOW = ("nan", "inf", "large", "reward", "raise", "sleep")
for how in HOW:
    gymnasium.register(f"Broken-{how}-v0", Broken, kwargs={"how": how, "at": 1})
    gymnasium.register(f"BrokenLate-{how}-v0", Broken, kwargs={"how": how, "at": 60})


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("nan", "returned nan in dimension 1 of its observation (environment 1, step 1)"),
        ("inf", "returned inf in dimension 1 of its observation"),
        ("reward", "returned -inf in its reward"),
        ("raise", "failed at step 1: RuntimeError: the motor is on fire"),
    ],
)
def test_faults_name_their_place(how: str, words: str) -> None:
    Broken.steps = 0
    env = make_env(f"Broken-{how}-v0", 2, 0)
    env.reset()
    with pytest.raises(EnvironmentFault) as told:
        env.step(np.zeros(1, int), np.array([1]))
    assert words in str(told.value) and f"Broken-{how}-v0" in str(told.value)


def test_silence_is_told(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(checked, "PATIENCE", 0.1)
    monkeypatch.setattr(checked, "_thread", None)
    env = make_env("Broken-sleep-v0", 1, 0)
    env.reset()
    env.step(np.zeros(1, int))
    assert "environment Broken-sleep-v0 has not answered for" in capfd.readouterr().err


TINY = [
    "--n-envs",
    "2",
    "--n-steps",
    "8",
    "--minibatches",
    "1",
    "--policy-epochs",
    "1",
    "--value-epochs",
    "1",
    "--hidden",
    "4",
]


@pytest.mark.parametrize(("how", "blamed"), [("inf", "returned inf"), ("large", "too large"), ("raise", "motor")])
@pytest.mark.parametrize("steps", ["640", "64"], ids=["middle", "last"])
def test_training_keeps_the_last_good_checkpoint(
    how: str, blamed: str, steps: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the last iteration meets the fault; with --resume it continues from there."""
    Broken.steps, out = 0, tmp_path / "run"
    words = ["train", "ppo", "--env", f"BrokenLate-{how}-v0", "--out", str(out), "--steps", steps, *TINY]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--checkpoint-every", "32"])
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert stop.value.code == 2 and blamed in said and "learning rate" not in said
    assert str(out / "checkpoints" / "0000002") in said
    agent = load_agent(out / "checkpoints" / "0000002")
    assert np.isfinite(agent.normaliser.mean).all() and not (out / "agent").exists()
    Broken.steps = -10_000
    with pytest.raises(SystemExit) as stop:
        main([*words, "--checkpoint-every", "32", "--resume"])
    assert not stop.value.code and (out / "agent" / "agent.json").is_file()


def test_an_agent_with_weights_that_are_not_finite_is_refused(tmp_path: Path) -> None:
    Broken.steps = -10_000
    words = ["train", "ppo", "--env", "Broken-nan-v0", "--out", str(tmp_path / "run"), "--steps", "16", *TINY]
    with pytest.raises(SystemExit):
        main(words)
    agent = load_agent(tmp_path / "run" / "agent")
    agent.normaliser.mean[0] = np.inf
    agent.write(tmp_path / "run" / "agent")
    with pytest.raises(UserError, match="not finite"):
        load_agent(tmp_path / "run" / "agent")
