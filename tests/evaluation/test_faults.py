"""Sensor faults: what each shows, by hand, and a suite of them beside attacks."""

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wocar
from wocar.attacks import Perturbation
from wocar.attacks.faults import FAULTS, Fault
from wocar.bounds import Ball
from wocar.evaluation.fault_suite import STRENGTHS, kept_returns
from wocar.evaluation.suites import attack_plan
from wocar.threat import Threat

ANYWHERE = Ball(np.inf)
POLICY: Any = ()


def make(name: str, strength: float, size: int = 4) -> Fault:
    return FAULTS[name](jnp.arange(1.0, size + 1), jnp.full(size, -9.0), strength)


def readings(fault: Fault, steps: int, n: int = 2, size: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """True and shown observations (steps, n, size)."""
    true = np.random.default_rng(0).normal(size=(steps, n, size)).astype(np.float32)
    carry, shown = fault.start(n), []
    for t, obs in enumerate(true):
        seen, carry = fault.perturb_carry(POLICY, ANYWHERE, jnp.asarray(obs), jax.random.key(t), carry)
        shown.append(np.asarray(seen))
    return true, np.array(shown)


def test_noise_has_the_size_of_each_sensor() -> None:
    true, shown = readings(make("sensor-noise", 0.1), 400)
    np.testing.assert_allclose((shown - true).std(axis=(0, 1)), 0.1 * np.arange(1, 5), rtol=0.1)


def test_dropout_reads_zero() -> None:
    true, shown = readings(make("sensor-dropout", 0.25), 200)
    lost = shown == -9.0
    assert 0.2 < lost.mean() < 0.3
    np.testing.assert_array_equal(shown[~lost], true[~lost])


def test_a_bias_stays_for_the_episode() -> None:
    true, shown = readings(make("sensor-bias", 0.5), 5)
    off = shown - true
    np.testing.assert_allclose(off, np.broadcast_to(off[0], off.shape), atol=1e-5)
    np.testing.assert_allclose(np.abs(off[0]), 0.5 * np.arange(1, 5) * np.ones((2, 1)), rtol=1e-4)


def test_stuck_sensors_stay_at_what_they_read_first() -> None:
    true, shown = readings(make("sensor-stuck", 2), 6)
    stuck = np.all(shown == shown[0], axis=0)
    np.testing.assert_array_equal(stuck.sum(axis=1), 2)
    np.testing.assert_array_equal(shown[:, ~stuck], true[:, ~stuck])


def test_delayed_readings_are_those_of_earlier_steps() -> None:
    true, shown = readings(make("sensor-delay", 2), 6)
    np.testing.assert_array_equal(shown[2:], true[:-2])
    np.testing.assert_array_equal(shown[:2], np.broadcast_to(true[0], (2, *true[0].shape)))


def test_quantised_readings_are_multiples() -> None:
    true, shown = readings(make("sensor-steps", 0.5), 6)
    multiples = shown / (0.5 * np.arange(1, 5))
    np.testing.assert_allclose(multiples, np.round(multiples), atol=1e-4)
    assert np.all(np.abs(shown - true) <= 0.25 * np.arange(1, 5) + 1e-5)


def test_an_episode_that_begins_forgets() -> None:
    perturb = Perturbation(make("sensor-delay", 1), ANYWHERE, 0)
    one, two = np.ones((2, 4), np.float32), np.full((2, 4), 2, np.float32)
    perturb(POLICY, one)
    perturb.reset(np.array([1]), 2)
    np.testing.assert_array_equal(perturb(POLICY, two), [[1] * 4, [2] * 4])


def test_an_audit_reports_faults_beside_attacks(follower: Any) -> None:
    names = ["none", "sensor-bias:1", "sensor-delay", "random-corner"]
    result = wocar.audit(follower(), attacks=names, eps=0.2, episodes=4)
    rows = result["attacks"]
    assert [rows[name]["family"] for name in names] == ["natural", "fault", "fault", "random"]
    assert rows["none"]["mean"] == pytest.approx(0, abs=1e-4)
    assert rows["sensor-bias:1"]["mean"] == pytest.approx(-20 / np.sqrt(3), rel=0.1)  # of what is uniform in ±1
    assert rows["sensor-delay"]["mean"] < rows["random-corner"]["mean"]
    assert kept_returns(result) == {}  # nothing to keep of a return of 0


def test_the_share_of_the_return_that_is_kept() -> None:
    rows: Any = {"none": {"mean": 200.0, "family": "natural"}, "random": {"mean": 0.0, "family": "random"}}
    rows |= {
        "sensor-noise:0.1": {"mean": 150.0, "family": "fault"},
        "sensor-noise:1": {"mean": 20.0, "family": "fault"},
    }
    assert kept_returns({"attacks": rows}) == {"sensor-noise": {0.1: 0.75, 1.0: 0.1}}  # type: ignore[typeddict-item]
    assert set(STRENGTHS) == set(FAULTS)


def test_mistakes_are_told(follower: Any) -> None:
    with pytest.raises(wocar.UserError, match="the strength of a fault is a number"):
        attack_plan(["sensor-noise:loud"], (Threat(0.1),))
    with pytest.raises(wocar.UserError, match="a fault of sensors, which no ball bounds"):
        wocar.AttackedObservation(gymnasium.make("Follow-v0"), follower(), "sensor-noise", 0.1)
