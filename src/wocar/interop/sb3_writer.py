"""Agents as Stable-Baselines3 zips, which PPO.load, A2C.load, DQN.load, SAC.load and TD3.load read; without torch."""

import base64
import io
import json
import math
import zipfile
from typing import Any

import numpy as np

from wocar.agent import Agent
from wocar.interop.pickle_writer import PickleWriter, torch_file
from wocar.interop.sb3_networks import sb3_model
from wocar.interop.sb3_space_writer import Box, action_space, box_space, observation_box
from wocar.networks import PixelNormaliser

VERSION = "2.4.0"
"""The version of Stable-Baselines3 that the zip says it is from."""
LEARNING_RATE = {"PPO": 3e-4, "A2C": 7e-4, "DQN": 1e-4, "SAC": 3e-4, "TD3": 1e-3}
PIXELS_KEPT = 10_000
"""Size of the replay buffer that a loaded agent of images allocates; the library's default does not fit into memory."""


def sb3_zip(agent: Agent, observations: Box | None = None) -> tuple[bytes, list[str]]:
    """The zip of an agent, and what its reader should know; `observations` as the environment declares them."""
    seen = observations or observation_box(agent)
    model = sb3_model(agent)
    data = {
        "policy_class": _pickled(model.policy_class),
        "policy_kwargs": _pickled(model.kwargs),
        "observation_space": _pickled(box_space(seen.low, seen.high, seen.dtype)),
        "action_space": _pickled(action_space(agent)),
        "verbose": 0,
        "n_envs": 1,
        "num_timesteps": int(agent.meta.get("steps") or 0),
        "seed": agent.meta.get("seed") if isinstance(agent.meta.get("seed"), int) else None,
        "use_sde": False,
    }
    if isinstance(agent.normaliser, PixelNormaliser) and model.algorithm in ("DQN", "SAC", "TD3"):
        data["buffer_size"] = PIXELS_KEPT
    if model.algorithm == "SAC":
        data["target_entropy"] = -float(agent.spec.actions.size)
    variables = {"log_ent_coef": np.full(1, math.log(0.1), np.float32)} if model.algorithm == "SAC" else {}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("data", json.dumps(data, indent=1))
        archive.writestr("pytorch_variables.pth", torch_file(variables))
        archive.writestr("policy.pth", torch_file(model.weights))
        for name, parameters in model.trained.items():
            archive.writestr(f"{name}.pth", torch_file(_optimiser(model.algorithm, parameters)))
        archive.writestr("_stable_baselines3_version", VERSION)
    return buffer.getvalue(), model.notes


def _optimiser(algorithm: str, parameters: int) -> dict[str, Any]:
    """The state of an optimiser that has made no step yet."""
    common: dict[str, Any] = {"weight_decay": 0, "capturable": False, "foreach": None, "maximize": False}
    common |= {"differentiable": False, "lr": LEARNING_RATE[algorithm], "params": list(range(parameters))}
    if algorithm == "A2C":
        own: dict[str, Any] = {"momentum": 0, "alpha": 0.99, "eps": 1e-5, "centered": False}
    else:
        eps = 1e-5 if algorithm == "PPO" else 1e-8
        own = {"betas": (0.9, 0.999), "eps": eps, "amsgrad": False, "fused": None, "decoupled_weight_decay": False}
    return {"state": {}, "param_groups": [common | own]}


def _pickled(value: Any) -> dict[str, str]:
    return {":type:": "", ":serialized:": base64.b64encode(PickleWriter().dump(value)).decode()}
