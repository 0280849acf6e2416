"""Reward normalisation in the trainer; environments keep raw rewards."""

from typing import NamedTuple

import numpy as np

from wocar.networks import RunningNormaliser
from wocar.rollout import running_returns
from wocar.types import Transitions


class RewardScaler(NamedTuple):
    """r / std(R) clipped to ±10, where R ← γR + r is the running discounted return, zeroed at episode ends."""

    returns: RunningNormaliser
    running: np.ndarray
    """R of each environment, (n,)."""

    @classmethod
    def create(cls, n: int) -> "RewardScaler":
        return cls(RunningNormaliser.create(()), np.zeros(n))

    def fresh(self) -> "RewardScaler":
        """The same statistics for environments that have just been reset."""
        return self._replace(running=np.zeros_like(self.running))

    def update(self, rollout: Transitions, gamma: float) -> "RewardScaler":
        rewards = np.asarray(rollout.rewards, np.float64)
        ends = np.asarray(rollout.terminated) | np.asarray(rollout.truncated)
        seen, running = running_returns(rewards, ends, self.running, gamma)
        return RewardScaler(self.returns.update(seen), running)

    def __call__(self, rewards: np.ndarray) -> np.ndarray:
        return np.clip(rewards / (self.returns.std + 1e-8), -10, 10).astype(np.float32)
