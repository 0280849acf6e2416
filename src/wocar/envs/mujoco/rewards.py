"""Rewards of the MuJoCo tasks, of all environments at once, in the order of operations of Gymnasium's."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from wocar.envs.mujoco.simulations import Simulations
from wocar.envs.mujoco.tasks import Distance, Height, Speed, Task


class Reward(Protocol):
    def before(self) -> np.ndarray | None:
        """What has to be known of the state before a step."""

    def after(self, before: np.ndarray | None, actions: np.ndarray, healthy: np.ndarray) -> np.ndarray:
        """Rewards (n,) of a step that has been made."""


def make_reward(task: Task, simulations: Simulations) -> Reward:
    if isinstance(task.reward, Speed):
        return SpeedReward(task.reward, simulations, task.frame_skip * simulations.model.opt.timestep)
    if isinstance(task.reward, Height):
        return HeightReward(task.reward, simulations)
    return DistanceReward(task.reward, simulations)


class SpeedReward:
    def __init__(self, terms: Speed, simulations: Simulations, dt: float) -> None:
        self._terms, self._dt, self._position = terms, dt, POSITIONS[terms.of](simulations)
        self._forces = simulations.field("cfrc_ext") if terms.contact else None

    def before(self) -> np.ndarray:
        return self._position().copy()

    def after(self, before: np.ndarray | None, actions: np.ndarray, healthy: np.ndarray) -> np.ndarray:
        terms = self._terms
        reward = self._position() - before
        reward /= self._dt
        if terms.weight != 1.0:
            reward *= terms.weight
        if terms.alive:
            reward += terms.alive if terms.alive_when_unhealthy else terms.alive * healthy
        cost = terms.ctrl * squares(actions.astype(np.float64) if terms.float64 else actions)
        if self._forces is not None:
            cost = cost + contact_cost(self._forces, terms.contact, terms.contact_limit, terms.cost_limit)
        reward -= cost
        return reward


class HeightReward:
    def __init__(self, terms: Height, simulations: Simulations) -> None:
        self._terms, self._height, self._dt = terms, simulations.qpos[:, 2], simulations.model.opt.timestep
        self._forces = simulations.field("cfrc_ext")

    def before(self) -> None:
        return None

    def after(self, before: np.ndarray | None, actions: np.ndarray, healthy: np.ndarray) -> np.ndarray:
        terms = self._terms
        cost = contact_cost(self._forces, terms.contact, None, terms.cost_limit)
        return self._height / self._dt - terms.ctrl * squares(actions.astype(np.float64)) - cost + 1


class DistanceReward:
    def __init__(self, terms: Distance, simulations: Simulations) -> None:
        self._terms, places = terms, simulations.field("xpos")
        self._pairs = [(places[:, simulations.body(a)], places[:, simulations.body(b)], w) for a, b, w in terms.pairs]

    def before(self) -> np.ndarray | None:
        return None if self._terms.after else self._distances()

    def after(self, before: np.ndarray | None, actions: np.ndarray, healthy: np.ndarray) -> np.ndarray:
        distances = self._distances() if before is None else before
        return -distances - self._terms.ctrl * squares(actions)

    def _distances(self) -> np.ndarray:
        return np.sum([weight * np.sqrt(squares(a - b)) for a, b, weight in self._pairs], axis=0)


def squares(x: np.ndarray) -> np.ndarray:
    """|x|² of each row."""
    return np.add.reduce(x * x, axis=1)


def contact_cost(forces: np.ndarray, weight: float, limit: float | None, most: float) -> np.ndarray:
    """weight · |forces|² (n,), the forces (n, bodies, 6) cut to [-limit, limit], the cost to `most`."""
    flat = forces.reshape(len(forces), -1)
    if limit is not None:
        flat = np.clip(flat, -limit, limit)
    return np.minimum(weight * squares(flat), most)


def _root(simulations: Simulations) -> Callable[[], np.ndarray]:
    x = simulations.qpos[:, 0]
    return lambda: x


def _torso(simulations: Simulations) -> Callable[[], np.ndarray]:
    x = simulations.field("xpos")[:, simulations.body("torso"), 0]
    return lambda: x


def _centre_of_mass(simulations: Simulations) -> Callable[[], np.ndarray]:
    x, mass = simulations.field("xipos")[:, :, 0], simulations.model.body_mass
    total = mass.sum()
    return lambda: x @ mass / total


POSITIONS: dict[str, Callable[[Simulations], Callable[[], np.ndarray]]] = {
    "root": _root,
    "torso": _torso,
    "mass": _centre_of_mass,
}
"""Whose speed along x a reward counts: a function that reads the positions (n,)."""
