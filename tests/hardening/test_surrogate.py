"""Attacks on agents that can only be called, transferred from a surrogate: they find what noise does not."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import wocar
from wocar.api import USUAL_SUITE
from wocar.attacks.surrogate import fit_surrogate
from wocar.black_box import black_box
from wocar.bounds import Ball
from wocar.evaluation.attack_registry import kind_of
from wocar.evaluation.frozen_suites import SUITES
from wocar.types import ActionSpace, EnvSpec

ARM = EnvSpec("Pendulum-v1", (3,), ActionSpace(1, np.array([-2], np.float32), np.array([2], np.float32)))


def sum_of_signals(obs: np.ndarray) -> np.ndarray:
    """Weighs faint and clear signals alike."""
    return (obs.sum(axis=-1) > 0).astype(int)


def test_a_transferred_attack_turns_an_agent_that_noise_does_not(tmp_path: Path) -> None:
    attacks = ["none", "random-corner", "surrogate"]
    result = wocar.audit(sum_of_signals, attacks=attacks, env="Signals-v0", eps=0.3, episodes=10, out=tmp_path)
    found = {name: row["mean"] for name, row in result["attacks"].items()}
    assert found["none"] == 10
    assert found["random-corner"] > 8
    assert found["surrogate"] < 3


def test_a_surrogate_has_the_victims_gradients_in_its_own_units() -> None:
    weight = np.array([1.0, -0.5, 0.02], np.float32)
    agent = black_box(lambda obs: np.tanh(obs @ weight)[..., None], ARM)
    obs = np.random.default_rng(0).normal(2, [1, 1, 50], (2000, 3)).astype(np.float32)
    policy = fit_surrogate(agent, obs, Ball(0.1), seed=0)
    np.testing.assert_allclose(np.mean((policy.head(obs) - agent.act(obs)) ** 2), 0, atol=0.01)
    near = jnp.asarray(obs[np.abs(obs @ weight) < 0.7])
    slopes = jax.grad(lambda x: jnp.sum(policy.head(x)))(near)
    assert np.mean(np.sign(slopes[:, :2]) == [1, -1]) > 0.95


def test_the_usual_suite_of_black_boxes_has_it() -> None:
    assert USUAL_SUITE[True] == "black-box-v2"
    inner = [settings["attack"] for settings in SUITES["black-box-v2"]["attacks"]["surrogate"]]
    assert inner == ["pgd-10", "robust-sarsa", "director"]
    assert kind_of("surrogate").black_box
