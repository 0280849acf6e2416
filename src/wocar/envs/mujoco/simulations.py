"""Many simulations of one model, and their quantities as arrays."""

from collections.abc import Iterable

import mujoco
import numpy as np
from mujoco.batch import Batch

from wocar.envs.mujoco.models import load_model


class Simulations:
    """`fields[name]` is MjData's field of that name of all simulations, (n, ...), kept up to date.

    `state` is positions and velocities side by side. `forces`: also the forces on bodies from outside (cfrc_ext).
    """

    def __init__(self, model_file: str, n: int, threads: int, forces: bool) -> None:
        self.model, self.n = load_model(model_file), n
        self._batch = Batch(self.model, n, min(threads, n), persistent=forces)
        self._fresh = self._batch.state.copy()
        first = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_TIME)
        self.state = self._batch.state[:, first : first + self.model.nq + self.model.nv]
        self.qpos, self.qvel, self._ctrl = (self._batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self._forces = np.zeros((n, self.model.nbody, 6)) if forces else None
        self._data = mujoco.MjData(self.model) if forces else None

    def field(self, name: str) -> np.ndarray:
        """MjData's field of that name, of all simulations (n, ...), kept up to date."""
        if name == "cfrc_ext" and self._forces is not None:
            return self._forces
        return self._batch.bind(name)

    def body(self, name: str) -> int:
        return int(self.model.body(name).id)

    def step(self, actions: np.ndarray, frames: int, ids: np.ndarray | None) -> None:
        """Move these simulations (None: all) by so many frames under actions (n, nu)."""
        self._ctrl[...] = actions
        self._batch.step(ids, frames)
        if self._forces is not None:
            self._compute_forces(range(self.n) if ids is None else ids)

    def restart(self, ids: np.ndarray) -> None:
        """The model's own pose at rest. Fields that are not part of the state follow by `refresh`."""
        self._batch.state[ids] = self._fresh[ids]
        if self._forces is not None:
            self._forces[ids] = 0.0

    def copy(self, source: "Simulations", rows: np.ndarray) -> None:
        """Each simulation takes over the state of one of another's of the same model, by `rows` (n,)."""
        self._batch.state[...] = source._batch.state[rows]
        if self._forces is not None and source._forces is not None:
            self._forces[...] = source._forces[rows]

    def refresh(self, ids: np.ndarray) -> None:
        self._batch.forward(ids)

    def _compute_forces(self, ids: Iterable[int]) -> None:
        """A step does not compute them by itself."""
        assert self._forces is not None
        for i in ids:
            self._batch.get_data(i, self._data)
            mujoco.mj_rnePostConstraint(self.model, self._data)
            self._forces[i] = self._data.cfrc_ext  # type: ignore[union-attr]
