"""Finite MDPs as environments: states are points of the plane, so that networks play them and attackers move points.

The discount is a chance to end: the expected return of an episode is the discounted value in the table.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import gymnasium
import numpy as np

from wocar.envs.go_home_grid import GoHomeGrid, observation, start_state
from wocar.envs.tabular import Floats, TabularMDP, policy_iteration, random_mdp

CORNERS = np.array(list(product((-1.0, 1.0), repeat=2)))
"""Where a continuous action is one of the table's four. (4, 2)"""
MAX_STEPS = 400


@dataclass(frozen=True)
class TableTask:
    mdp: TabularMDP
    points: Floats
    """What is seen in each state, distinct. (S, 2)"""
    start: Floats
    """Probability of each state to begin with. (S,)"""
    continuous: bool
    """Actions are points of [-1, 1]², mixtures of the table's four actions; else the table's own."""

    def mixtures(self, actions: Any) -> Floats:
        """Weights of the table's actions: one of them, or bilinear between the corners. (..., A)"""
        if not self.continuous:
            return np.eye(self.mdp.rewards.shape[1])[np.asarray(actions)]
        inside = np.clip(np.asarray(actions, float), -1, 1)
        return ((1 + inside[..., None, :] * CORNERS) / 2).prod(axis=-1)

    def best_actions(self) -> Floats:
        """An unattacked optimal policy: indices (S,), or corners (S, 2)."""
        policy, _ = policy_iteration(self.mdp)
        return CORNERS[policy] if self.continuous else policy.astype(float)


class TableEnv(gymnasium.Env):
    """Observation: the state's point. Reward: expected over the mixture of actions."""

    def __init__(self, task: TableTask) -> None:
        self.task = task
        self.observation_space = gymnasium.spaces.Box(-2, 2, (2,), np.float32)
        box = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.action_space: Any = box if task.continuous else gymnasium.spaces.Discrete(task.mdp.rewards.shape[1])
        self._cumulative = task.mdp.transitions.cumsum(axis=2)
        self._points = task.points.astype(np.float32)
        self.state = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.state = int(self.np_random.choice(len(self.task.start), p=self.task.start))
        return self._points[self.state].copy(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        mdp = self.task.mdp
        which, where, ends = self.np_random.random(3)
        if self.task.continuous:
            weights = self.task.mixtures(action)
            row = min(int(weights.cumsum().searchsorted(which)), len(weights) - 1)
            reward = float(weights @ mdp.rewards[self.state])
        else:
            row = int(action)
            reward = float(mdp.rewards[self.state, row])
        chances = self._cumulative[self.state, row]
        self.state = min(int(chances.searchsorted(where)), len(chances) - 1)
        ended = bool(ends > mdp.gamma or mdp.terminal[self.state])
        return self._points[self.state].copy(), reward, ended, False, {}


def random_task(seed: int, continuous: bool, side: int = 4, gamma: float = 0.95) -> TableTask:
    """A random MDP with four actions; its states lie near the nodes of a grid with `side` rows in [-1, 1]²."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, side**2, 4, gamma)
    nodes = np.array(list(product(np.linspace(-1, 1, side), repeat=2)))
    points = nodes + rng.uniform(-0.25, 0.25, nodes.shape) * 2 / (side - 1)
    alive = ~mdp.terminal
    return TableTask(mdp, points, alive / alive.sum(), continuous)


def go_home_task(slip: float = 0.1, gamma: float = 0.98) -> TableTask:
    """The go-home grid, which now and then takes another step than the one asked for."""
    mdp = GoHomeGrid(slip).table(gamma)
    start = np.zeros(len(mdp.terminal))
    start[start_state()] = 1.0
    return TableTask(mdp, np.stack([observation(s) for s in range(len(start))]).astype(float), start, False)


def register_task(name: str, task: TableTask) -> str:
    """The environment's id of a task; the same name again replaces it."""
    env = f"{name}-v0"
    gymnasium.registry.pop(env, None)
    make: Any = lambda: TableEnv(task)  # noqa: E731
    gymnasium.register(env, make, max_episode_steps=MAX_STEPS, disable_env_checker=True, order_enforce=False)
    return env
