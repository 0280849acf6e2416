"""The threat model: its balls, its JSON, configs made from flat settings, its options on the command line."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.config_base import configured, flat_settings, setting_names
from wocar.mechanisms.growing_ball import GrowingBall
from wocar.mechanisms.policy_config import RobustConfig, WocarConfig
from wocar.mechanisms.q_config import RobustQConfig, WocarQConfig
from wocar.mechanisms.radial import RadialConfig
from wocar.networks import GaussianPolicy, Normaliser, PixelNormaliser, RunningNormaliser, ScaledNormaliser
from wocar.threat import Threat, meta_threat
from wocar.training.adversary_config import AdversaryConfig, AdversaryThreat, AttackConfig, DirectorConfig
from wocar.types import ActionSpace, EnvSpec, UserError


def agent(normaliser: Normaliser, shape: tuple[int, ...] = (3,)) -> Agent:
    spec = EnvSpec("Toy-v0", shape, ActionSpace(1, -np.ones(1), np.ones(1)))
    return Agent(spec, normaliser, GaussianPolicy.create(3, 1, jax.random.key(0)))


SCALED = ScaledNormaliser(np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 4.0]), 10.0)


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("radii", [None, (1.0, 0.0, 2.0)])
def test_raw_units_are_those_before_the_normaliser(norm, radii) -> None:
    """Points on the border of the ball in z, mapped back to o, differ from o by eps in the units of o."""
    threat = Threat(0.3, norm, units="raw", radii=radii)
    o = np.random.default_rng(0).normal(size=(50, 3))
    z = SCALED(o)
    shown = np.asarray(threat.ball_for(agent(SCALED)).sample_extreme(jax.random.key(0), z))
    moved = (shown - z) * SCALED.scale / (1.0 if radii is None else np.where(np.array(radii) > 0, radii, np.inf))
    np.testing.assert_allclose(np.linalg.norm(moved, np.inf if norm == "linf" else 2, axis=1), 0.3, rtol=1e-4)
    if radii is not None:
        np.testing.assert_array_equal(shown[:, 1], z[:, 1])


def test_a_normaliser_clips_what_a_raw_attack_gives_it() -> None:
    """A dimension that never changed is divided by almost nothing: what reaches the network is the clip."""
    still = RunningNormaliser.create((3,)).update(np.tile([1.0, 2.0, 3.0], (10, 1)))
    raw = Threat(0.1, units="raw").ball_for(agent(still))
    np.testing.assert_array_equal(raw.interval(jnp.zeros((1, 3))), [-10 * np.ones((1, 3)), 10 * np.ones((1, 3))])
    after = Threat(0.1).ball_for(agent(still))
    assert (after.low, after.scale) == (None, None)


def test_pixels() -> None:
    victim = agent(PixelNormaliser(), (1, 2, 2))
    for threat in (Threat(2.0, units="raw"), Threat(2 / 255)):
        for ball in (threat.ball_for(victim), threat.ball((0.0, 1.0))):
            assert ball.scale is None
            assert float(ball.eps) == pytest.approx(2 / 255)
            assert (ball.low, ball.high) == (0.0, 1.0)
    masked = Threat(0.1, radii=(1, 0, 0, 1)).ball_for(victim)
    np.testing.assert_allclose(masked.radius(jnp.zeros((1, 1, 2, 2))), [[[[0.1, 0], [0, 0.1]]]], rtol=1e-6)


def test_without_radii_and_units_there_is_no_scale() -> None:
    """The ball stays the plain one, whose programs are what they were."""
    ball, scheduled = Threat(0.3, "l2").ball_for(agent(SCALED)), Threat(0.3).ball(None, jnp.float32(0.1))
    assert (ball.scale, ball.low, ball.norm) == (None, None, "l2")
    assert float(scheduled.eps) == pytest.approx(0.1)


def test_a_scheduled_radius_keeps_the_rest() -> None:
    config = configured(WocarConfig, eps=0.4, norm="l2", radii=(1, 0, 2), eps_ramp=1.0, bound_eps=0.05)
    half, sets = config.ball(jnp.float32(0.5)), config.set_ball(jnp.float32(0.5))
    assert float(half.eps) == pytest.approx(0.2)
    assert float(sets.eps) == pytest.approx(0.05)
    for ball in (half, sets):
        assert ball.norm == "l2"
        np.testing.assert_array_equal(ball.scale, [1, 0, 2])
    grown = configured(GrowingBall, eps=0.4, units="raw").ball(jnp.float32(1.0), (0.0, 1.0))
    assert float(grown.eps) == pytest.approx(0.4 / 255)


def test_json_round_trip() -> None:
    for threat in (Threat(0.1), Threat(0.2, "l2", units="raw", radii=(0.0, 1.5)), Threat(0.3, on="action")):
        assert Threat.from_json(json.loads(json.dumps(threat.to_json()))) == threat
    with pytest.raises(UserError, match="is not a threat"):
        Threat.from_json({"radius": 1})


def test_the_threat_of_an_agent() -> None:
    assert meta_threat({}) is None
    assert meta_threat({"eps": 0.2}) == Threat(0.2)
    assert meta_threat({"attack": "sa-rl", "eps": 0.2, "norm": "l2"}) == Threat(0.2, "l2")
    assert meta_threat({"eps": 0.2, "threat": Threat(0.2, "l2").to_json()}) == Threat(0.2, "l2")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Threat(-1.0), "--eps must be a number from 0 up, not -1.0"),
        (lambda: Threat(float("nan")), "--eps must be a number"),
        (lambda: AdversaryThreat(float("inf")), "--adversary-eps must be a number"),
        (lambda: Threat(0.1, "l7"), "unknown norm 'l7'; norms: linf, l2"),  # type: ignore[arg-type]
        (lambda: Threat(0.1, on="reward"), "unknown threat"),  # type: ignore[arg-type]
        (lambda: Threat(0.1, units="inches"), "unknown units"),  # type: ignore[arg-type]
        (lambda: Threat(0.1, radii=(1, -1)), "--radii must be numbers from 0 up"),
        (lambda: Threat(0.1, "l2", on="action"), "attacks on actions know"),
        (lambda: Threat(0.1, radii=(1, 1)).ball_for(agent(SCALED)), "must be 3 numbers for Toy-v0, not 2"),
        (lambda: Threat(0.1, units="raw").check_training(agent(SCALED).spec, True), "--no-normalise-obs"),
        (lambda: Threat(0.1, radii=(1,) * 4).check_training(agent(SCALED, (1, 2, 2)).spec, False), "vectors"),
        (lambda: configured(RadialConfig, threat="action"), "not for this method"),
        (lambda: configured(RobustQConfig, threat="action"), "not for this method"),
        (lambda: configured(AttackConfig, victim=Path("x"), eps=0.1, threat="action"), "they move observations"),
    ],
)
def test_mistakes_are_told(make: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()


def test_configs_from_flat_settings() -> None:
    config = configured(WocarConfig, eps=0.3, norm="l2", kappa_reg=0.5)
    assert config == WocarConfig(threat=Threat(0.3, "l2"), kappa_reg=0.5)
    assert configured(config, eps=0.1, kappa_wst=0.2) == dataclasses.replace(
        config, threat=Threat(0.1, "l2"), kappa_wst=0.2
    )
    assert configured(WocarQConfig, threat="action").threat == Threat(0.1, on="action")
    assert configured(RobustConfig, norm="l2").threat == Threat(0.075, "l2")
    assert configured(RobustConfig, threat=Threat(0.2).to_json(), eps=0.3).threat == Threat(0.3)
    attack = configured(DirectorConfig, victim=Path("x"), eps=0.1, actor="pgd")
    assert attack == DirectorConfig(Path("x"), Threat(0.1), actor="pgd")
    rival = configured(AdversaryConfig, adversary_eps=0.2, adversary_norm="l2", adversary_ent_coef=0.1)
    assert rival == AdversaryConfig(adversary_threat=AdversaryThreat(0.2, "l2"), adversary_ent_coef=0.1)
    for made in (config, attack, rival, RobustQConfig(), RadialConfig()):
        assert configured(type(made), **flat_settings(made)) == made
        assert setting_names(type(made)) >= set(flat_settings(made))
    assert {"eps", "norm", "threat", "units", "radii"} <= setting_names(RobustConfig)
    assert {"adversary_eps", "adversary_norm"} <= setting_names(AdversaryConfig)
    with pytest.raises(TypeError, match="kappa"):
        configured(RobustConfig, kappa=1)


def test_settings_of_earlier_versions_are_read() -> None:
    """As run.json held them before there was a threat."""
    old = {"eps": 0.2, "eps_ramp": 0.5, "norm": "l2", "threat": "observation", "kappa_reg": 0.1}
    assert configured(RobustConfig, **old).threat == Threat(0.2, "l2")
    assert configured(RobustQConfig, eps=0.2, norm="linf").threat == Threat(0.2)
    assert configured(AdversaryConfig, adversary_eps=0.15, adversary_norm="linf").adversary_threat.eps == 0.15


def test_a_threat_is_static_data() -> None:
    """Hashable and comparable: programs compiled for a config are found again."""
    traces: list[Threat] = []

    @eqx.filter_jit
    def radius(threat: Threat) -> jax.Array:
        traces.append(threat)
        return threat.ball().eps

    for threat in (Threat(0.1), Threat(0.1), Threat(0.2)):
        assert float(radius(threat)) == pytest.approx(threat.eps)
    assert len(traces) == 2
