"""Gymnasium's MuJoCo tasks as data: model, observation, reward, health and start of each."""

from math import inf, nextafter
from typing import NamedTuple

import numpy as np


class Part(NamedTuple):
    """Rows `first` to `last` of an MjData field, flattened, as a part of an observation."""

    field: str
    first: int = 0
    last: int | None = None
    limit: float | None = None
    """Values are cut to [-limit, limit]."""
    function: np.ufunc | None = None
    body: str | None = None
    """The row of this body (fields of bodies)."""
    minus: str | None = None
    """What is subtracted: the row of this body."""


class Speed(NamedTuple):
    """weight · speed along x + alive − ctrl · |action|² − contact cost."""

    ctrl: float
    weight: float = 1.0
    of: str = "root"
    """"root": the first coordinate; "torso": the body of that name; "mass": the centre of mass."""
    alive: float = 0.0
    alive_when_unhealthy: bool = True
    contact: float = 0.0
    contact_limit: float | None = None
    """Contact forces are cut to [-limit, limit] before they are squared and summed."""
    cost_limit: float = inf
    """What the contact cost is at most."""
    float64: bool = False
    """Actions are squared in double precision, as the simulator keeps them."""


class Height(NamedTuple):
    """height / time step − ctrl · |action|² − min(contact · |force|², cost_limit) + 1."""

    ctrl: float
    contact: float
    cost_limit: float


class Distance(NamedTuple):
    """− Σ weight · distance of two bodies − ctrl · |action|²."""

    pairs: tuple[tuple[str, str, float], ...]
    ctrl: float
    after: bool
    """Whether distances are those after the step or before it."""


class Start(NamedTuple):
    """Noise on the model's own pose and rest."""

    noise: float
    normal: bool = False
    """Noise on velocities is normal, not uniform."""
    draw: str = "noise"
    """A name in `starts.STARTS`."""


class Health(NamedTuple):
    """An episode ends where a coordinate (positions, then velocities) leaves its open interval."""

    intervals: dict[int, tuple[float, float]]
    others: tuple[float, float] | None = None
    """The interval of all later coordinates that have none of their own."""


class Task(NamedTuple):
    model: str
    frame_skip: int
    observation: tuple[Part, ...]
    reward: Speed | Height | Distance
    start: Start
    health: Health | None = None
    max_steps: int = 1000

    @property
    def contact_forces(self) -> bool:
        return any(part.field == "cfrc_ext" for part in self.observation) or getattr(self.reward, "contact", 0) > 0

    @property
    def derived(self) -> bool:
        """Whether more than positions and velocities is looked at."""
        shown = {part.field for part in self.observation} <= {"qpos", "qvel"}
        return not (shown and isinstance(self.reward, Speed) and self.reward.of == "root")


def _state(hidden: int, limit: float | None = None) -> tuple[Part, ...]:
    """Positions but the first `hidden`, velocities."""
    return Part("qpos", hidden), Part("qvel", limit=limit)


def _humanoid(bodies: int, joints: int) -> tuple[Part, ...]:
    """State, inertias, velocities and forces, without the first so many bodies and joints."""
    forces = Part("qfrc_actuator", joints), Part("cfrc_ext", bodies)
    return *_state(2), Part("cinert", bodies), Part("cvel", bodies), *forces


def _reacher(last: int) -> tuple[Part, ...]:
    angles = Part("qpos", 0, 2, function=np.cos), Part("qpos", 0, 2, function=np.sin)
    return *angles, Part("qpos", 2), Part("qvel", 0, 2), Part("xpos", 0, last, body="fingertip", minus="target")


_HOPPER_HEALTH = Health({1: (0.7, inf), 2: (-0.2, 0.2)}, others=(-100.0, 100.0))
_WALKER_HEALTH = Health({1: (0.8, 2.0), 2: (-1.0, 1.0)})
_ANT_HEALTH = Health({2: (nextafter(0.2, -inf), nextafter(1.0, inf))}, others=(-inf, inf))
_HUMANOID_HEALTH = Health({2: (1.0, 2.0)})

