"""Successive halving of learned attackers, and the comparison of finalists: on a task where every return is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from wocar.agent import Agent
from wocar.bounds import Ball
from wocar.envs import env_spec
from wocar.evaluation.attack_context import Trained
from wocar.evaluation.audit import audit
from wocar.evaluation.audit_file import AuditFolder
from wocar.evaluation.suites import AuditPlan
from wocar.networks import GaussianPolicy, ScaledNormaliser, linear
from wocar.threat import Threat
from wocar.types import Policy


class Copy(gymnasium.Env):
    """Shows 0 and pays the action, for four steps."""

    observation_space = Box(-2, 2, (1,), np.float32)
    action_space = Box(-9, 9, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        return np.zeros(1, np.float32), float(action[0]), self.t == 4, False, {}


gymnasium.register("Copy-v0", Copy)


@dataclass(frozen=True)
class Shift:
    size: float

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return obs - self.size * ball.radius(obs)


class Trainer:
    """An attacker of `talent` moves what is seen by talent · steps / 100 of eps; trained for too long, by less."""

    def __init__(self, tires_at: int = 100) -> None:
        self.tires_at = tires_at
        self.trained: list[tuple[float, int]] = []

    def __call__(
        self, kind: str, victim: Agent, threat: Threat, seed: int, out: Path, settings: Mapping[str, Any], lessons: Any
    ) -> Trained:
        talent, steps = settings["talent"], settings["steps"]
        self.trained.append((talent, steps))
        return Trained(Shift(talent * min(steps, self.tires_at) / 100 - (steps > self.tires_at) * talent / 2), [])


@pytest.fixture(scope="module")
def agent() -> Agent:
    policy = GaussianPolicy(eqx.nn.Sequential([linear(jnp.ones((1, 1)), jnp.zeros(1))]), jnp.zeros(1))
    return Agent(env_spec("Copy-v0"), ScaledNormaliser(np.zeros(1), np.ones(1), 10.0), policy)


def grid(*talents: float) -> list[dict[str, Any]]:
    return [{"talent": talent, "steps": 100} for talent in talents]


def plan(**attacks: Any) -> AuditPlan:
    rungs = ((0.1, 3), (0.5, 1))
    named = {name.replace("_", "-"): value for name, value in attacks.items()}
    return AuditPlan(named, (Threat(1.0),), episodes=3, select_episodes=2, rungs=rungs, finalists=2)


def test_each_rung_trains_longer_and_keeps_the_strongest(agent: Agent, tmp_path: Path) -> None:
    trainer = Trainer()
    found = audit(agent, plan(none=[{}], sa_rl=grid(0.1, 0.4, 0.3, 0.2, 0.5)), AuditFolder(tmp_path), trainer)
    first, second = [(t, 10) for t in (0.1, 0.4, 0.3, 0.2, 0.5)], [(0.5, 50), (0.4, 50), (0.3, 50)]
    assert trainer.trained == [*first, *second, (0.5, 100)]
    row = found["attacks"]["sa-rl"]
    assert row["parameters"] == {"talent": 0.5, "steps": 100}
    assert row["mean"] == pytest.approx(-4 * 0.5)
    assert [tried["steps"] for tried in row["grid"]] == [10, 10, 50, 10, 50, 10, 10, 50, 100]
    assert [(p["steps"], round(p["mean"], 4)) for p in row["budget_curve"]] == [(10, -0.2), (50, -1.0), (100, -2.0)]
    again = Trainer()
    audit(agent, plan(none=[{}], sa_rl=grid(0.1, 0.4, 0.3, 0.2, 0.5)), AuditFolder(tmp_path), again)
    assert not again.trained


def test_an_attacker_that_more_steps_weaken_is_taken_from_its_rung(agent: Agent, tmp_path: Path) -> None:
    trainer = Trainer(tires_at=50)
    found = audit(agent, plan(none=[{}], sa_rl=grid(0.1, 0.4, 0.3, 0.2)), AuditFolder(tmp_path), trainer)
    row = found["attacks"]["sa-rl"]
    assert row["parameters"] == {"talent": 0.4, "steps": 50}
    assert [round(p["mean"], 4) for p in row["budget_curve"]] == [-0.16, -0.8, 0.0]
    assert row["select"]["mean"] == row["mean"] == row["final"]["mean"] == pytest.approx(-0.8)


def test_a_single_setting_is_trained_once(agent: Agent, tmp_path: Path) -> None:
    trainer = Trainer()
    audit(agent, plan(none=[{}], sa_rl=grid(0.5)), AuditFolder(tmp_path), trainer)
    assert trainer.trained == [(0.5, 100)]


def test_finalists_are_compared_on_episodes_of_their_own(agent: Agent, tmp_path: Path) -> None:
    trainer = Trainer()
    asked = plan(none=[{}], random=[{}], sa_rl=grid(0.3), pa_ad=grid(0.5))
    found = audit(agent, asked, AuditFolder(tmp_path), trainer)
    assert found["worst"] == "pa-ad"
    finals = {name: row["final"] for name, row in found["attacks"].items() if "final" in row}
    assert set(finals) == {"pa-ad", "sa-rl"}
    assert finals["pa-ad"]["seed"] == asked.final_seed
    assert len({asked.seed, asked.select_seed, asked.final_seed}) == 3
    assert trainer.trained == [(0.3, 100), (0.5, 100)]
