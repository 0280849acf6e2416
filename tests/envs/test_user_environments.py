"""Environments of the user: modules of the working folder, keyword arguments, observations in parts."""

import sys
from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.cli import main
from wocar.cli.env_kwargs import with_env_kwargs
from wocar.envs import allow_import, env_spec, make_env
from wocar.envs.keywords import split_keywords
from wocar.loading import export
from wocar.methods.tasks import task_of
from wocar.networks import GreedyPolicy, ScaledNormaliser, mlp
from wocar.types import UserError

MODULE = '''
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete


class Parts(gymnasium.Env):
    """Ends after `length` steps; where it is and how fast, as parts."""

    def __init__(self, length=3, reward=1.0, name="x", render_mode=None):
        self.observation_space = Dict({"where": Box(-1, 1, (2,)), "fast": Box(-9, 9, (1,))})
        self.action_space, self.length, self.reward = Discrete(2), length, reward

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self._seen(), {}

    def step(self, action):
        self.steps += 1
        return self._seen(), self.reward, self.steps >= self.length, False, {}

    def _seen(self):
        return {"where": np.float32([0.25, 0.5]), "fast": np.float32([self.steps])}


gymnasium.register("Parts-v0", Parts, max_episode_steps=50)
'''
TINY = ["--n-envs", "2", "--n-steps", "8", "--hidden", "4", "--minibatches", "2", "--policy-epochs", "1"]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the working folder that nobody has imported."""
    name = f"user_env_{abs(hash(str(tmp_path))) % 10**9}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    return name


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


def test_train_and_audit_in_an_environment_of_the_working_folder(module: str, tmp_path: Path) -> None:
    before, env = list(sys.path), ["--env", f"{module}:Parts-v0", "--env-kwargs", "length=4,reward=2.5"]
    small = ["--steps", "16", "--value-epochs", "1", "--out", str(tmp_path / "run")]
    assert run("train", "ppo", *env, *TINY, *small) == 0
    assert sys.path == before
    words = ["--attacks", "none,random", "--eps", "0.1", "--episodes", "2", "--json", str(tmp_path / "a.json")]
    assert run("audit", str(tmp_path / "run"), *env, *words) == 0
    assert '"mean": 10.0' in (tmp_path / "a.json").read_text()  # 4 steps of 2.5


def test_observations_in_parts_are_flattened(module: str) -> None:
    id = f"{module}:Parts-v0?length=2"
    allow_import(id)
    env = make_env(id, 2, 0)
    assert env.spec.obs_shape == (3,)
    np.testing.assert_allclose(env.reset(), [[0, 0.25, 0.5]] * 2)
    np.testing.assert_allclose(env.step(np.array([0, 1])).obs, [[1, 0.25, 0.5]] * 2)
    assert env.step(np.array([0, 1])).terminated.all()
    env.close()
    agent = Agent(env.spec, ScaledNormaliser.identity((3,)), GreedyPolicy(mlp([3, 4, 2], jax.random.key(0))))
    (note,) = [line for line in export(agent, "sb3", "flat.zip").notes if "FlattenObservation" in line]
    assert note.startswith("it takes flat observations")


def test_keywords_are_part_of_the_id() -> None:
    assert split_keywords("Pendulum-v1") == ("Pendulum-v1", {})
    wanted = {"g": 9.5, "n": 3, "on": True, "no": None, "name": "x y", "list": "[1]"}
    assert split_keywords("A-v1?g=9.5&n=3&on=true&no=null&name=x y&list=[1]") == ("A-v1", wanted)
    assert with_env_kwargs(["--env", "A-v1", "--env-kwargs", "g=9.5,n=3", "x"]) == ["--env", "A-v1?g=9.5&n=3", "x"]
    assert with_env_kwargs(["--env=A-v1", "--env-kwargs=g=1"]) == ["--env=A-v1?g=1"]
    assert with_env_kwargs(["--env", "A-v1"]) == ["--env", "A-v1"]
    assert task_of("m:Hopper-v4?x=1") == "Hopper"
    for words, reason in (
        (["--env-kwargs", "g=1"], "needs --env"),
        (["--env", "A", "--env-kwargs", "g"], "must be name=value"),
        (["--env", "A", "--env-kwargs"], "must be name=value"),
    ):
        with pytest.raises(UserError, match=reason):
            with_env_kwargs(words)
    assert env_spec("Pendulum-v1?g=9.5").obs_shape == (3,)
    with pytest.raises(UserError, match="cannot be made: TypeError"):
        env_spec("Pendulum-v1?nonsense=1")


def test_text_for_an_environment_comes_from_the_user_only() -> None:
    with pytest.raises(UserError, match="text as an argument, which no file may ask for"):
        env_spec("Pendulum-v1?render_mode=rgb_array")
    allow_import("Pendulum-v1?render_mode=rgb_array")
    assert env_spec("Pendulum-v1?render_mode=rgb_array").obs_shape == (3,)


def test_other_actions_are_one_line() -> None:
    class Many(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (2,))
        action_space = gymnasium.spaces.MultiDiscrete([3, 2])

    gymnasium.register("Many-v0", Many)
    with pytest.raises(UserError, match="not supported: actions MultiDiscrete") as caught:
        env_spec("Many-v0")
    assert "\n" not in str(caught.value)
