"""Tasks: what an environment id says of them, and the radii at which they are attacked."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from importlib import resources
from tomllib import loads
from typing import Any, Literal

from wocar.envs import atari

TaskKind = Literal["vector", "game"]
RADII = "radii.toml"


def task_of(env: str) -> str:
    """The name under which settings are kept: without version, number of frames and the namespace of games."""
    name = re.sub(r"(-stack\d+)?-v\d+$", "", env.partition("?")[0].rpartition(":")[2])
    return name.removeprefix("ALE/") if kind_of(env) == "game" else name


def kind_of(env: str) -> TaskKind:
    return "game" if atari.parse(env) else "vector"


def usual_radius(env: str, normalised: bool = True) -> float | None:
    """The l_inf radius of a task, in normalised units or in those of the observation; None where none is known."""
    return _radii()["normalised" if normalised else "raw"].get(task_of(env))


def table_radii(env: str) -> tuple[float, ...]:
    """Where the paper's tables attack; 0.1 on a task that they do not have."""
    if kind_of(env) == "game":
        return _numbers(_radii()["games"]["paper"])
    return (usual_radius(env) or 0.1,)


def sweep_radii(env: str) -> tuple[float, ...]:
    """Where the paper's figure of return against eps attacks; on other tasks, multiples of the usual radius."""
    drawn = _radii()["sweep"].get(task_of(env))
    if drawn:
        return _numbers(drawn)
    return tuple(round(share * table_radii(env)[0], 4) for share in (0.5, 1.0, 1.5, 2.0, 3.0))


def _numbers(values: Sequence[float | str]) -> tuple[float, ...]:
    return tuple(float(Fraction(value)) if isinstance(value, str) else value for value in values)


@cache
def _radii() -> dict[str, dict[str, Any]]:
    return loads((resources.files("wocar.methods.presets") / RADII).read_text())
