"""The comparison with Stable-Baselines3 made anew, with other weights than those of the stored files."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from wocar.interop import load

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
pytestmark = pytest.mark.oracle
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_sb3_fixtures.py"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_sb3_fixtures", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["ppo", "ppo-cnn", "a2c", "dqn", "sac", "td3"])
def test_actions_are_those_of_stable_baselines(maker: ModuleType, tmp_path: Path, name: str) -> None:
    maker.make(name, tmp_path, seed=100)
    expected = np.load(tmp_path / f"{name}-Toy-v0.npz")
    agent = load(tmp_path / f"{name}-Toy-v0.zip")
    np.testing.assert_allclose(agent.predict(expected["obs"])[0], expected["actions"], atol=1e-5)
    if "head" in expected:
        np.testing.assert_allclose(agent.head(agent.normaliser(expected["obs"])), expected["head"], atol=1e-5)


@pytest.mark.parametrize("name", ["recurrent", "recurrent-discrete"])
def test_actions_are_those_of_sb3_contrib(maker: ModuleType, tmp_path: Path, name: str) -> None:
    pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    maker.make(name, tmp_path, seed=100)
    expected = np.load(tmp_path / f"{name}-Toy-v0.npz")
    agent, state = load(tmp_path / f"{name}-Toy-v0.zip"), None
    for obs, starts, actions in zip(expected["obs"], expected["starts"], expected["actions"], strict=True):
        found, state = agent.predict(obs, state, starts)
        np.testing.assert_allclose(found, actions, atol=1e-5)
