"""A Gymnasium wrapper in which somebody else decides what is seen."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np


class ShownObservation(gymnasium.Wrapper):
    """Shows `show(observation, starts)` in the place of the observation; `info["clean_observation"]` is the true one.

    What is shown is float64 and may leave the environment's own range. `starts` says that an episode begins.
    """

    def __init__(
        self, env: gymnasium.Env, show: Callable[[np.ndarray, bool], np.ndarray], low: float, high: float
    ) -> None:
        super().__init__(env)
        self._show = show
        self.observation_space = gymnasium.spaces.Box(low, high, env.observation_space.shape, np.float64)

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        return self._show(observation, True), {**info, "clean_observation": observation}

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        shown = self._show(observation, False)
        return shown, reward, terminated, truncated, {**info, "clean_observation": observation}
