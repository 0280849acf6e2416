"""The go-home task on a grid whose table is known."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from wocar.envs.go_home import BOMB_PENALTY, HOME_BONUS, ROCK_COST, STEP_COST
from wocar.envs.tabular import TabularMDP

MAP = (
    "........",
    "........",
    "........",
    "...#..HH",
    "S..#..HH",
    "......HH",
    "...*....",
    "........",
)
"""S start, H home, # rock, * bomb."""

CELLS = np.array([list(row) for row in MAP])
ROWS, COLUMNS = CELLS.shape
UP, RIGHT, DOWN, LEFT = range(4)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


class GoHomeGrid(gymnasium.Env[NDArray[np.float32], Any]):
    """Observation: (row, column) scaled to [-1, 1]^2, so that cells lie 2/7 apart. Action: up, right, down or left.

    With probability `slip` the move is a uniformly random one instead. States count the cells row by row.
    """

    def __init__(self, slip: float = 0.0) -> None:
        self.slip = slip
        self.observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))
        self.state = start_state()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self.state = start_state()
        return observation(self.state), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        slipped = self.np_random.random() < self.slip
        self.state, reward = outcome(self.state, int(self.np_random.integers(len(MOVES))) if slipped else int(action))
        cell = CELLS.flat[self.state]
        info = {"home": bool(cell == "H"), "bomb": bool(cell == "*")}
        return observation(self.state), reward, info["home"] or info["bomb"], False, info

    def table(self, gamma: float = 0.99) -> TabularMDP:
        """The exact MDP of `step`; home, bomb and rock cells are terminal, the rock's being never entered."""
        terminal = np.isin(CELLS, ["H", "*", "#"]).ravel()
        transitions = np.zeros((CELLS.size, len(MOVES), CELLS.size))
        rewards = np.zeros((CELLS.size, len(MOVES)))
        chances = (1 - self.slip) * np.eye(len(MOVES)) + self.slip / len(MOVES)
        for state in range(CELLS.size):
            for direction in range(len(MOVES)):
                target, reward = (state, 0.0) if terminal[state] else outcome(state, direction)
                transitions[state, :, target] += chances[:, direction]
                rewards[state] += chances[:, direction] * reward
        return TabularMDP(transitions, rewards, gamma, terminal)


def start_state() -> int:
    return int(np.flatnonzero(CELLS == "S")[0])


def observation(state: int) -> NDArray[np.float32]:
    row, column = divmod(state, COLUMNS)
    return np.array([2 * row / (ROWS - 1) - 1, 2 * column / (COLUMNS - 1) - 1], dtype=np.float32)


def outcome(state: int, direction: int) -> tuple[int, float]:
    """(s', reward) of a move that does not slip: walls stop it, the rock stops it at a cost."""
    row = min(max(state // COLUMNS + MOVES[direction][0], 0), ROWS - 1)
    column = min(max(state % COLUMNS + MOVES[direction][1], 0), COLUMNS - 1)
    cell = CELLS[row, column]
    if cell == "#":
        return state, -STEP_COST - ROCK_COST
    return row * COLUMNS + column, HOME_BONUS * (cell == "H") - BOMB_PENALTY * (cell == "*") - STEP_COST


def neighbours(radius: int) -> NDArray[np.bool_]:
    """(S, S) mask of the states at most `radius` rows and columns apart: what an attacker may show."""
    rows, columns = np.divmod(np.arange(CELLS.size), COLUMNS)
    return np.maximum(np.abs(rows[:, None] - rows), np.abs(columns[:, None] - columns)) <= radius


def register() -> None:
    if "GoHomeGrid-v0" not in gymnasium.registry:
        gymnasium.register("GoHomeGrid-v0", entry_point="wocar.envs.go_home_grid:GoHomeGrid", max_episode_steps=100)


register()
