"""Discrete audits on a task where everything is known by hand: changed actions, and the greedy worst case by bounds."""

from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.attacks import PGD, Perturbation
from wocar.bounds import Ball
from wocar.envs import env_spec
from wocar.episodes import run_episodes
from wocar.evaluation.audit import audit
from wocar.evaluation.audit_file import AuditFolder
from wocar.evaluation.audit_result import markdown, rows_of
from wocar.evaluation.certified import GreedyWorstCase, usual_bounds
from wocar.evaluation.suites import AuditPlan
from wocar.networks import GreedyPolicy, ScaledNormaliser, cnn, linear, mlp
from wocar.threat import Threat


class Side(gymnasium.Env):
    """Shows 0.1, 0.3, 0.5, 0.7, 0.9 in turn and pays 1 for action 0, minus 1 for action 2."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.now = 0
        return self._look(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.now += 1
        return self._look(), float([1, 0, -1][int(action)]), self.now == 5, False, {}

    def _look(self) -> np.ndarray:
        return np.float32([0.1 + 0.2 * self.now])


gymnasium.register("Side-v0", Side, max_episode_steps=10)


def agent() -> Agent:
    """Q = (s, -s, -3): action 0 by a lead of 2 s, action 2 never."""
    network = eqx.nn.Sequential([linear(np.array([[1.0], [-1.0], [0.0]]), np.array([0.0, 0.0, -3.0]))])
    return Agent(env_spec("Side-v0"), ScaledNormaliser.identity((1,)), GreedyPolicy(network), {}, {"method": "by hand"})


def test_the_worst_action_the_bounds_leave() -> None:
    policy, z = agent().policy, np.float32([[0.1], [0.3], [0.5], [0.7], [0.9]])
    worst = GreedyWorstCase(Ball(0.4))(policy, z, np.zeros(5, int))
    assert worst.tolist() == [1, 1, 0, 0, 0]


def test_changed_actions_are_counted() -> None:
    victim = agent()
    natural = run_episodes(victim, 4, seed=0)
    assert natural.returns.tolist() == [5.0] * 4 and natural.flips is None
    attacked = run_episodes(victim, 3, seed=0, perturb=Perturbation(PGD(10), Ball(0.4), 0))
    assert attacked.returns.tolist() == [3.0] * 3
    assert attacked.flips == pytest.approx(2 / 5)
    bounded = run_episodes(victim, 3, seed=0, disturb=GreedyWorstCase(Ball(0.8)))
    assert bounded.returns.tolist() == [1.0] * 3
    assert bounded.flips == pytest.approx(4 / 5)


def test_an_audit_has_the_greedy_worst_case_beside_each_radius(tmp_path: Path) -> None:
    plan = AuditPlan({"none": [{}], "pgd-10": [{}]}, (Threat(0.4), Threat(0.8)), episodes=3, select_episodes=2)
    result = audit(agent(), plan, AuditFolder(tmp_path))
    rows = [dict(rows_of(point)) for point in result["curve"]]
    assert [row["gwc"]["mean"] for row in rows] == [3.0, 1.0]
    assert [row["gwc"]["flips"] for row in rows] == [pytest.approx(0.4), pytest.approx(0.8)]
    assert [row["pgd-10"]["flips"] for row in rows] == [pytest.approx(0.4), pytest.approx(0.8)]
    assert result["certified"] == result["curve"][0]["certified"]
    assert "gwc" not in result["attacks"]
    assert "| gwc | 3.0 |" in markdown(result) and "40.0%" in markdown(result)


def test_intervals_for_convolutions_only() -> None:
    key = jax.random.key(0)
    assert usual_bounds(GreedyPolicy(mlp([2, 4, 3], key))) == "crown"
    assert usual_bounds(GreedyPolicy(cnn((1, 36, 36), 3, key, (4, 4), (8, 4), (4, 2), 8))) == "ibp"


def test_continuous_actions_have_no_such_sets(tmp_path: Path, follower: Any) -> None:
    plan = AuditPlan({"none": [{}], "pgd-10": [{}]}, (Threat(0.5),), episodes=2, select_episodes=2)
    result = audit(follower(), plan, AuditFolder(tmp_path))
    assert "certified" not in result and "flips" not in result["attacks"]["pgd-10"]
