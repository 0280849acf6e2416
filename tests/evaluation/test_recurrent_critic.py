"""Critics of a victim with a memory, on a task in which what to attack depends on what the victim remembers."""

from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.attacks import Perturbation
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.envs import env_spec
from wocar.episodes import run_episodes
from wocar.evaluation import attack_context
from wocar.evaluation.attack_context import AttackContext
from wocar.evaluation.attack_registry import kind_of
from wocar.evaluation.recurrent_critic import collect_memory, fit_recurrent_worst_value, memory_sarsa_data
from wocar.networks import RecurrentNetwork, RecurrentPolicy, ScaledNormaliser, linear, lstm_cell
from wocar.threat import Threat

THREAT = Threat(0.5, radii=(1.0, 0.0))


class Recall(gymnasium.Env):
    """Shows (0, +1) or (0, -1), then zeros. Each of five steps pays the action times the number first shown."""

    observation_space = gymnasium.spaces.Box(-2, 2, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-9, 9, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.now, self.number = 0, float(self.np_random.choice([-1, 1]))
        return np.float32([0.0, self.number]), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.now += 1
        return np.zeros(2, np.float32), float(action[0]) * self.number, self.now == 5, False, {}


gymnasium.register("Recall-v0", Recall)


def remembering() -> Agent:
    """One unit sums up the second coordinate, the other sees the first at present, which alone is attacked."""
    keep, drop, take = 10.0, -10.0, 10.0
    weight = np.zeros((8, 2))
    weight[4, 1] = weight[5, 0] = 1.0
    bias = np.array([take, take, keep, drop, 0.0, 0.0, take, take])  # gates i, f, g, o of both units
    embedding, output = (eqx.nn.Sequential([linear(w, np.zeros(len(w)))]) for w in (np.eye(2), np.ones((1, 2))))
    network = RecurrentNetwork(embedding, lstm_cell(weight, np.zeros((8, 2)), bias), output)
    return Agent(env_spec("Recall-v0"), ScaledNormaliser.identity((2,)), RecurrentPolicy(network, jnp.full(1, -1.0)))


def harm(attack: Any) -> float:
    """By what part of the most that is possible the attack lowers the return: tanh(tanh(0.5)) in each step."""
    agent = remembering()
    perturb = Perturbation(attack, THREAT.ball_for(agent), 0)
    quiet, moved = (run_episodes(agent, 40, 0, n_envs=20, perturb=p).returns.mean() for p in (None, perturb))
    return float(quiet - moved) / (5 * np.tanh(np.tanh(0.5)))


def test_the_state_of_the_critic_is_what_the_victim_met() -> None:
    rollout = collect_memory(remembering(), 16 * 9, seed=0)  # an episode, its reset, three steps
    data = memory_sarsa_data(rollout)
    assert len(data.obs) == rollout.live.sum() < rollout.live.size
    number, remembered = data.obs[:, 1], data.obs[:, 2]
    begins = number != 0
    assert np.all(data.obs[begins, 2:] == 0)
    assert np.all(np.sign(remembered[1:][begins[:-1]]) == number[:-1][begins[:-1]])
    np.testing.assert_array_equal(np.flatnonzero(~data.known), 8 * np.arange(1, 17) - 1)


def test_robust_sarsa_follows_what_the_victim_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first step only the memory tells where to push: a blind critic finds a fifth of the harm."""
    monkeypatch.setattr(attack_context, "ROLLOUT_STEPS", 2048)
    context, kind = AttackContext(remembering(), seed=0), kind_of("robust-sarsa")
    assert kind.lacking(context, THREAT) is None
    assert harm(kind.made(context, THREAT, Path(), {"lr": 3e-3}).attack) > 0.6


def test_a_worst_critic_follows_what_the_victim_remembers() -> None:
    agent = remembering()
    assert kind_of("worst-critic").lacking(AttackContext(agent, seed=0), THREAT) is None
    critic, scale = fit_recurrent_worst_value(agent, THREAT, 1024, 60, 0, explorations=1, exploration_steps=1024)
    assert scale > 0
    assert harm(RobustSarsa(critic.target, memory=True)) > 0.6
