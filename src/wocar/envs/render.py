"""Environments that draw themselves, without a screen."""

import os
import re
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np

from wocar.envs.checked import CheckedVector
from wocar.envs.keywords import split_keywords
from wocar.envs.make import env_spec, make_env, make_gymnasium_env, registered_name, takes_raw_actions
from wocar.envs.mujoco.tasks import TASKS
from wocar.envs.vector import GymnasiumVector, describe
from wocar.types import UserError, VectorEnv

BACKENDS = ("egl", "osmesa")
"""Ways to draw MuJoCo without a screen, the faster one first."""
SIZE = 240
PROBE = "import mujoco; mujoco.GLContext(8, 8).make_current()"


class RenderedEnv:
    """One environment, stepped like a vector environment of one, that also shows itself."""

    def __init__(self, env: VectorEnv, drawn: gymnasium.Env | None, fps: int) -> None:
        self.env, self.fps, self._drawn = env, fps, drawn

    def frame(self, shown: np.ndarray) -> np.ndarray | None:
        """The picture (height, width, 3) as it now is, or None where the observation is the picture.

        `shown` is the raw observation that the agent gets to see, for environments that can draw that too.
        """
        if self._drawn is None:
            return None
        if hasattr(self._drawn.unwrapped, "perceived"):
            self._drawn.unwrapped.perceived = shown
        try:
            return np.asarray(self._drawn.render())
        except Exception as error:
            reason = " ".join(str(error).split())
            raise UserError(f"{self.env.spec.id} cannot be drawn: {reason or type(error).__name__}") from error


def make_rendered(id: str, seed: int) -> RenderedEnv:
    """One environment whose frames can be asked for; a UserError where it cannot be drawn here."""
    if os.environ.get("MUJOCO_GL", "").lower() not in ("", "glfw", "glx", "wgl", "cgl", *BACKENDS):
        raise UserError(f"MUJOCO_GL is {os.environ['MUJOCO_GL']!r}; set it to {' or '.join(BACKENDS)}, or unset it")
    if len(env_spec(id).obs_shape) == 3:
        return RenderedEnv(make_env(id, 1, seed, threads=1), None, fps=15)
    if registered_name(id) not in gymnasium.registry:
        raise UserError(f"{id} cannot be drawn: Gymnasium does not know it")
    options: dict[str, Any] = {"render_mode": "rgb_array"}
    if split_keywords(id)[0] in TASKS:
        os.environ.setdefault("MUJOCO_GL", offscreen_backend())
        options |= {"width": SIZE, "height": SIZE}
    if "rgb_array" not in _modes(id):
        raise UserError(f"{id} cannot be drawn: it offers no pictures")
    drawn = make_gymnasium_env(id, **options)
    _set_up(drawn)
    spec = describe(
        id, drawn.observation_space, drawn.action_space, drawn.spec.max_episode_steps if drawn.spec else None
    )
    env = CheckedVector(GymnasiumVector(spec, lambda: drawn, [seed], raw=takes_raw_actions(id)))
    return RenderedEnv(env, drawn, fps=int(drawn.metadata.get("render_fps", 25)))


def offscreen_backend() -> str:
    """The first way to draw without a screen that works here; each is tried in a process of its own."""
    for backend in BACKENDS:
        variables = {**os.environ, "MUJOCO_GL": backend}
        if subprocess.run([sys.executable, "-c", PROBE], env=variables, capture_output=True).returncode == 0:
            return backend
    raise UserError("MuJoCo cannot draw here: neither EGL nor OSMesa works; install libegl1 or libosmesa6")


def _modes(id: str) -> list[str]:
    """What an environment says it can render."""
    point = gymnasium.spec(registered_name(id)).entry_point
    if not isinstance(point, str):
        return list(getattr(point, "metadata", {}).get("render_modes", []))
    kind = gymnasium.envs.registration.load_env_creator(re.sub(r"\s", "", point))
    return list(getattr(kind, "metadata", {}).get("render_modes", []))


def _set_up(env: gymnasium.Env) -> None:
    """MuJoCo: a camera that follows; small shadows and no multisampling, which without a graphics card cost most."""
    model = getattr(env.unwrapped, "model", None)
    if model is not None and hasattr(model, "vis"):
        model.vis.quality.shadowsize = 512
        model.vis.quality.offsamples = 0
        env.unwrapped.mujoco_renderer.camera_id = 0 if model.ncam else -1  # type: ignore[attr-defined]
