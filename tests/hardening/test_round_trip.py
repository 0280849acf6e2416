"""From Stable-Baselines3 and back: an agent trained there is audited, hardened, and attacked in its own environment."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import wocar
from wocar.agent import Agent

sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
pytestmark = pytest.mark.oracle
EPS = 0.3


def attacked_return(model: Any, victim: Agent, attack: str = "pgd-10", episodes: int = 5) -> float:
    """Mean return of whatever has `predict` under an attack on the victim."""
    env = wocar.AttackedObservation(gymnasium.make("Signals-v0"), victim, attack, EPS)
    returns = []
    for seed in range(episodes):
        obs, over, total = env.reset(seed=seed)[0], False, 0.0
        while not over:
            action = model.predict(np.asarray(obs, np.float64), deterministic=True)[0]
            obs, reward, terminated, truncated, _ = env.step(action)
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def test_an_agent_of_stable_baselines_is_hardened(tmp_path: Path) -> None:
    model = sb3.PPO(
        "MlpPolicy",
        "Signals-v0",
        n_steps=512,
        batch_size=128,
        n_epochs=5,
        learning_rate=1e-3,
        seed=0,
        policy_kwargs={"net_arch": [16, 16]},
    )
    model.learn(4096)
    file = tmp_path / "ppo-Signals-v0.zip"
    model.save(file)
    before = wocar.load(file)
    attacks = {"attacks": ["none", "pgd-10"], "episodes": 10, "check_attacks": ["pgd-10"]}
    found = wocar.harden(file, tmp_path / "run", eps=EPS, steps=14_336, **attacks)
    assert found.worst[1] > found.worst[0]
    assert found.natural[1] >= 0.9 * found.natural[0]
    assert attacked_return(found.agent, found.agent) > attacked_return(model, before) + 2
    if hasattr(wocar, "export"):
        wocar.export(found.agent, "sb3", tmp_path / "hardened.zip")
        again = sb3.PPO.load(tmp_path / "hardened.zip")
        assert attacked_return(again, found.agent) == attacked_return(found.agent, found.agent)


def test_a_q_network_is_hardened_as_a_policy_and_goes_back_as_dqn(tmp_path: Path) -> None:
    model = sb3.DQN("MlpPolicy", "Signals-v0", learning_starts=64, seed=0, policy_kwargs={"net_arch": [16]})
    model.learn(256)
    file = tmp_path / "dqn-Signals-v0.zip"
    model.save(file)
    few: dict[str, Any] = {"n_envs": 2, "n_steps": 32, "minibatches": 2, "policy_epochs": 1, "value_epochs": 1}
    quick: dict[str, Any] = {"attacks": ["none", "random"], "check_attacks": ["random"], "episodes": 2}
    found = wocar.harden(file, tmp_path / "run", eps=EPS, steps=256, **quick, **few)
    assert found.method == "wocar-ppo"
    wocar.export(found.agent, "sb3", tmp_path / "hardened.zip")
    again = sb3.DQN.load(tmp_path / "hardened.zip")
    obs = np.random.default_rng(0).normal(size=(64, *found.agent.spec.obs_shape)).astype(np.float32)
    np.testing.assert_array_equal(again.predict(obs, deterministic=True)[0], found.agent.act(obs))
