"""The paper's Figure 1 as a plane: a rock stands on the way home, and the shorter way round it passes by a bomb."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Disk(NamedTuple):
    x: float
    y: float
    radius: float

    def distance(self, points: ArrayLike) -> Floats:
        """Signed distance of points (..., 2) to the rim, negative inside."""
        return np.linalg.norm(np.asarray(points) - self[:2], axis=-1) - self.radius


HOME = Disk(0.75, 0.0, 0.2)
ROCK = Disk(0.0, 0.1, 0.3)
BOMB = Disk(0.0, -0.5, 0.2)
START = np.array([-0.75, 0.0])
START_SPREAD = 0.1
STRIDE = 0.05

HOME_BONUS = 10.0
BOMB_PENALTY = 10.0
ROCK_COST = 0.03
STEP_COST = 0.05


class Move(NamedTuple):
    """What one move does; every field has the batch shape of the position it came from."""

    position: Floats
    reward: Floats
    home: NDArray[np.bool_]
    bomb: NDArray[np.bool_]
    rock: NDArray[np.bool_]


def move(position: ArrayLike, velocity: ArrayLike) -> Move:
    """One step of the plane from positions (..., 2): no faster than a stride, round the rock, inside the walls.

    reward = progress towards home - costs + bonus; the progress sums to the same total on every way home.
    """
    speed = np.clip(np.asarray(velocity, dtype=float), -1, 1)
    stride = STRIDE * speed / np.maximum(1, np.linalg.norm(speed, axis=-1, keepdims=True))
    target = np.clip(np.asarray(position) + stride, -1, 1)
    rock = ROCK.distance(target) < 0
    outward = target - ROCK[:2]
    rim = ROCK[:2] + outward * ROCK.radius / np.maximum(np.linalg.norm(outward, axis=-1, keepdims=True), 1e-9)
    target = np.where(rock[..., None], rim, target)
    home, bomb = HOME.distance(target) < 0, BOMB.distance(target) < 0
    progress = HOME.distance(position) - HOME.distance(target)
    reward = progress - STEP_COST - ROCK_COST * rock + HOME_BONUS * home - BOMB_PENALTY * bomb
    return Move(target, reward, home, bomb, rock)


class GoHome(gymnasium.Env[NDArray[np.float32], Any]):
    """Observation: the position (x, y) in [-1, 1]^2. Action: a velocity in [-1, 1]^2, at most one stride long.

    Home and the bomb end the episode. Set `perceived` to the position an attacker shows, and `render` draws it too.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.position = START
        self.perceived: ArrayLike | None = None
        self.trail = [START]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self.position = START + self.np_random.uniform(-START_SPREAD, START_SPREAD, 2)
        self.perceived = None
        self.trail = [self.position]
        return self.position.astype(np.float32), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        moved = move(self.position, action)
        self.position = moved.position
        self.trail.append(self.position)
        info = {"home": bool(moved.home), "bomb": bool(moved.bomb), "rock": bool(moved.rock)}
        done = info["home"] or info["bomb"]
        return self.position.astype(np.float32), float(moved.reward), done, False, info

    def render(self) -> NDArray[np.uint8] | None:
        return draw(self.trail, self.perceived) if self.render_mode == "rgb_array" else None


class GoHomeDiscrete(GoHome):
    """The same plane with eight moves of one stride, counter-clockwise from +x."""

    directions = np.stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)], axis=1)

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        self.action_space = gymnasium.spaces.Discrete(8)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        return super().step(self.directions[action])


SIZE = 256
PIXEL = 2 / SIZE
XS, YS = np.meshgrid((np.arange(SIZE) + 0.5) * PIXEL - 1, 1 - (np.arange(SIZE) + 0.5) * PIXEL)
PIXELS = np.stack([XS, YS], axis=-1)
BLUE, RED, WHITE = (43, 108, 196), (208, 52, 88), (255, 255, 255)


def draw(trail: list[Floats], perceived: ArrayLike | None = None) -> NDArray[np.uint8]:
    """The plane, the trail with the agent at its end, and a hollow ring where the agent believes itself to be."""
    canvas = scenery().copy()
    paint(canvas, line(np.array(trail), 0.012), BLUE, 0.6)
    if perceived is not None:
        paint(canvas, line(np.array([trail[-1], perceived]), 0.006), RED, 0.7)
        paint(canvas, np.abs(dot(perceived, 0.045)) - 0.01, RED)
    paint(canvas, dot(trail[-1], 0.056), WHITE)
    paint(canvas, dot(trail[-1], 0.042), BLUE)
    return canvas.round().astype(np.uint8)


