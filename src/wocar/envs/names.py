"""Names of the dimensions of an observation, as far as an environment tells them."""

import re

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import FlattenObservation

from wocar.envs.make import make_gymnasium_env

LANDER = ("x", "y", "x velocity", "y velocity", "angle", "angular velocity", "left leg", "right leg")
KNOWN = {
    "CartPole": ("cart position", "cart velocity", "pole angle", "pole angular velocity"),
    "Pendulum": ("cos of angle", "sin of angle", "angular velocity"),
    "MountainCar": ("position", "velocity"),
    "MountainCarContinuous": ("position", "velocity"),
    "LunarLander": ("x", "y", "x velocity", "y velocity", "angle", "angular velocity", "left leg", "right leg"),
    "LunarLanderContinuous": (
        "x",
        "y",
        "x velocity",
        "y velocity",
        "angle",
        "angular velocity",
        "left leg",
        "right leg",
    ),
}
FREE_JOINT = (("x", "y", "z", "qw", "qx", "qy", "qz"), ("vx", "vy", "vz", "wx", "wy", "wz"))


def observation_names(id: str, size: int) -> list[str]:
    """One name for each number of a vector; where the environment tells none, its index."""
    known = KNOWN.get(re.sub(r"-v\d+$", "", id), ())
    if len(known) == size:
        return list(known)
    env = make_gymnasium_env(id)
    try:
        names = _flattened_names(env, size) or _joint_names(env, size)
    finally:
        env.close()
    return names or [f"dimension {i}" for i in range(size)]


def _flattened_names(env: gymnasium.Env, size: int) -> list[str]:
    """Of an environment whose dictionaries were flattened: their keys, with an index where one has several numbers."""
    names = _space_names(env.unwrapped.observation_space) if isinstance(env, FlattenObservation) else []
    return names if len(names) == size else []


def _space_names(space: gymnasium.Space, name: str = "") -> list[str]:
    """In the order of `gymnasium.spaces.flatten`."""
    if isinstance(space, spaces.Dict):
        return [each for key, part in space.spaces.items() for each in _space_names(part, f"{name} {key}".strip())]
    if isinstance(space, spaces.Tuple):
        return [each for i, part in enumerate(space.spaces) for each in _space_names(part, f"{name} {i}".strip())]
    if isinstance(space, spaces.Discrete):
        return [f"{name} = {value}" for value in range(int(space.start), int(space.start + space.n))]
    if space.shape in ((), (1,)):
        return [name]
    return [f"{name} {i}" for i in range(spaces.flatdim(space))]


def _joint_names(env: gymnasium.Env, size: int) -> list[str]:
    """Of MuJoCo's tasks that show positions, but for the first ones, then velocities, then perhaps other things."""
    model, data = getattr(env.unwrapped, "model", None), getattr(env.unwrapped, "data", None)
    if model is None or data is None or not hasattr(model, "njnt"):
        return []
    obs = np.asarray(env.reset(seed=0)[0]).reshape(-1)
    positions: list[str] = []
    velocities: list[str] = []
    for k in range(model.njnt):
        joint = model.joint(k)
        free = len(joint.qpos0) == 7
        positions += [f"{joint.name} {part}" for part in FREE_JOINT[0]] if free else [joint.name]
        velocities += [f"{joint.name} {part}" for part in FREE_JOINT[1]] if free else [f"{joint.name} velocity"]
    for hidden in range(3):
        state = np.concatenate([data.qpos[hidden:], data.qvel])
        if len(state) <= size and len(positions) == model.nq and np.allclose(obs[: len(state)], state):
            names = [*positions[hidden:], *velocities]
            return [*names, *(f"dimension {i}" for i in range(len(names), size))]
    return []
