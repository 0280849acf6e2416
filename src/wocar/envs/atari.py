"""Atari games as the DQN literature sees them: grey frames of 84 x 84, four emulator frames to a step.

EnvPool, where it is installed, does all of this by itself, and twice as fast on two threads; `AtariGame` does the same
with ale-py alone, frame for frame, and can be drawn.
"""

import re
from functools import cache
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np

SIDE = 84
SKIP = 4
NOOPS = 30
MAX_STEPS = 27_000
"""Half an hour of play."""
ACTIONS = {"pong": 4, "bank_heist": 6, "road_runner": 6}
"""Games of which the robustness literature plays the first so many actions only; the others add nothing."""
ID = re.compile(r"^(?:ALE/)?([A-Z]\w*?)(?:-stack(\d+))?-v5$")


MISSING = "games need ale-py, which is under GPL-2.0 and an extra: pip install 'wocar[atari]'"


def lacking(id: str) -> bool:
    """Whether the id has the form of a game's, and what plays games is not installed."""
    return ID.match(id) is not None and find_spec("ale_py") is None


@cache
def parse(id: str) -> tuple[str, int] | None:
    """The game and the number of stacked frames that an id means: "Pong-v5", "Pong-stack4-v5"; None: it is no game."""
    match = ID.match(id)
    if match is None or find_spec("ale_py") is None:
        return None
    import ale_py.roms

    task = snake_case(match[1])
    return (task, int(match[2] or 1)) if task in ale_py.roms.get_all_rom_ids() else None


def snake_case(name: str) -> str:
    """BankHeist to bank_heist, as files of games are named."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class AtariGame(gymnasium.Env[np.ndarray, Any]):
    """Observation: the newest frames (stack, 84, 84), the brighter of the last two emulator frames at each pixel.

    An episode starts with up to 30 emulator frames of doing nothing, then the fire button where the game has one.
    `training`: a lost life ends an episode, and rewards are reduced to their sign.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(
        self, task: str, stack: int = 1, training: bool = False, noops: int = NOOPS, render_mode: str | None = None
    ) -> None:
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.render_mode, self._task, self._training, self._noops = render_mode, task, training, noops
        self._ale, self._rom = ale_py.ALEInterface(), str(ale_py.roms.get_rom_path(task))
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._load(0)
        self._buttons = self._ale.getMinimalActionSet()[: ACTIONS.get(task)]
        self._noop, self._fire = ale_py.Action.NOOP, ale_py.Action.FIRE
        self._fires = self._fire in self._buttons
        self.observation_space = gymnasium.spaces.Box(0, 255, (stack, SIDE, SIDE), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(self._buttons))
        self._frames = np.zeros((stack, SIDE, SIDE), np.uint8)
        self._screens = np.zeros((2, *self._ale.getScreenDims()), np.uint8)
        self._steps, self._lives = MAX_STEPS, 0

    def _load(self, seed: int) -> None:
        self._ale.setInt("random_seed", seed)
        self._ale.loadROM(self._rom)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        if seed is not None:
            self._load(seed)
            self._steps = MAX_STEPS
        waits = int(self.np_random.integers(self._noops)) + 1 - self._fires
        anew = not self._training or self._ale.game_over() or self._steps >= MAX_STEPS
        if anew:
            self._ale.reset_game()
            self._steps = 0
        for _ in range(waits):
            self._ale.act(self._noop)
            if self._ale.game_over():
                self._ale.reset_game()
                anew = True
        if self._fires:
            self._ale.act(self._fire)
        frame = shrink(self._ale.getScreenGrayscale())
        self._frames = np.stack([frame] * len(self._frames)) if anew else np.stack([*self._frames[1:], frame])
        self._lives = self._ale.lives()
        return self._frames, {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward, button, (screen, brighter) = 0.0, self._buttons[int(action)], self._screens
        brighter[:] = 0
        for k in range(SKIP):
            reward += self._ale.act(button)
            over = self._ale.game_over()
            if k >= SKIP - 2 or over:
                self._ale.getScreenGrayscale(screen)
                np.maximum(brighter, screen, out=brighter)
            if over:
                break
        self._frames = np.stack([*self._frames[1:], shrink(brighter)])
        self._steps += 1
        lives = self._ale.lives()
        out = self._steps >= MAX_STEPS
        lost = self._training and 0 < lives < self._lives
        self._lives = lives
        shaped = float(np.sign(reward)) if self._training else reward
        return self._frames, shaped, over or lost, out and not over, {"reward": reward, "terminated": over}

    def render(self) -> np.ndarray | None:
        return self._ale.getScreenRGB() if self.render_mode == "rgb_array" else None


def shrink(screen: np.ndarray) -> np.ndarray:
    """A screen (height, width) as 84 x 84: each pixel the mean of the area it covers, rounded as OpenCV rounds."""
    rows, columns = _covers(screen.shape[0]), _covers(screen.shape[1])
    wide = _average(screen.astype(np.float32), columns, axis=1)
    small = _average(wide, rows, axis=0)
    return np.rint(small, out=small).astype(np.uint8)


def _average(image: np.ndarray, covers: list[tuple[np.ndarray, np.ndarray]], axis: int) -> np.ndarray:
    shape = (1, -1) if axis else (-1, 1)
    total: np.ndarray | None = None
    for index, weight in covers:
        part = image.take(index, axis=axis)
        part *= weight.reshape(shape)
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None
    return total


@cache
def _covers(size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Which of `size` pixels each of 84 covers, first to last, and by how much of its area."""
    scale = size / SIDE
    start = np.arange(SIDE) * scale
    first = np.floor(start + 1e-9).astype(int)
    covers = []
    for k in range(int(np.ceil(scale)) + 1):
        overlap = np.minimum(start + scale, first + k + 1) - np.maximum(start, first + k)
        weight = np.where(overlap > 1e-9, overlap / scale, 0).astype(np.float32)
        if weight.any():
            covers.append((np.minimum(first + k, size - 1), weight))
    return covers
