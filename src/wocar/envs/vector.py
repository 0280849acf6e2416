"""Gymnasium environments as a vector environment."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from wocar.types import ActionSpace, EnvSpec, Step


class GymnasiumVector:
    """Environments are stepped one after the other; after an episode's end the next step is the reset.

    `raw`: actions reach the environment as they are (MuJoCo, whose control cost sees them), else cut to its range.
    `training`: a game whose episodes and rewards are cut for training, so that its own are told too.
    """

    def __init__(
        self, spec: EnvSpec, make: Callable[[], gymnasium.Env], seeds: list[int], raw: bool, training: bool = False
    ) -> None:
        self.spec, self.n, self._training = spec, len(seeds), training
        self._cut = not (raw or spec.actions.discrete)
        self.envs = [make() for _ in seeds]
        self._seeds: list[int | None] = list(seeds)
        self._ended = np.zeros(self.n, dtype=bool)

    def reset(self) -> np.ndarray:
        self._ended[:] = False
        return np.stack([self._reset(i) for i in range(self.n)])

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        ids = np.arange(self.n) if ids is None else ids
        obs = np.empty((len(ids), *self.spec.obs_shape), dtype=self.envs[0].observation_space.dtype)
        rewards = np.zeros(len(ids), dtype=np.float32)
        terminated, truncated = np.zeros(len(ids), dtype=bool), np.zeros(len(ids), dtype=bool)
        scores, over = np.zeros(len(ids), dtype=np.float32), np.zeros(len(ids), dtype=bool)
        is_reset = self._ended[ids]
        if self._cut:
            actions = np.clip(actions, self.spec.actions.low, self.spec.actions.high)
        for k, i in enumerate(ids):
            if is_reset[k]:
                obs[k] = self._reset(int(i))
            else:
                obs[k], rewards[k], terminated[k], truncated[k], info = self.envs[i].step(actions[k])
                if self._training:
                    scores[k], over[k] = info["reward"], info["terminated"]
        self._ended[ids] = terminated | truncated
        step = Step(obs, rewards, terminated, truncated & ~terminated, is_reset)
        return step._replace(scores=scores, over=over) if self._training else step

    def close(self) -> None:
        for env in self.envs:
            env.close()

    def _reset(self, i: int) -> np.ndarray:
        obs, _ = self.envs[i].reset(seed=self._seeds[i])
        self._seeds[i] = None
        return np.asarray(obs)


def describe(id: str, observation_space: Any, action_space: Any, max_steps: int | None) -> EnvSpec:
    """The spec of an environment with array observations and box or discrete actions."""
    shape = getattr(observation_space, "shape", None)
    if shape is None or hasattr(observation_space, "spaces"):
        raise TypeError(f"observations of type {type(observation_space).__name__}")
    if isinstance(action_space, gymnasium.spaces.Discrete) and action_space.start == 0:
        return EnvSpec(id, shape, ActionSpace(int(action_space.n)), max_steps)
    if isinstance(action_space, gymnasium.spaces.Box) and len(action_space.shape) == 1:
        low, high = np.asarray(action_space.low, np.float32), np.asarray(action_space.high, np.float32)
        return EnvSpec(id, shape, ActionSpace(int(action_space.shape[0]), low, high), max_steps)
    raise TypeError(f"actions {action_space}")
