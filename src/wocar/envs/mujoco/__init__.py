"""Gymnasium's MuJoCo tasks, many at a time on MuJoCo's own batch of simulations."""

from wocar.envs.mujoco.tasks import TASKS
from wocar.envs.mujoco.vector import MujocoVector

__all__ = ["TASKS", "MujocoVector"]
