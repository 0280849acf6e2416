"""Sensors of an agent: what each dimension of its observations is, measured, and a threat written in their units."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.envs import make_env
from wocar.envs.names import observation_names
from wocar.files import read_regular
from wocar.networks import reset_state
from wocar.networks.normaliser import affine
from wocar.threat import Threat
from wocar.types import EnvSpec, UserError

N_ENVS = 8
MOST_BYTES = 1_000_000
KEYS = {"units", "norm", "eps", "sensor"}
SENSOR_KEYS = {"name", "index", "radius", "attack", "low", "high", "std"}


class Sensor(NamedTuple):
    name: str
    low: float
    high: float
    """Lowest and highest reading in the agent's own episodes."""
    std: float
    radius: float
    """How far an attacker may move it, in its own units."""


def measure_sensors(agent: Agent, threat: Threat, steps: int = 4000, seed: int = 0) -> list[Sensor]:
    """Every dimension of a vector, with the radius that the threat gives it."""
    if len(agent.spec.obs_shape) != 1:
        raise UserError(f"{agent.spec.id} shows images, which have one radius for all pixels: eps in units of 1/255")
    seen = _observations(agent, steps, seed)
    ball = threat.ball_for(agent)
    raw = np.asarray(ball.radius(np.zeros((1, *agent.spec.obs_shape)))) * affine(agent.normaliser)[1]
    radii = np.broadcast_to(raw, (1, *agent.spec.obs_shape))[0]
    names = observation_names(agent.spec.id, agent.spec.obs_shape[0])
    columns = zip(names, seen.min(axis=0), seen.max(axis=0), seen.std(axis=0), radii, strict=True)
    return [Sensor(name, *map(float, numbers)) for name, *numbers in columns]


def template(env: str, sensors: Sequence[Sensor]) -> str:
    """A TOML file that `read_threat` reads: the radii of a threat, to be edited."""
    lines = [
        f"# What an attacker may do to each sensor of {env}, in the units of the observation.",
        "# Edit the radii; 0, attack = false or no entry: it cannot be changed.",
        "# wocar audit AGENT --sensors FILE, wocar harden AGENT --sensors FILE --out DIR",
        'units = "raw"',
        'norm = "linf"',
        "eps = 1.0  # multiplies every radius",
    ]
    for i, sensor in enumerate(sensors):
        lines += ["", "[[sensor]]", f"name = {_text(sensor.name)}", f"index = {i}", f"radius = {sensor.radius:.6g}"]
        lines += [f"low = {sensor.low:.6g}  # lowest, highest, standard deviation in the agent's episodes"]
        lines += [f"high = {sensor.high:.6g}", f"std = {sensor.std:.6g}"]
    return "\n".join(lines) + "\n"


def image_template(env: str) -> str:
    about = f"# What an attacker may do to each pixel of {env}, which are numbers from 0 to 255."
    return f'{about}\nunits = "raw"\neps = 1.0\n'


def read_threat(path: Path | str, spec: EnvSpec) -> Threat:
    """The threat of a file that `template` wrote and somebody edited."""
    try:
        data = tomllib.loads(read_regular(Path(path), MOST_BYTES).decode())
    except (ValueError, RecursionError) as error:
        raise UserError(f"cannot read {path}: {' '.join(str(error).split())}") from error
    if unknown := data.keys() - KEYS:
        raise UserError(f"{path}: unknown setting {min(unknown)}; there are {', '.join(sorted(KEYS))}")
    sensors, radii = data.get("sensor", []), None
    if sensors:
        radii = np.zeros(int(np.prod(spec.obs_shape)))
        for place, sensor in enumerate(sensors):
            _put(radii, sensor, place, path)
    known: dict[str, Any] = {"units": data.get("units", "raw"), "norm": data.get("norm", "linf")}
    threat = Threat(_number(data.get("eps", 1.0), "eps", path), radii=None if radii is None else tuple(radii), **known)
    threat.check_dimensions(spec)
    return threat


def _put(radii: np.ndarray, sensor: Any, place: int, path: Path | str) -> None:
    if not isinstance(sensor, dict) or (sensor.keys() - SENSOR_KEYS):
        raise UserError(f"{path}: sensor {place} may have {', '.join(sorted(SENSOR_KEYS))} only")
    index = sensor.get("index", place)
    if type(index) is not int or not 0 <= index < len(radii):
        raise UserError(f"{path}: sensor {place} has index {index!r}; the observation has {len(radii)} dimensions")
    if sensor.get("attack", True):
        radii[index] = _number(sensor.get("radius", 0.0), f"radius of sensor {place}", path)


def _number(value: Any, what: str, path: Path | str) -> float:
    """A number, also as a text like "1/255"."""
    try:
        number = _fraction(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, ArithmeticError):
        raise UserError(f"{path}: {what} must be a number from 0 up, not {value!r}") from None
    if not (np.isfinite(number) and number >= 0):
        raise UserError(f"{path}: {what} must be a number from 0 up, not {value!r}")
    return number


def _fraction(text: str) -> float:
    """The value of "1/255" or "0.1"; of numbers, not of texts that write a large one."""
    above, slash, below = text.partition("/")
    return float(above) / float(below) if slash else float(above)


def _observations(agent: Agent, steps: int, seed: int) -> np.ndarray:
    """Raw observations of the agent's own episodes, (steps, size)."""
    env = make_env(agent.spec.id, N_ENVS, seed, stream=2)
    try:
        obs, memory, seen = env.reset(), agent.start(N_ENVS), []
        for _ in range(-(-steps // N_ENVS)):
            seen.append(np.array(obs))
            actions, memory = agent.step(agent.normaliser(obs), memory)
            step = env.step(actions)
            obs = step.obs
            if step.is_reset.any():
                memory = reset_state(memory, step.is_reset)
    finally:
        env.close()
    return np.concatenate(seen)


def _text(name: str) -> str:
    kept = "".join(c if c.isprintable() and c not in '"\\' else " " for c in name)
    return f'"{kept}"'
