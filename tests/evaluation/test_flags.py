"""Every accusation is raised where it is due, and not where it is not."""

from typing import Any

import numpy as np
import pytest

from wocar.evaluation.estimate_flags import estimate_flags
from wocar.evaluation.flags import distinct, flags_of, improving


def row(mean: float, family: str = "gradient", **more: Any) -> dict[str, Any]:
    plain = {"mean": mean, "std": 10.0, "episodes": 50, "eps": 0.1, "family": family, "budget_used": 0.9}
    return plain | {"zero_gradients": 0.0} | more


def rungs(*means: float) -> list[dict[str, Any]]:
    return [{"mean": m, "std": 10.0, "episodes": 25, "seed": 1, "steps": 100 * (k + 1)} for k, m in enumerate(means)]


def sound() -> dict[str, dict[str, Any]]:
    return {
        "none": row(100.0, "natural", eps=0.0, budget_used=None, zero_gradients=None),
        "random": row(90.0, "random", budget_used=0.5, zero_gradients=None),
        "maxdiff": row(50.0, select={"mean": 49.0, "std": 10.0, "episodes": 20}),
        "sa-rl": row(30.0, "learned", training_curve=[100.0] * 5 + [30.0, 31.0] * 30),
    }


def names(rows: dict[str, dict[str, Any]], worst: str = "sa-rl", training_return: float | None = 95.0) -> list[str]:
    return [flag["flag"] for flag in flags_of(rows, worst, training_return)]


def test_a_sound_audit_is_not_accused() -> None:
    assert names(sound()) == []


@pytest.mark.parametrize(
    ("attack", "change", "flag"),
    [
        ("maxdiff", {"zero_gradients": 0.5}, "zero-gradients"),
        ("maxdiff", {"mean": 99.0, "select": {"mean": 98.0, "std": 10.0, "episodes": 20}}, "random-beats-gradient"),
        ("sa-rl", {"mean": 99.0}, "random-beats-gradient"),
        ("maxdiff", {"budget_used": 0.1}, "budget-unused"),
        ("maxdiff", {"select": {"mean": 20.0, "std": 10.0, "episodes": 20}}, "selection-disagrees"),
        ("maxdiff", {"select": {"mean": 80.0, "std": 10.0, "episodes": 20}}, "selection-disagrees"),
        ("maxdiff", {"mean": 10.0, "select": {"mean": 10.0, "std": 10.0, "episodes": 20}}, "selection-disagrees"),
        ("random", {"episodes": 5}, "few-episodes"),
        ("none", {"cut_episodes": 3, "max_steps": 1000}, "never-ended"),
        ("sa-rl", {"training_curve": list(np.linspace(100, 30, 50))}, "still-improving"),
        ("sa-rl", {"budget_curve": rungs(90.0, 60.0, 30.0)}, "not-converged"),
        ("none", {"mean": 60.0}, "far-from-training"),
        ("none", {"mean": 200.0}, "far-from-training"),
    ],
)
def test_each_flag(attack: str, change: dict[str, Any], flag: str) -> None:
    rows = sound()
    rows[attack] = rows[attack] | change
    assert flag in names(rows, worst="maxdiff" if change.get("mean") == 99.0 and attack == "sa-rl" else "sa-rl")


def test_flags_say_whom_where_and_why() -> None:
    rows = sound()
    rows["maxdiff"]["zero_gradients"] = 0.25
    (flag,) = flags_of(rows, "sa-rl")
    assert (flag["flag"], flag["attack"], flag["eps"]) == ("zero-gradients", "maxdiff", 0.1)
    assert "25%" in flag["text"]


def test_an_attacker_whose_last_steps_gain_nothing_or_who_is_not_the_strongest_has_converged() -> None:
    rows = sound()
    rows["sa-rl"]["budget_curve"] = rungs(90.0, 32.0, 30.0)
    assert names(rows) == []
    rows["sa-rl"]["budget_curve"] = rungs(90.0, 60.0, 30.0)
    rows["pa-ad"] = row(10.0, "learned", budget_curve=rungs(40.0, 10.0, 10.0))
    assert names(rows, worst="pa-ad") == []


def test_no_radius_means_no_budget_to_use() -> None:
    rows = {name: r | {"eps": 0.0, "budget_used": 0.0, "zero_gradients": 1.0} for name, r in sound().items()}
    assert names(rows) == []


def test_an_attacker_improves_only_if_more_than_noise_falls_at_the_end() -> None:
    rng = np.random.default_rng(0)
    settled = np.concatenate([np.linspace(100, 30, 20), np.full(30, 30.0)]) + rng.normal(0, 2, 50)
    falling = np.linspace(100, 30, 50) + rng.normal(0, 2, 50)
    assert not improving(settled)
    assert improving(falling)
    assert not improving(falling[::-1])  # it got weaker
    assert not improving(np.full(50, 100.0) + rng.normal(0, 2, 50))
    assert not improving([])


def test_flags_of_several_radii_come_once() -> None:
    flag = {"flag": "few-episodes", "attack": "none", "text": "5 episodes", "eps": 0.0}
    assert distinct([flag, dict(flag), flag | {"text": "6 episodes"}]) == [flag, flag | {"text": "6 episodes"}]


def estimated(natural: float, value: float, achieved: float, measured: float = 100.0) -> dict[str, Any]:
    rows = [{"eps": 0.0, "value": natural, "start": {"achieved": natural}}]
    rows += [{"eps": 0.1, "value": value, "start": {"achieved": achieved}}]
    return {"env": "HalfCheetah-v4", "natural_measured": measured, "radii": rows}


def test_estimates_are_checked_where_the_answer_is_known() -> None:
    def found(result: dict[str, Any], raw: float = 0.0) -> list[str]:
        return [flag["flag"] for flag in estimate_flags(result, raw)]

    assert found(estimated(95.0, 20.0, 25.0)) == []
    assert found(estimated(4.8, 2.0, 2.0, measured=158.0)) == ["natural-missed"]
    assert found(estimated(95.0, 8.2, -231.0)) == ["above-achieved"]
    assert found(estimated(95.0, 20.0, 25.0), raw=0.3) == ["actions-beyond-range"]
