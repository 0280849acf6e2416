"""Rewards as trainers learn from them: bent above a cap, normalised. Environments keep raw rewards."""

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


def bent_rewards(rewards: np.ndarray, cap: float | None, slope: float) -> np.ndarray:
    """min(r, cap) + slope · max(r - cap, 0); without a cap as they are."""
    if cap is None:
        return rewards
    above = np.maximum(rewards - np.float32(cap), 0)
    return (np.minimum(rewards, np.float32(cap)) + np.float32(slope) * above).astype(rewards.dtype)
