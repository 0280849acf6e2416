"""Exploration: random actions between greedy ones."""

import numpy as np

from wocar.training.dqn import DQNConfig


def random_share(cfg: DQNConfig, progress: float) -> float:
    """Share of random actions at this progress: two lines that meet at `exploration_fraction`."""
    final = cfg.exploration_final_eps
    end = final if cfg.exploration_end_eps is None else cfg.exploration_end_eps
    return float(np.interp(progress, (0.0, cfg.exploration_fraction, 1.0), (cfg.exploration_initial_eps, final, end)))


class RandomActions:
    """ε-greedy choice for several environments at once; a random action lasts for up to `hold` steps."""

    def __init__(self, actions: int, n_envs: int, hold: int = 1) -> None:
        self.actions, self.n, self.hold = actions, n_envs, hold
        self.held, self.left = np.zeros(n_envs, np.int32), np.zeros(n_envs, int)

    def draw(self, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The random actions (n_envs,) and where to take them; in the long run a `share` of all steps."""
        fresh = rng.integers(0, self.actions, self.n, dtype=np.int32)
        mean = (1 + self.hold) / 2
        begins = (rng.random(self.n) < share / (share + (1 - share) * mean)) & (self.left == 0)
        lasts = rng.integers(1, self.hold + 1, self.n) if self.hold > 1 else 1
        self.held, self.left = np.where(begins, fresh, self.held), np.where(begins, lasts, self.left)
        taken = self.left > 0
        self.left = self.left - taken
        return self.held, taken