@cache
def scenery() -> Floats:
    canvas = np.full((SIZE, SIZE, 3), (226.0, 236.0, 214.0))
    canvas[(np.floor(XS * 4) + np.floor(YS * 4)) % 2 == 0] = (220, 231, 207)
    draw_home(canvas)
    draw_rock(canvas)
    draw_bomb(canvas)
    return canvas


def draw_home(canvas: Floats) -> None:
    x, y = np.abs(XS - HOME.x), YS - HOME.y
    paint(canvas, HOME.distance(PIXELS), (250, 222, 150), 0.85)
    paint(canvas, np.abs(HOME.distance(PIXELS)) - 0.006, (222, 170, 70))
    paint(canvas, np.maximum(x - 0.09, np.abs(y + 0.045) - 0.075), (255, 250, 240))
    paint(canvas, np.maximum((x + y - 0.15) * np.sqrt(0.5), 0.02 - y), (196, 78, 60))
    paint(canvas, np.maximum(x - 0.028, np.abs(y + 0.07) - 0.05), (122, 84, 56))


def draw_rock(canvas: Floats) -> None:
    paint(canvas, ROCK.distance(PIXELS), (120, 122, 128))
    paint(canvas, dot((ROCK.x - 0.04, ROCK.y + 0.05), 0.23), (146, 148, 154))
    paint(canvas, dot((ROCK.x - 0.1, ROCK.y + 0.12), 0.09), (172, 174, 180))


def draw_bomb(canvas: Floats) -> None:
    glow = np.clip(1 - BOMB.distance(PIXELS) / 0.15, 0, 1) ** 2
    canvas += 0.6 * glow[..., None] * (np.array((232, 92, 70)) - canvas)
    fuse = BOMB[:2] + np.array([[0.12, 0.12], [0.17, 0.14], [0.21, 0.13]])
    paint(canvas, line(fuse, 0.016), (150, 110, 70))
    paint(canvas, BOMB.distance(PIXELS), (38, 38, 46))
    paint(canvas, dot((BOMB.x - 0.08, BOMB.y + 0.08), 0.035), (130, 130, 145))
    paint(canvas, dot(fuse[-1], 0.034), (255, 150, 40))
    paint(canvas, dot(fuse[-1], 0.017), (255, 240, 150))


def dot(centre: ArrayLike, radius: float) -> Floats:
    """Signed distance of the pixels to a disk."""
    x, y = np.asarray(centre, dtype=float)
    return Disk(x, y, radius).distance(PIXELS)


def line(points: Floats, width: float) -> Floats:
    """Signed distance of the pixels to a rounded line through the points (n, 2), infinite far from it."""
    field = np.full((SIZE, SIZE), np.inf)
    for a, b in pairwise(points):
        low, high = np.minimum(a, b) - width - PIXEL, np.maximum(a, b) + width + PIXEL
        near = np.ix_((YS[:, 0] > low[1]) & (YS[:, 0] < high[1]), (XS[0] > low[0]) & (XS[0] < high[0]))
        pixels, step = PIXELS[near] - a, b - a
        along = np.clip(pixels @ step / max(step @ step, 1e-12), 0, 1)
        field[near] = np.minimum(field[near], np.linalg.norm(pixels - along[..., None] * step, axis=-1) - width)
    return field


def paint(canvas: Floats, distance: Floats, colour: tuple[int, int, int], opacity: float = 1.0) -> None:
    """Blend the colour in where the signed distance is negative, smoothly across one pixel."""
    alpha = opacity * np.clip(0.5 - distance / PIXEL, 0, 1)[..., None]
    canvas += alpha * (np.array(colour) - canvas)


def register() -> None:
    for name in ("GoHome", "GoHomeDiscrete"):
        if f"{name}-v0" not in gymnasium.registry:
            gymnasium.register(f"{name}-v0", entry_point=f"wocar.envs.go_home:{name}", max_episode_steps=100)


register()
