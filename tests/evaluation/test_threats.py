"""The threat of a training is that of its calibration and of its audits; masks and raw units cost what they must."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import wocar
from wocar.agent import Agent, load_agent
from wocar.cli import main
from wocar.evaluation.attack_context import AttackContext
from wocar.evaluation.worst_case import worst_case
from wocar.networks import GaussianPolicy, PixelNormaliser, ScaledNormaliser, linear
from wocar.threat import Threat

LENGTH = 10


def sum_and_difference(agent: Agent) -> Agent:
    """Acts by the sum and the difference of what it sees: an l_2 ball moves them less than an l_inf one."""
    policy = GaussianPolicy(eqx.nn.Sequential([linear(np.array([[1.0, 1], [1, -1]]), np.zeros(2))]), jnp.zeros(2))
    return dataclasses.replace(agent, policy=policy)


def nothing_matters(obs: Any, action: Any) -> Any:
    return jnp.zeros(len(obs))


def test_the_sets_of_a_worst_critic_are_those_of_the_threat(follower) -> None:
    """Width of each action's interval: 2 eps times the dual norm of its weights, within what can be seen."""
    agent, z = sum_and_difference(follower()), np.full((3, 2), 0.1, np.float32)
    sizes = {
        Threat(0.5): 2 * 0.5 * 2,
        Threat(0.5, "l2"): 2 * 0.5 * math.sqrt(2),
        Threat(0.5, radii=(1, 0)): 2 * 0.5,
        Threat(0.5, on="action"): 2 * 0.5,
    }
    for threat, size in sizes.items():
        np.testing.assert_allclose(worst_case(agent, nothing_matters, threat)(z).size, size, rtol=1e-5)
    pixels = dataclasses.replace(agent, normaliser=PixelNormaliser())
    np.testing.assert_allclose(worst_case(pixels, nothing_matters, Threat(0.5))(z).size, 2 * (0.5 + 0.1), rtol=1e-5)


def test_examples_for_an_attacker_lie_in_what_can_be_seen(follower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wocar.evaluation.attack_context.WORST_STEPS", 256)
    monkeypatch.setattr("wocar.evaluation.imitation_examples.STATES", 2048)
    agent = dataclasses.replace(follower(), normaliser=PixelNormaliser(1.0))
    monkeypatch.setattr(AttackContext, "worst_critic", lambda self, threat, explorations: lambda obs, a: a.sum(-1))
    lessons = AttackContext(agent, 0).examples("sa-rl", Threat(0.5), 1)
    assert lessons is not None
    inside = (lessons.obs >= 0).all(axis=1)  # this task also shows what no picture can
    shown = np.asarray(lessons.obs + 0.5 * lessons.wanted)[inside]
    assert len(shown) > 100 and shown.min() >= -1e-6


@pytest.mark.parametrize(
    ("threat", "harm"),
    [
        (Threat(0.5), 2 * 0.5),
        (Threat(0.5, radii=(1.0, 0.0)), 0.5),
        (Threat(0.5, radii=(2.0, 0.5)), 2.5 * 0.5),
        (Threat(0.5, "l2", radii=(0.0, 1.0)), 0.5),
        (Threat(0.5, units="raw"), 2 * 0.5),
    ],
)
def test_an_attack_takes_what_the_threat_allows(follower, threat: Threat, harm: float) -> None:
    result = wocar.audit(follower(), attacks=["none", "pgd-10"], threat=threat, episodes=3, seed=2)
    row = result["attacks"]["pgd-10"]
    assert row["mean"] == pytest.approx(-harm * LENGTH, rel=1e-3)
    assert row["budget_used"] == pytest.approx(1, rel=1e-3)
    assert Threat.from_json(result["threat"]) == threat


def test_raw_units_cost_the_same_whatever_the_normaliser(follower) -> None:
    """z is half of what is there, and the agent says twice what it sees."""
    plain = follower()
    halved = ScaledNormaliser(np.zeros(2), np.full(2, 2.0), 10.0)
    agent = dataclasses.replace(follower(gain=2.0), normaliser=halved)
    for victim in (plain, agent):
        result = wocar.audit(victim, attacks=["pgd-10"], eps=0.5, units="raw", episodes=3, seed=2)
        assert result["attacks"]["pgd-10"]["mean"] == pytest.approx(-2 * 0.5 * LENGTH, rel=1e-3)
        assert result["attacks"]["pgd-10"]["eps_units"] == "l_inf, units of the observation"
    normalised = wocar.audit(agent, attacks=["pgd-10"], eps=0.5, episodes=3, seed=2)
    assert normalised["attacks"]["pgd-10"]["mean"] == pytest.approx(-4 * 0.5 * LENGTH, rel=1e-3)


def test_a_training_in_l2_is_calibrated_and_audited_in_l2(tmp_path: Path) -> None:
    run, json_file = tmp_path / "run", tmp_path / "audit.json"
    tiny = ["--n-envs", "2", "--n-steps", "16", "--hidden", "8", "--minibatches", "2", "--policy-epochs", "1"]
    tiny += ["--critic-epochs", "1", "--critic-minibatches", "2", "--value-epochs", "1"]
    command = ["train", "wocar-ppo", "--env", "Pendulum-v1", "--norm", "l2", "--eps", "0.4", "--steps", "64"]
    with pytest.raises(SystemExit) as stop:
        main([*command, *tiny, "--out", str(run)])
    assert not stop.value.code
    own = Threat(0.4, "l2")
    meta = load_agent(run / "agent").meta
    assert (Threat.from_json(meta["threat"]), meta["eps"]) == (own, 0.4)
    config = json.loads((run / "run.json").read_text())["config"]["robust"]
    assert (config["eps"], config["norm"], config["threat"]) == (0.4, "l2", "observation")
    assert Threat.from_json(json.loads((run / "calibration.json").read_text())["threat"]) == own
    options = ["--attacks", "none,random-corner", "--episodes", "2", "--json", str(json_file)]
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(run), *options])
    assert not stop.value.code
    result = json.loads(json_file.read_text())
    assert (result["norm"], Threat.from_json(result["threat"])) == ("l2", own)
    assert result["attacks"]["random-corner"]["eps_units"].startswith("l_2")
    assert result["attacks"]["random-corner"]["budget_used"] == pytest.approx(1, rel=1e-3)
