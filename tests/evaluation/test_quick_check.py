"""The quick check of agents in training."""

from typing import Any

import jax
import pytest

from wocar.agent import Agent
from wocar.envs import env_spec
from wocar.evaluation import quick_check as module
from wocar.evaluation.quick_check import NATURAL_EPISODES, quick_check
from wocar.networks import CategoricalPolicy, RunningNormaliser
from wocar.threat import Threat


def test_more_episodes_without_attack_than_under_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten episodes of a hopper that falls now and then are no measure of what it keeps."""
    spec, counted = env_spec("CartPole-v1"), dict[str, int]()
    policy = CategoricalPolicy.create(spec.obs_shape[0], spec.actions.size, jax.random.key(0))
    agent = Agent(spec, RunningNormaliser.create(spec.obs_shape), policy)

    def run_cell(agent: Agent, cell: Any, made: Any, watch: Any) -> dict[str, float]:
        counted[cell.name] = cell.episodes
        return {"mean": float(cell.episodes)}

    monkeypatch.setattr(module, "run_cell", run_cell)
    found = quick_check(agent, [("random", {})], Threat(0.1), 10, 0)
    assert counted == {"none": NATURAL_EPISODES, "random": 10}
    assert found == (NATURAL_EPISODES, 10, {"random": 10})
