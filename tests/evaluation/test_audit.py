"""Audits of a victim whose losses are known by hand: numbers, selection, flags, and going on after a stop."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wocar
from wocar.agent import Agent
from wocar.api import train_for_audit
from wocar.bounds.ball import Norm
from wocar.episodes import run_episodes
from wocar.evaluation import attack_context
from wocar.evaluation.audit import AuditObserver, audit
from wocar.evaluation.audit_file import AuditFolder
from wocar.evaluation.audit_result import markdown
from wocar.evaluation.suites import AuditPlan, attack_plan
from wocar.threat import Threat
from wocar.types import UserError

MakeAgent = Callable[..., Agent]
RUNS_LONG = True
LENGTH = 10
ATTACKS: dict[str, list[dict[str, Any]]] = {"none": [{}], "random": [{}], "maxdiff": [{}]}
SIZES = {"episodes": 6, "select_episodes": 4}


class Heard(AuditObserver):
    """Counts episodes run and found; stops the audit after some rows where asked to."""

    def __init__(self, stop_after: int = 1000) -> None:
        self.run, self.kept, self.rows, self.total, self.stop_after = 0, 0, [], 0, stop_after

    def start(self, episodes: int, rows: int) -> None:
        self.total = episodes

    def episodes(self, n: int, kept: bool = False) -> None:
        self.run += 0 if kept else n
        self.kept += n if kept else 0

    def row(self, attack: str, row: dict[str, Any]) -> None:
        self.rows.append(attack)
        if len(self.rows) == self.stop_after:
            raise KeyboardInterrupt


def plan(attacks: dict[str, list[dict[str, Any]]], *eps: float, norm: Norm = "linf", **more: Any) -> AuditPlan:
    threats = tuple(Threat(x, norm) for x in eps or (0.5,))
    return AuditPlan(attacks, threats, **{**SIZES, **more})


def flags(result: dict[str, Any]) -> set[str]:
    return {flag["flag"] for flag in result["flags"]}


def test_losses_by_hand(tmp_path: Path, follower: MakeAgent) -> None:
    attacks = {name: [{}] for name in ("none", "random", "random-corner", "maxdiff-plain", "pgd-10")}
    result = audit(follower(), plan(attacks), AuditFolder(tmp_path))
    rows = result["attacks"]
    assert rows["none"]["mean"] == pytest.approx(0.0, abs=1e-4)
    for name in ("random-corner", "maxdiff-plain", "pgd-10"):
        assert rows[name]["mean"] == pytest.approx(-2 * 0.5 * LENGTH, rel=1e-4)
        assert rows[name]["budget_used"] == pytest.approx(1.0, rel=1e-4)
        assert rows[name]["moved"]["size"] == pytest.approx([1.0] * len(result["dimensions"]), rel=1e-3)
    assert "moved" not in rows["none"]
    assert rows["random"]["mean"] == pytest.approx(-0.5 * LENGTH, rel=0.2)
    assert result["worst"] in ("random-corner", "maxdiff-plain", "pgd-10")
    assert (rows["none"]["eps"], rows["random"]["eps"]) == (0.0, 0.5)
    assert rows["random"]["eps_units"] == "l_inf, units of the observation"  # it has no normaliser
    assert flags(result) == {"few-episodes"}


def test_the_ball_of_the_other_norm_is_smaller(tmp_path: Path, follower: MakeAgent) -> None:
    """An l_2 ball of radius eps lets |d1| + |d2| reach sqrt(2) eps."""
    result = audit(follower(), plan({"pgd-10": [{"restarts": 4}]}, norm="l2"), AuditFolder(tmp_path))
    assert -(2**0.5) * 0.5 * LENGTH * 1.001 <= result["attacks"]["pgd-10"]["mean"] < -0.5 * LENGTH
    assert "l_2" in result["attacks"]["pgd-10"]["eps_units"]


def test_several_radii_give_a_curve(tmp_path: Path, follower: MakeAgent) -> None:
    result = audit(follower(), plan({"none": [{}], "pgd-10": [{}]}, 0.25, 0.0, 1.0), AuditFolder(tmp_path))
    points = [(p["eps"], p["attacks"]["pgd-10"]["mean"]) for p in result["curve"]]
    np.testing.assert_allclose(points, [(0.25, -5.0), (0.0, 0.0), (1.0, -20.0)], atol=1e-3)
    assert result["attacks"] == result["curve"][0]["attacks"]
    assert [p["attacks"]["none"] for p in result["curve"]] == [result["attacks"]["none"]] * 3


def test_the_worst_setting_is_selected_and_then_reported_on_fresh_episodes(tmp_path: Path, follower: MakeAgent) -> None:
    grid = [{"extreme": False}, {"extreme": True}]
    agent = follower()
    result = audit(agent, plan({"none": [{}], "random": grid}, seed=5), AuditFolder(tmp_path))
    row = result["attacks"]["random"]
    assert row["parameters"] == {"extreme": True}
    assert [g["extreme"] for g in row["grid"]] == [False, True]
    assert row["grid"][1]["mean"] < row["grid"][0]["mean"]
    assert (row["seed"], row["episodes"]) == (5, 6)
    assert (row["select"]["seed"], row["select"]["episodes"]) == (500_005, 4)
    fresh = audit(agent, plan({"random": [{"extreme": True}]}, seed=5), AuditFolder(tmp_path / "b"))["attacks"][
        "random"
    ]
    assert (fresh["mean"], fresh["std"]) == (row["mean"], row["std"])


def test_the_worst_attack_is_the_worst_of_the_selection(tmp_path: Path, fresh_agent: MakeAgent) -> None:
    result = audit(
        fresh_agent("GoHome-v0"), plan({"none": [{}], "random": [{}], "maxdiff": [{}]}), AuditFolder(tmp_path)
    )
    selected = {name: row["select"]["mean"] for name, row in result["attacks"].items()}
    assert result["worst"] == min(selected, key=selected.__getitem__)
    done = run_episodes(fresh_agent("GoHome-v0"), 6, 1234)
    assert result["attacks"]["none"]["mean"] == done.returns.mean()
    assert result["attacks"]["none"]["mean_length"] == done.lengths.mean()


def test_one_attack_alone_needs_no_selection(tmp_path: Path, follower: MakeAgent) -> None:
    heard = Heard()
    result = audit(follower(), plan({"none": [{}]}), AuditFolder(tmp_path), watch=heard)
    assert (heard.run, heard.total, result["worst"]) == (6, 6, "none")
    assert "select" not in result["attacks"]["none"]


def test_a_victim_that_sees_nothing_is_flagged(tmp_path: Path, follower: MakeAgent) -> None:
    result = audit(follower(gain=0.0), plan({"maxdiff-plain": [{}]}), AuditFolder(tmp_path))
    assert result["attacks"]["maxdiff-plain"]["zero_gradients"] == 1.0
    assert {"zero-gradients", "budget-unused"} <= flags(result)


def test_episodes_that_never_end_are_cut_and_flagged(tmp_path: Path, follower: MakeAgent) -> None:
    result = audit(follower("Endless-v0"), plan({"none": [{}], "pgd-10": [{}]}, max_steps=7), AuditFolder(tmp_path))
    assert result["env"] == "Endless-v0"
    assert result["attacks"]["pgd-10"]["mean"] == pytest.approx(-7.0, rel=1e-4)
    assert result["attacks"]["none"]["cut_episodes"] == 6
    assert "never-ended" in flags(result)


def test_a_natural_return_far_from_training_is_flagged(tmp_path: Path, follower: MakeAgent) -> None:
    for trained, flagged in ((-1e-3, False), (500.0, True), (None, False)):
        result = audit(follower(), plan({"none": [{}]}), AuditFolder(tmp_path), training_return=trained)
        assert ("far-from-training" in flags(result)) is flagged


def test_a_stopped_audit_goes_on_with_what_is_missing(tmp_path: Path, follower: MakeAgent) -> None:
    whole = audit(follower(), plan(ATTACKS), AuditFolder(tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        audit(follower(), plan(ATTACKS), AuditFolder(tmp_path / "parts"), watch=Heard(stop_after=2))
    heard = Heard()
    assert audit(follower(), plan(ATTACKS), AuditFolder(tmp_path / "parts"), watch=heard) == whole
    assert (heard.kept, heard.run, heard.total) == (20, 10, 30)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 9},
        {"episodes": 7, "select_episodes": 5},
        {"threats": (Threat(0.4),)},
        {"threats": (Threat(0.5, "l2"),)},
        {"threats": (Threat(0.5, radii=(1, 0)),)},
        {"agent": 0.9},
        {},
    ],
    ids=str,
)
def test_a_changed_setting_is_run_anew(tmp_path: Path, change: dict[str, Any], follower: MakeAgent) -> None:
    before = plan({"none": [{}], "random": [{}]})
    audit(follower(), before, AuditFolder(tmp_path))
    heard = Heard()
    other = dataclasses.replace(before, **{k: v for k, v in change.items() if k != "agent"})
    audit(follower(gain=change.get("agent", 1.0)), other, AuditFolder(tmp_path), watch=heard)
    natural = 10 if change.get("threats") == (Threat(0.4),) else 0  # the same without attack at every radius
    assert heard.kept == (natural if change else 20)
    assert heard.run == heard.total - heard.kept


def test_a_damaged_part_is_made_again(tmp_path: Path, follower: MakeAgent) -> None:
    first = audit(follower(), plan({"random": [{}]}), AuditFolder(tmp_path))
    (part,) = tmp_path.glob("*.json")
    for damage in (b"", b"[]", b'{"key": 1, "result": {}}', part.read_bytes()[:100]):
        part.write_bytes(damage)
        heard = Heard()
        assert audit(follower(), plan({"random": [{}]}), AuditFolder(tmp_path), watch=heard) == first
        assert heard.run == 6


def test_the_digest_sees_every_part_of_an_agent(follower: MakeAgent, fresh_agent: MakeAgent) -> None:
    agent = follower()
    moved = dataclasses.replace(agent, normaliser=agent.normaliser._replace(mean=np.array([0.0, 1e-9])))
    critic = dataclasses.replace(agent, critics={"value": fresh_agent("GoHome-v0").policy})
    assert agent.digest() == follower().digest()
    assert len({a.digest() for a in (agent, moved, critic, follower(gain=1.5))}) == 4


def test_what_does_not_apply_is_skipped_in_suites_and_an_error_by_name(tmp_path: Path, follower: MakeAgent) -> None:
    attacks = {"none": [{}], "minbest": [{}], "critic": [{}], "sa-rl": [{}]}
    result = audit(follower(), plan(attacks, suite="atari-v1"), AuditFolder(tmp_path))
    assert list(result["attacks"]) == ["none"]
    assert result["skipped"]["minbest"] == "it is for discrete actions, the agent's are continuous"
    assert "no value critic" in result["skipped"]["critic"]
    assert set(result["skipped"]) == {"minbest", "critic", "sa-rl"}
    for name in ("minbest", "critic", "sa-rl", "trained"):
        with pytest.raises(UserError, match=f"{name} does not apply"):
            audit(follower(), attack_plan([name], (Threat(0.1),)), AuditFolder(tmp_path))


def test_another_environment_must_fit(tmp_path: Path, follower: MakeAgent) -> None:
    with pytest.raises(UserError, match=r"Hopper-v4 shows and takes other arrays .* than the agent's Follow-v0"):
        audit(follower(), plan({"none": [{}]}, env="Hopper-v4"), AuditFolder(tmp_path))


def test_attacks_on_actions(tmp_path: Path, follower: MakeAgent, fresh_agent: MakeAgent) -> None:
    result = audit(follower(), plan({"none": [{}], "action-random": [{}]}), AuditFolder(tmp_path))
    row = result["attacks"]["action-random"]
    assert row["mean"] == pytest.approx(-0.5 * LENGTH, rel=0.2)
    assert row["eps_units"] == "l_inf, units of actions"
    coins = audit(fresh_agent("GoHomeDiscrete-v0"), plan({"action-random": [{}]}, 1.0), AuditFolder(tmp_path))
    assert "probability" in coins["attacks"]["action-random"]["eps_units"]
    assert coins["attacks"]["action-random"]["budget_used"] == pytest.approx(7 / 8, abs=0.1)


def test_robust_sarsa_hands_its_critic_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follower: MakeAgent) -> None:
    monkeypatch.setattr(attack_context, "ROLLOUT_STEPS", 4096)
    grid = [{"radius": 0.05, "reg": reg} for reg in (1000.0, 0.1)]
    attacks = {"none": [{}], "random": [{}], "robust-sarsa": grid, "rs-mad": [{"weight": 0.5}]}
    result = audit(follower(), plan(attacks), AuditFolder(tmp_path))
    rows = result["attacks"]
    assert rows["rs-mad"]["parameters"] == {**rows["robust-sarsa"]["parameters"], "weight": 0.5}
    assert rows["robust-sarsa"]["mean"] < rows["random"]["mean"]
    assert rows["rs-mad"]["mean"] < rows["random"]["mean"]
    assert len(rows["robust-sarsa"]["grid"]) == 2


def test_a_worst_critic_attacks_and_teaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follower: MakeAgent
) -> None:
    monkeypatch.setattr(attack_context, "WORST_STEPS", 512)
    tiny = {"n_envs": 4, "n_steps": 32, "minibatches": 2, "policy_lr": 1e-5, "init_std": 0.1, "steps": 128}
    attacks = {
        "random": [{}],
        "worst-critic": [{"explorations": 1}],
        "sa-rl": [tiny, {**tiny, "guide": 1}],
    }
    result = audit(follower(), plan(attacks, select_episodes=6), AuditFolder(tmp_path), train_for_audit)
    rows = result["attacks"]
    assert rows["worst-critic"]["mean"] < 1.3 * rows["random"]["mean"]
    assert rows["worst-critic"]["predicted"] == pytest.approx(rows["worst-critic"]["mean_discounted"], rel=0.25)
    untaught, taught = (entry["mean"] for entry in rows["sa-rl"]["grid"])
    assert taught < 1.3 * rows["random"]["mean"] < untaught


def test_the_tables_in_markdown(tmp_path: Path, follower: MakeAgent) -> None:
    result = audit(follower(), plan({"none": [{}], "pgd-10": [{}]}, 0.5, 1.0), AuditFolder(tmp_path))
    text = markdown(result)
    assert "# Audit of by hand on Follow-v0" in text
    assert text.count("| attack | mean |") == 2
    assert "| **pgd-10** (worst) | -20.0 | 0.0 |" in text
    assert "**few-episodes**" in text


def test_the_python_door(follower: MakeAgent) -> None:
    result = wocar.audit(follower(), attacks=["none", "pgd-10"], eps=0.5, episodes=3, seed=2)
    assert result["attacks"]["pgd-10"]["mean"] == pytest.approx(-10.0, rel=1e-4)
    assert {"command", "versions", "machine"} <= set(result)
    assert result["suite"] is None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wocar.nothing  # noqa: B018
