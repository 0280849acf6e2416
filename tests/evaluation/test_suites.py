"""A suite's name stands for its settings: whoever changes them must change this hash, and so should give a new name."""

import dataclasses
import json
import math
from collections.abc import Callable

import pytest

from wocar.agent import Agent
from wocar.api import asked_threats, default_threat
from wocar.evaluation.attack_registry import attack_names
from wocar.evaluation.frozen_suites import SUITES
from wocar.evaluation.suites import attack_plan, suite_digest, suite_plan
from wocar.networks import PixelNormaliser, RunningNormaliser, ScaledNormaliser
from wocar.threat import Threat
from wocar.types import UserError

NEAR = (Threat(0.1),)

FROZEN = {
    "sensors-v1": "2d776d1e57fee50ee1ec8228bfb115431db665ff2885a8fd234c9535487e888e",
    "black-box-v1": "f061906aaf0e2f4198ebe7c61a2a3243ffefe07992b1fbb3dbdf21467c7d37ed",
    "black-box-v2": "fbc800582f8cf17140c7c4a3518ad70320195b08cd46f75ad5ce707250427fb5",
    "mujoco-v3": "0443e022b127b6d77d5e21076ecf783a48bb17286c5a3c3f23997eba7aea9e87",
    "mujoco-v2": "917837b2d5c0c1147e2d141d6f8afc281bd16c94678bb1805efc5abe48d011b1",
    "fast-v2": "11041030ce6f14f7831485662f7706c1f126feea1d8a269562665ad585ae31e1",
    "paper-v1": "684efd711e0b8099bf62d17a0ae1ade15d6005a95198fea7bf0980235d3002ca",
    "atari-v2": "b73ca599352f520a59a0ed1f2b94af6153f2b3042a47b6624df36fa3c0d98ad5",
    "fast-v1": "557329402eebaba67aab4249f592e3ead23945ef287006f92daa00cd9775623d",
    "mujoco-v1": "46edf14c3adaf364e92737bc964af2af8375734ed541be4c851e160d053b8eb1",
    "atari-v1": "b53b583f0a7aa3f280866222f4660e40fed7c68452bc077e3c8dd018ac193351",
}


@pytest.mark.parametrize("name", SUITES)
def test_suites_are_frozen(name: str) -> None:
    assert suite_digest(name) == FROZEN[name]


@pytest.mark.parametrize("name", SUITES)
def test_suites_are_plain_data_about_known_attacks(name: str) -> None:
    suite = SUITES[name]
    assert json.loads(json.dumps(suite)) == suite
    assert {name.partition(":")[0] for name in suite["attacks"]} <= set(attack_names())
    assert next(iter(suite["attacks"])) == "none"
    assert all(suite["attacks"].values())


def test_a_plan_as_the_suite_says_has_no_changes() -> None:
    plan = suite_plan("fast-v1", NEAR, seed=3, env=None, episodes=None)
    assert (plan.attacks, plan.changes, plan.episodes, plan.seed) == (SUITES["fast-v1"]["attacks"], (), 50, 3)
    assert suite_plan("fast-v1", NEAR, episodes=50).changes == ()


def test_the_papers_own_attacks_have_its_settings() -> None:
    """Thirty robust critics of the published grid, with the whole horizon; adversaries of a million steps."""
    attacks = SUITES["paper-v1"]["attacks"]
    assert set(attacks) == {"none", "random", "maxdiff", "robust-sarsa", "sa-rl", "pa-ad"}
    critics = attacks["robust-sarsa"]
    assert len({(c["radius"], c["reg"]) for c in critics}) == len(critics) == 30
    assert {c["gamma"] for c in critics} == {0.99}
    assert {s["steps"] for s in attacks["sa-rl"]} == {1_000_000}
    assert not any("guide" in s for name in ("sa-rl", "pa-ad") for s in attacks[name])


def test_departures_from_a_suite_are_recorded() -> None:
    plan = suite_plan("mujoco-v1", NEAR, budget_steps=2048, episodes=30)
    assert plan.changes == ("budget_steps 2048 (suite: 500000)", "episodes 30 (suite: 50)")
    assert {settings["steps"] for settings in plan.attacks["sa-rl"]} == {2048}
    assert SUITES["mujoco-v1"]["attacks"]["pa-ad"][0]["steps"] == 500_000
    assert suite_plan("fast-v1", NEAR, budget_steps=2048).changes == ()  # nothing in it is trained


def test_selection_and_report_never_share_a_seed() -> None:
    plans = [attack_plan(["none"], NEAR, seed=seed) for seed in (0, 1, 1234)]
    assert len({s for plan in plans for s in (plan.seed, plan.select_seed)}) == 6


def test_names_and_their_aliases() -> None:
    plan = attack_plan(["natural", "mad", "rs", "maxdiff"], NEAR)
    assert list(plan.attacks) == ["none", "maxdiff", "robust-sarsa"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: suite_plan("slow-v9", NEAR), "unknown suite 'slow-v9'; suites: fast-v1"),
        (lambda: attack_plan(["laser"], NEAR), "unknown attack 'laser'; attacks: none"),
        (lambda: attack_plan([], NEAR), "no attack"),
        (lambda: suite_plan("fast-v1", NEAR, budget_steps=0), "--budget-steps must be positive"),
        (lambda: attack_plan(["none"], NEAR, episodes=0).check(), "--episodes must be positive"),
        (lambda: attack_plan(["none"], NEAR, max_steps=0).check(), "--max-steps must be positive"),
        (lambda: attack_plan(["none"], ()).check(), "--eps must be a number"),
        (lambda: attack_plan(["none"], NEAR * 2).check(), "twice"),
        (lambda: attack_plan(["none"], NEAR, seed=-1).check(), "--seed must not be negative"),
        (lambda: attack_plan(["none"], (*NEAR, Threat(0.2, "l2"))).check(), "in their radius only"),
    ],
)
def test_mistakes_are_told(make: object, words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()  # type: ignore[operator]


def test_the_usual_radius_is_in_the_units_that_the_agent_sees(fresh_agent: Callable[..., Agent]) -> None:
    agent = fresh_agent("CartPole-v1")
    assert default_threat(agent) == Threat(0.3)
    for raw in (RunningNormaliser.create((4,), math.inf), ScaledNormaliser.identity((4,))):
        assert default_threat(dataclasses.replace(agent, normaliser=raw)) == Threat(0.07)
    assert default_threat(dataclasses.replace(agent, normaliser=PixelNormaliser())) == Threat(1 / 255)
    assert default_threat(dataclasses.replace(agent, meta={"eps": 0.5})) == Threat(0.5)


def test_the_usual_threat_is_that_of_training(fresh_agent: Callable[..., Agent]) -> None:
    agent, own = fresh_agent("CartPole-v1"), Threat(0.5, "l2", radii=(1, 1, 0, 1))
    trained = dataclasses.replace(agent, meta={"eps": 0.5, "threat": own.to_json()})
    assert default_threat(trained) == own
    assert asked_threats(own) == (own,)
    assert asked_threats(own, [0.1, 0.2], norm="linf") == tuple(Threat(x, radii=(1, 1, 0, 1)) for x in (0.1, 0.2))
    moves_actions = Threat(0.3, on="action")
    trained = dataclasses.replace(agent, meta={"eps": 0.3, "threat": moves_actions.to_json()})
    assert default_threat(trained, "action") == moves_actions
    assert default_threat(trained) == Threat(0.3)  # a radius of actions is none of observations
    with pytest.raises(UserError, match="--units needs --eps"):
        asked_threats(own, units="raw")
