"""Stable-Baselines3's observation and action spaces, and VecNormalize's statistics."""

import math
import re
from os.path import isfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wocar.interop.restricted import one_line_refusal, read_pickle
from wocar.interop.values import array, attributes, dtype, field, has, kind, number
from wocar.networks import Normaliser, PixelNormaliser, ScaledNormaliser
from wocar.types import ActionSpace


class Observations(NamedTuple):
    shape: tuple[int, ...]
    normaliser: Normaliser
    """What the policy itself does to an observation: images are divided by 255."""
    parts: dict[str, tuple[int, ...]] | None = None
    """Of a dictionary, which is flattened: the shapes of its entries in their order."""


class Statistics(NamedTuple):
    """A pickle of VecNormalize, where it is from, and its name."""

    data: bytes
    source: str
    name: str


def read_observations(space: Any, normalise_images: bool) -> Observations:
    if kind(space) == "Dict":
        return _dictionary(attributes(field(space, "spaces")))
    if kind(space) != "Box":
        raise ValueError(f"its observation space {kind(space)} is not supported: Box and Dict of Box are")
    low, high = (array(field(space, name)) for name in ("low", "high"))
    image = low.ndim == 3 and dtype(field(space, "dtype")) == np.uint8 and np.all(low == 0) and np.all(high == 255)
    if image and normalise_images:
        return Observations(low.shape, PixelNormaliser())
    return Observations(low.shape, ScaledNormaliser.identity(low.shape))


def _dictionary(entries: dict[str, Any]) -> Observations:
    """Vectors one after the other, as MultiInputPolicy and Gymnasium's FlattenObservation see them."""
    parts: dict[str, tuple[int, ...]] = {}
    for name, space in entries.items():
        if kind(space) != "Box":
            raise ValueError(f"its observation {name} is a {kind(space)}: in a dictionary only Box is supported")
        parts[name] = array(field(space, "low")).shape
        if len(parts[name]) > 2:
            raise ValueError(f"its observation {name} is an image: in a dictionary only vectors are supported")
    size = sum(map(math.prod, parts.values()))
    return Observations((size,), ScaledNormaliser.identity((size,)), parts)


def read_actions(space: Any) -> ActionSpace:
    if kind(space) == "Discrete":
        if attributes(space).get("start") is not None and number(field(space, "start")) != 0:
            raise ValueError("its discrete actions do not start at 0")
        return ActionSpace(int(number(field(space, "n"))))
    if kind(space) != "Box":
        raise ValueError(f"its action space {kind(space)} is not supported: Box and Discrete are")
    low, high = (np.array(array(field(space, name)), np.float32) for name in ("low", "high"))
    if low.ndim != 1 or low.shape != high.shape or np.any(np.isnan(low)) or np.any(np.isnan(high)):
        raise ValueError(f"its action space of shape {low.shape} is not supported: one dimension is")
    return ActionSpace(len(low), low, high)


def find_statistics(path: Path) -> Path | None:
    """VecNormalize's pickle where people keep it: beside the zip, or in the folder of its name.

    CheckpointCallback writes `rl_model_N_steps.zip` and `rl_model_vecnormalize_N_steps.pkl`.
    """
    folder, names = path.parent, ("vecnormalize.pkl", "vec_normalize.pkl")
    places = [folder / f"{path.stem}_{name}" for name in names]
    if checkpoint := re.fullmatch(r"(.*)_(\d+)_steps", path.stem):
        places.append(folder / f"{checkpoint[1]}_vecnormalize_{checkpoint[2]}_steps.pkl")
    places += [place / name for place in (folder / path.stem, folder) for name in names]
    if len(list(folder.glob("*.zip"))) == 1:
        places += [file for name in names for file in sorted(folder.glob(f"*_{name}"))]
    return next((file for file in places if isfile(file)), None)


def read_statistics(statistics: Statistics, seen: Observations) -> tuple[Normaliser, dict[str, Any]]:
    """z = clip((o - mean) / sqrt(var + epsilon), -clip_obs, clip_obs), and the standard deviation of the return."""
    tree = read_pickle(statistics.data, statistics.source)
    with one_line_refusal(statistics.source):
        if kind(tree) != "VecNormalize":
            raise ValueError(f"it holds a {kind(tree)}, not a VecNormalize")
        epsilon = number(field(tree, "epsilon"))
        notes: dict[str, Any] = {"normaliser": statistics.name}
        if has(tree, "ret_rms") and has(field(tree, "ret_rms"), "var"):
            notes["reward_std"] = float(np.sqrt(number(field(tree, "ret_rms", "var")) + epsilon))
        if attributes(tree).get("norm_obs") is False:
            return seen.normaliser, notes
        if not isinstance(seen.normaliser, ScaledNormaliser):
            raise ValueError("statistics for images that the policy divides by 255 itself are not supported")
        mean, variance = (_moment(tree, name, seen.parts) for name in ("mean", "var"))
        if mean.shape != seen.shape or variance.shape != seen.shape:
            raise ValueError(f"its observations have shape {mean.shape}, the agent's {seen.shape}")
        square, clip = variance + epsilon, number(field(tree, "clip_obs"))
        if not (np.all(np.isfinite(mean)) and np.all(square > 0) and np.all(np.isfinite(square)) and clip > 0):
            raise ValueError("its statistics are not finite numbers")
        return ScaledNormaliser(mean, np.sqrt(square), clip), notes


def _moment(tree: Any, name: str, parts: dict[str, tuple[int, ...]] | None) -> np.ndarray:
    """Means or variances of observations; those of a dictionary one after the other."""
    if parts is None:
        return np.array(array(field(tree, "obs_rms", name)), np.float64)
    if missing := [part for part in parts if not has(field(tree, "obs_rms"), part)]:
        raise ValueError(f"it does not normalise {missing[0]}: statistics of some entries only are not supported")
    found = {part: array(field(tree, "obs_rms", part, name)) for part in parts}
    if wrong := [part for part in parts if found[part].shape != parts[part]]:
        raise ValueError(f"its statistics of {wrong[0]} have another shape than the agent's observation")
    return np.concatenate([np.array(value, np.float64).reshape(-1) for value in found.values()])
