"""A task that Adam learns in a vulnerable way: many faint signals, and a clear one that alone would do."""

from typing import Any

import gymnasium
import numpy as np

FAINT = 30


class Signals(gymnasium.Env):
    """Say the sign that is shown, ten times: 0.1 of it in thirty dimensions, all of it in one. Reward 1 where right.

    A policy that weighs all dimensions alike is turned by a perturbation of 0.3; one that looks at the last is not.
    """

    observation_space = gymnasium.spaces.Box(-2, 2, (FAINT + 1,), np.float64)
    action_space: Any = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.left = 10
        return self._look(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        right = self._right(action)
        self.left -= 1
        return self._look(), right, self.left == 0, False, {}

    def _right(self, action: Any) -> float:
        return float((2 * int(action) - 1) == self.sign)

    def _look(self) -> np.ndarray:
        self.sign = int(self.np_random.integers(2)) * 2 - 1
        return self.sign * np.array([0.1] * FAINT + [1.0])


class Dial(Signals):
    """The same with a continuous action: the reward is the product with the sign, at most 1."""

    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def _right(self, action: Any) -> float:
        return float(np.clip(action[0], -1, 1)) * self.sign


gymnasium.register("Signals-v0", Signals, max_episode_steps=1000)
gymnasium.register("Dial-v0", Dial, max_episode_steps=1000)
