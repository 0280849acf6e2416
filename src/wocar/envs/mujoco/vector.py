"""Vector environment of a MuJoCo task: physics, observations, rewards and ends as Gymnasium's, from the same seeds.

The simulations move in one call on a pool of threads; the rest is arithmetic on arrays of all environments.
"""

from collections.abc import Callable

import numpy as np

from wocar.envs.mujoco.rewards import make_reward
from wocar.envs.mujoco.simulations import Simulations
from wocar.envs.mujoco.starts import STARTS
from wocar.envs.mujoco.tasks import TASKS, Health, Part
from wocar.types import ActionSpace, EnvSpec, Step


class MujocoVector:
    """`seeds`: one for each environment. The number of threads changes no result."""

    def __init__(self, id: str, seeds: list[int], threads: int = 2) -> None:
        task, self.n = TASKS[id], len(seeds)
        self._task, self._draw, self._derived = task, STARTS[task.start.draw], task.derived
        self._simulations = Simulations(task.model, self.n, threads, task.contact_forces)
        self._rngs = [np.random.default_rng(seed) for seed in seeds]
        self._parts = [_Source(part, self._simulations) for part in task.observation]
        self._reward = make_reward(task, self._simulations)
        self._healthy = health_check(task.health, self._simulations)
        self._all = np.arange(self.n)
        self._ended, self._age = np.zeros(self.n, bool), np.zeros(self.n, np.int32)

        model = self._simulations.model
        self._actions = np.zeros((self.n, model.nu), np.float32)
        low, high = model.actuator_ctrlrange.astype(np.float32).T
        shape = (sum(part.width for part in self._parts),)
        self.spec = EnvSpec(id, shape, ActionSpace(model.nu, low, high), task.max_steps)

    def reset(self) -> np.ndarray:
        self._restart(self._all)
        return self._observe()

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        if ids is not None and len(ids) == self.n and (ids == self._all).all():
            ids = None
        if ids is None:
            anew = self._ended.copy()
            moves = None if not anew.any() else ~anew
        else:
            actions = self._spread(actions, ids)
            moves = np.zeros(self.n, bool)
            moves[ids] = True
            anew = moves & self._ended
            moves ^= anew
        before = self._reward.before()
        self._move(actions, moves)
        if restarts := moves is not None and bool(anew.any()):
            self._restart(np.flatnonzero(anew))
        healthy = self._healthy()
        rewards = self._reward.after(before, actions, healthy).astype(np.float32)
        truncated = self._age >= self._task.max_steps
        truncated &= healthy
        terminated = ~healthy
        if restarts:
            rewards[anew], terminated[anew] = 0.0, False
        step = Step(self._observe(), rewards, terminated, truncated, anew)
        if ids is None:
            np.logical_or(terminated, truncated, out=self._ended)
            return step
        step = Step(*(x[ids] for x in step[:5]))
        self._ended[ids] = step.terminated | step.truncated
        return step

    def copy_states(self, source: "MujocoVector", rows: np.ndarray) -> None:
        """Go on from the states of another vector's environments, by `rows` (n,), with the whole time limit ahead."""
        self._simulations.copy(source._simulations, rows)
        if self._derived:
            self._simulations.refresh(self._all)
        self._age[:], self._ended[:] = 0, False

    def close(self) -> None:
        """Let the simulations and their threads go."""
        del self._simulations, self._parts, self._reward, self._healthy

    def _spread(self, actions: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Actions of all environments, of which only those of `ids` matter."""
        if self._actions.dtype != actions.dtype:
            self._actions = self._actions.astype(actions.dtype)
        self._actions[ids] = actions
        return self._actions

    def _move(self, actions: np.ndarray, moves: np.ndarray | None) -> None:
        ids = None if moves is None else np.flatnonzero(moves).astype(np.int32)
        self._simulations.step(actions, self._task.frame_skip, ids)
        self._age += 1 if moves is None else moves

    def _restart(self, ids: np.ndarray) -> None:
        simulations = self._simulations
        simulations.restart(ids)
        for i in ids:
            self._draw(self._task.start, self._rngs[i], simulations.qpos[i], simulations.qvel[i])
        if self._derived:
            simulations.refresh(ids)
        self._age[ids], self._ended[ids] = 0, False

    def _observe(self) -> np.ndarray:
        obs, at = np.empty((self.n, *self.spec.obs_shape)), 0
        for part in self._parts:
            part.write(obs[:, at : at + part.width])
            at += part.width
        return obs


class _Source:
    """Where a part of an observation is read."""

    def __init__(self, part: Part, simulations: Simulations) -> None:
        self._part, field, rows = part, simulations.field(part.field), slice(part.first, part.last)
        self._values = field[:, rows] if part.body is None else field[:, simulations.body(part.body), rows]
        self._minus = None if part.minus is None else field[:, simulations.body(part.minus), rows]
        self.width = int(np.prod(self._values.shape[1:]))

    def write(self, out: np.ndarray) -> None:
        part, values = self._part, self._values
        if values.ndim > 2:
            values = values.reshape(out.shape)
        if self._minus is not None:
            np.subtract(values, self._minus, out=out)
        elif part.function is not None:
            part.function(values, out=out)
        elif part.limit is not None:
            np.minimum(values, part.limit, out=out)
            np.maximum(out, -part.limit, out=out)
        else:
            out[...] = values


def health_check(health: Health | None, simulations: Simulations) -> Callable[[], np.ndarray]:
    """A function that says of each environment whether it is healthy."""
    if health is None:
        always = np.ones(simulations.n, bool)
        return lambda: always
    first, size = min(health.intervals), simulations.state.shape[1]
    last = size if health.others else max(health.intervals) + 1
    low, high = (np.full(last - first, (health.others or (0, 0))[k], np.float64) for k in (0, 1))
    for at, interval in health.intervals.items():
        low[at - first], high[at - first] = interval
    state = simulations.state[:, first:last]
    return lambda: np.logical_and.reduce((state > low) & (state < high), axis=1)
