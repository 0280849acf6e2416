"""Sensors: the template has their names and units, and the edited file is the threat it says."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wocar
from wocar.cli import main
from wocar.envs.names import observation_names
from wocar.evaluation.sensors import image_template, measure_sensors, read_threat, template
from wocar.networks import ScaledNormaliser
from wocar.threat import Threat


def test_names_that_environments_tell() -> None:
    assert observation_names("CartPole-v1", 4)[2] == "pole angle"
    hopper = observation_names("Hopper-v5", 11)
    assert (hopper[0], hopper[1], hopper[5], hopper[10]) == ("rootz", "rooty", "rootx velocity", "foot_joint velocity")
    assert observation_names("Ant-v5", 105)[:2] == ["root z", "root qw"]
    assert observation_names("Ant-v5", 105)[104] == "dimension 104"


def test_the_template_is_the_threat_it_was_written_from(tmp_path: Path, fresh_agent: Any) -> None:
    agent = fresh_agent("CartPole-v1")
    agent.normaliser = ScaledNormaliser(np.zeros(4), np.array([1.0, 2.0, 3.0, 4.0]))
    threat = Threat(0.1, radii=(1.0, 1.0, 0.0, 2.0))
    sensors = measure_sensors(agent, threat, steps=80)
    np.testing.assert_allclose([sensor.radius for sensor in sensors], [0.1, 0.2, 0.0, 0.8], rtol=1e-5)
    assert all(sensor.low <= sensor.high and sensor.std >= 0 for sensor in sensors)
    (tmp_path / "sensors.toml").write_text(template(agent.spec.id, sensors))
    again = read_threat(tmp_path / "sensors.toml", agent.spec)
    balls = [t.ball_for(agent).radius(np.zeros((1, 4))) for t in (threat, again)]
    np.testing.assert_allclose(*balls, rtol=1e-5)


def test_masks_and_fractions(tmp_path: Path, fresh_agent: Any) -> None:
    spec = fresh_agent("CartPole-v1").spec
    file = tmp_path / "sensors.toml"
    file.write_text('eps = "1/2"\n[[sensor]]\nindex = 2\nradius = "1/255"\n[[sensor]]\nradius = 3\nattack = false\n')
    threat = read_threat(file, spec)
    assert (threat.eps, threat.units) == (0.5, "raw")
    assert threat.radii == (0.0, 0.0, 1 / 255, 0.0)
    assert tomllib.loads(image_template("Pong-v5")) == {"units": "raw", "eps": 1.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("eps = ", "cannot read"),
        ("laser = 1", "unknown setting laser"),
        ("eps = -1", "eps must be a number from 0 up"),
        ('eps = "1/0"', "eps must be a number from 0 up"),
        ('units = "miles"', "unknown units 'miles'"),
        ("[[sensor]]\nindex = 9", "sensor 0 has index 9; the observation has 4 dimensions"),
        ("[[sensor]]\ncolour = 9", "sensor 0 may have"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, fresh_agent: Any, text: str, words: str) -> None:
    (tmp_path / "sensors.toml").write_text(text)
    with pytest.raises(wocar.UserError, match=words):
        read_threat(tmp_path / "sensors.toml", fresh_agent("CartPole-v1").spec)


def test_from_the_command_to_an_audit(tmp_path: Path, fresh_agent: Any) -> None:
    fresh_agent("CartPole-v1").save(tmp_path / "agent")
    file = tmp_path / "sensors.toml"
    with pytest.raises(SystemExit) as stop:
        main(["sensors", str(tmp_path / "agent"), "--eps", "1/10", "--steps", "16", "--out", str(file)])
    assert not stop.value.code
    result = wocar.audit(tmp_path / "agent", attacks=["random"], sensors=file, episodes=2)
    assert result["threat"]["units"] == "raw"
    assert result["threat"]["radii"] == [0.1, 0.1, 0.1, 0.1]
