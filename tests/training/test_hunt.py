"""Hunts in training: the known worst director is found and remembered, and the policy that keeps most is saved."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
import pytest

from tests.attacks.test_director import EPS, MATRIX, linear_policy
from wocar import api
from wocar.agent import Agent
from wocar.envs import env_spec
from wocar.mechanisms.behaviour import DIRECTOR, Behaviour
from wocar.mechanisms.directors import no_directors
from wocar.networks import GaussianPolicy, ScaledNormaliser
from wocar.threat import Threat
from wocar.training import hunt
from wocar.training.hunt import FRESH, POOL, Hunter
from wocar.training.on_policy import OnPolicy
from wocar.training.run_config import RunConfig
from wocar.types import UserError

WORST = np.sign(MATRIX.T @ np.array([-1.0, 1.0]))
"""Corner of the ball in which the reward, the first action minus the second, is least."""


def rail_agent(policy: GaussianPolicy) -> Agent:
    return Agent(env_spec("Rail-v0"), ScaledNormaliser(np.zeros(3), np.ones(3), 10.0), policy)


@pytest.fixture
def hunter(tmp_path: Path) -> Hunter:
    return Hunter(
        RunConfig("none", out=tmp_path), Threat(EPS), (linear_policy(), ""), lambda arrays: rail_agent(arrays[0])
    )


def test_the_worst_director_is_found_and_what_keeps_most_is_kept(hunter: Hunter) -> None:
    frail, firm = linear_policy(), eqx.tree_at(lambda p: p.network.layers[0].weight, linear_policy(), MATRIX / 10)
    first = hunter.hunt((frail, "frail"))
    np.testing.assert_array_equal(np.sign(MATRIX.T @ hunter.directors.bias[0]), WORST)
    second = hunter.hunt((firm, "firm"))
    assert second["hunt_worst"] > first["hunt_worst"] and hunter.kept.best[1] == "firm"
    third = hunter.hunt((frail, "frail"))
    assert third["hunt_worst"] < second["hunt_best"] == third["hunt_best"] and hunter.kept.best[1] == "firm"
    assert third["hunt_steps"] > second["hunt_steps"] > first["hunt_steps"] > 0
    assert len(hunter.directors.bias) == hunter.known == 3 * FRESH < POOL


def test_the_best_agent_meets_what_later_hunts_find(hunter: Hunter) -> None:
    """A first hunt that had missed the hole would keep a frail agent for ever."""
    frail, firm = linear_policy(), eqx.tree_at(lambda p: p.network.layers[0].weight, linear_policy(), MATRIX / 10)
    first = hunter.hunt((frail, "frail"))
    hunter.best = np.inf
    second = hunter.hunt((firm, "firm"))
    assert first["hunt_worst"] < second["hunt_worst"] == second["hunt_best"] and hunter.kept.best[1] == "firm"


def test_a_long_hunt_finds_what_a_short_one_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four constant directions of eight, and no evolution: the worst is not among them."""
    monkeypatch.setattr(hunt, "GENERATIONS", 0)
    monkeypatch.setattr(hunt, "POPULATION", FRESH)
    found = []
    for long in (False, True):
        config = RunConfig("none", seed=4, out=tmp_path)
        hunter = Hunter(config, Threat(EPS), (linear_policy(),), lambda arrays: rail_agent(arrays[0]), long)
        found.append(hunter.hunt((linear_policy(),)))
    short, longer = found
    assert longer["hunt_worst"] < short["hunt_worst"] and longer["hunt_steps"] > 3 * short["hunt_steps"]


def test_episodes_take_what_was_hunted_by_its_share(hunter: Hunter) -> None:
    known, rng = no_directors(2, 3, 1)._replace(bias=np.array([[0.6, -0.8]], np.float32)), np.random.default_rng(0)
    drawn = Behaviour(0.0, 0.0, 1.0, 0.0, hunted=0.5).begin(3000, 3, 2, rng, known)
    assert np.all(drawn.kind == DIRECTOR)
    same = np.all(np.abs(drawn.bias - known.bias) < 1e-6, axis=1)
    assert same.mean() == pytest.approx(0.5 / 3, abs=0.03)  # a third of them unchanged
    without = Behaviour(0.0, 0.0, 1.0, 0.0, hunted=0.5).begin(100, 3, 2, rng, hunter.directors)
    assert set(np.unique(without.bias[np.all(without.weight == 0, axis=(1, 2))])) <= {-1.0, 0.0, 1.0}


def test_a_run_of_ppo_with_hunts_resumes_bit_for_bit(tmp_path: Path) -> None:
    """Stopped after its first hunt: the best agent, what it was normalised by, and the learner's own state go on."""
    small: Any = {"env": "Hopper-v4", "n_envs": 4, "n_steps": 16, "minibatches": 2, "checkpoint_every": 128, "seed": 3}
    hunts = {"hunt_begin": 0.2, "threads": 1}
    api.train("wocar-ppo", out=tmp_path / "whole", steps=512, **small, **hunts)

    def stop_late(self: OnPolicy, iteration: int) -> Any:
        if iteration == 5:
            raise KeyboardInterrupt
        return iterate(self, iteration)

    iterate = OnPolicy.iterate
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(OnPolicy, "iterate", stop_late)
        api.train("wocar-ppo", out=tmp_path / "half", steps=512, **small, **hunts)
    api.train("wocar-ppo", out=tmp_path / "half", resume=True)
    for name in ("agent/agent.safetensors", "checkpoints/0000008/learner.safetensors"):
        assert (tmp_path / "half" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    rows = [json.loads(line) for line in (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()]
    assert len([row for row in rows if "hunt_worst" in row]) == 4
    assert max(row.get("hunt_worst", -np.inf) for row in rows) >= rows[-1]["hunt_best"]


def test_hunts_are_refused_where_directors_have_no_meaning(tmp_path: Path) -> None:
    settings = {"steps": 64, "hunt_begin": 0.5, "n_envs": 2, "n_steps": 16, "minibatches": 1}
    with pytest.raises(UserError, match="not for an LSTM"):
        api.train("wocar-lstm-ppo", "Hopper-v4", out=tmp_path / "memory", **settings)
    pictures = linear_policy(), np.zeros((1, 8, 8))
    with pytest.raises(UserError, match=r"not for observations of shape \(1, 8, 8\)"):
        Hunter(RunConfig("none", out=tmp_path), Threat(EPS), pictures, seen_as_pictures)


def seen_as_pictures(arrays: Any) -> Agent:
    agent = rail_agent(arrays[0])
    return dataclasses.replace(agent, spec=agent.spec._replace(obs_shape=arrays[1].shape))
