"""First states of episodes, drawn in the order in which Gymnasium's environments draw them."""

from collections.abc import Callable

import numpy as np

from wocar.envs.mujoco.tasks import Start

Draw = Callable[[Start, np.random.Generator, np.ndarray, np.ndarray], None]


def noise(start: Start, rng: np.random.Generator, qpos: np.ndarray, qvel: np.ndarray) -> None:
    qpos += rng.uniform(-start.noise, start.noise, len(qpos))
    if start.normal:
        qvel += start.noise * rng.standard_normal(len(qvel))
    else:
        qvel += rng.uniform(-start.noise, start.noise, len(qvel))


def reacher(start: Start, rng: np.random.Generator, qpos: np.ndarray, qvel: np.ndarray) -> None:
    """A target within reach."""
    qpos += rng.uniform(-start.noise, start.noise, len(qpos))
    while np.linalg.norm(target := rng.uniform(-0.2, 0.2, 2)) >= 0.2:
        pass
    qpos[-2:] = target
    qvel += rng.uniform(-0.005, 0.005, len(qvel))
    qvel[-2:] = 0


def pusher(start: Start, rng: np.random.Generator, qpos: np.ndarray, qvel: np.ndarray) -> None:
    """An object not too near to where it belongs."""
    while np.linalg.norm(place := np.array([rng.uniform(-0.3, 0), rng.uniform(-0.2, 0.2)])) <= 0.17:
        pass
    qpos[-4:-2], qpos[-2:] = place, 0
    qvel += rng.uniform(-start.noise, start.noise, len(qvel))
    qvel[-4:] = 0


STARTS: dict[str, Draw] = {"noise": noise, "reacher": reacher, "pusher": pusher}
