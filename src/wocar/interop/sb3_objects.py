"""Stable-Baselines3 models in memory, read as the files that they would save."""

import io
import pickle
from typing import Any

from wocar.agent import Agent
from wocar.interop.sb3 import read_sb3
from wocar.interop.sb3_spaces import Statistics
from wocar.types import UserError

LIBRARIES = ("stable_baselines3.", "sb3_contrib.")


def is_sb3_model(thing: Any) -> bool:
    """Whether it is an algorithm of Stable-Baselines3, or of a class made from one."""
    classes = type(thing).__mro__
    return any(cls.__name__ == "BaseAlgorithm" and cls.__module__.startswith(LIBRARIES) for cls in classes)


def load_sb3_model(model: Any, env: str | None = None, normaliser: bytes | None = None) -> Agent:
    """The agent of a model, with the statistics of the VecNormalize around its environment, or of the given pickle."""
    buffer, own = io.BytesIO(), model.get_vec_normalize_env()
    model.save(buffer)
    statistics = None
    if normaliser is not None:
        statistics = Statistics(normaliser, "the normaliser given", "given")
    elif own is not None:
        statistics = Statistics(pickle.dumps(own), "the model's VecNormalize", "the model's own VecNormalize")
    name = f"{type(model).__name__} in memory"
    return read_sb3(buffer.getvalue(), f"the {type(model).__name__} model", name, env or _env_id(model), statistics)


def _env_id(model: Any) -> str:
    """The id with which the model's first environment was made."""
    try:
        spec = model.get_env().get_attr("spec")[0]
    except (AttributeError, IndexError):
        spec = None
    if spec is None:
        raise UserError("the model does not tell its environment: give env, the environment's id")
    return str(spec.id)
