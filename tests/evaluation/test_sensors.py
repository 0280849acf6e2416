"""Sensors: the template has their names and units, and the edited file is the threat it says."""

import tomllib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

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


class Robot(gymnasium.Env):
    """Shows a dictionary with another one in it."""

    observation_space = spaces.Dict(
        {
            "arm": spaces.Dict({"angle": spaces.Box(-1, 1, (2,)), "load": spaces.Box(0, 9, (1,))}),
            "gear": spaces.Discrete(2, start=1),
            "heat": spaces.Box(0, 1, ()),
        }
    )
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        return {"arm": {"angle": np.float32([3, 4]), "load": np.float32([5])}, "gear": 2, "heat": np.float32(6)}, {}

    def step(self, action: Any) -> tuple[dict, float, bool, bool, dict]:
        return self.reset()[0], 0.0, False, False, {}


gymnasium.register("Robot-v0", Robot, max_episode_steps=5)


def test_numbers_of_a_dictionary_keep_its_keys(fresh_agent: Any) -> None:
    names = ["arm angle 0", "arm angle 1", "arm load", "gear = 1", "gear = 2", "heat"]
    assert observation_names("Robot-v0", 6) == names
    sensors = measure_sensors(fresh_agent("Robot-v0"), Threat(0.1), steps=16)
    assert {sensor.name: sensor.high for sensor in sensors} == dict(zip(names, [3, 4, 5, 0, 1, 6], strict=True))
    assert 'name = "arm load"' in template("Robot-v0", sensors)


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
        ('eps = "1e999999999"', "eps must be a number from 0 up"),
        (f"eps = {10**400}", "eps must be a number from 0 up"),
        (f"eps = {'[' * 3000}", "cannot read"),
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