_HOPPER = Task("hopper.xml", 4, _state(1, 10.0), Speed(1e-3, alive=1.0), Start(5e-3), _HOPPER_HEALTH)
_WALKER = Task("walker2d.xml", 4, _state(1, 10.0), Speed(1e-3, alive=1.0), Start(5e-3), _WALKER_HEALTH)
_CHEETAH = Task("half_cheetah.xml", 5, _state(1), Speed(0.1), Start(0.1, normal=True))
_SWIMMER = Task("swimmer.xml", 4, _state(2), Speed(1e-4), Start(0.1))
_ANT_SPEED = Speed(0.5, of="torso", alive=1.0, contact=5e-4, contact_limit=1.0)
_ANT_STATE = Task(
    "ant.xml", 5, _state(2), _ANT_SPEED._replace(contact=0.0), Start(0.1, normal=True), health=_ANT_HEALTH
)
_ANT = _ANT_STATE._replace(observation=(*_state(2), Part("cfrc_ext", limit=1.0)), reward=_ANT_SPEED)
_HUMANOID_SPEED = Speed(0.1, 1.25, "mass", alive=5.0, float64=True)
_HUMANOID = Task("humanoid.xml", 5, _humanoid(0, 0), _HUMANOID_SPEED, Start(0.01), _HUMANOID_HEALTH)
_STANDUP = Task("humanoidstandup.xml", 5, _humanoid(0, 0), Height(0.1, 5e-7, 10.0), Start(0.01))
_REACH = Distance((("fingertip", "target", 1.0),), ctrl=1.0, after=False)
_REACHER = Task("reacher.xml", 2, _reacher(3), _REACH, Start(0.1, draw="reacher"), max_steps=50)
_PUSHER = Task(
    "pusher_v5.xml",
    5,
    (
        *(Part("qpos", 0, 7), Part("qvel", 0, 7)),
        *(Part("xpos", body=name) for name in ("tips_arm", "object", "goal")),
    ),
    Distance((("object", "goal", 1.0), ("object", "tips_arm", 0.5)), ctrl=0.1, after=True),
    Start(0.005, draw="pusher"),
    max_steps=100,
)


def _honest(task: Task) -> Task:
    """Version 5: no reward for being alive where unhealthy."""
    return task._replace(reward=task.reward._replace(alive_when_unhealthy=False))  # type: ignore[call-arg]


_IMPACT = _HUMANOID._replace(reward=_HUMANOID_SPEED._replace(contact=5e-7, cost_limit=10.0))

TASKS: dict[str, Task] = {
    "Hopper-v4": _HOPPER,
    "Hopper-v5": _honest(_HOPPER),
    "Walker2d-v4": _WALKER,
    "Walker2d-v5": _honest(_WALKER)._replace(model="walker2d_v5.xml"),
    "HalfCheetah-v4": _CHEETAH,
    "HalfCheetah-v5": _CHEETAH,
    "Swimmer-v4": _SWIMMER,
    "Swimmer-v5": _SWIMMER,
    "Ant-v4": _ANT,
    "Ant-v5": _honest(_ANT)._replace(observation=(*_state(2), Part("cfrc_ext", 1, limit=1.0))),
    "Ant27-v4": _ANT_STATE,
    "Humanoid-v4": _HUMANOID,
    "Humanoid-v5": _honest(_IMPACT)._replace(observation=_humanoid(1, 6)),
    "HumanoidStandup-v4": _STANDUP,
    "HumanoidStandup-v5": _STANDUP._replace(observation=_humanoid(1, 6)),
    "Reacher-v4": _REACHER,
    "Reacher-v5": _REACHER._replace(observation=_reacher(2), reward=_REACH._replace(after=True)),
    "Pusher-v5": _PUSHER,
}
"""Ids as in Gymnasium, but Ant-v4 shows contact forces, as in the papers (111 numbers); Ant27-v4 does not."""
TASKS |= {f"{name}-v3": TASKS[f"{name}-v4"] for name in ("Hopper", "Walker2d", "HalfCheetah", "Swimmer", "Ant")}
TASKS["Humanoid-v3"] = _IMPACT
