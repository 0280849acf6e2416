"""Agents of other libraries as our own. Nothing in their files is executed."""

from collections.abc import Callable
from os.path import exists, isdir
from pathlib import Path
from typing import Any

from wocar.agent import Agent
from wocar.interop.cleanrl import is_cleanrl, load_cleanrl
from wocar.interop.hub_folder import find_zip, read_hub_folder
from wocar.interop.model_files import LoadedFile, file_family, load_published
from wocar.interop.onnx_reader import is_onnx, load_onnx
from wocar.interop.restricted import one_line_refusal
from wocar.interop.sb3 import is_sb3, load_sb3
from wocar.interop.sb3_objects import is_sb3_model, load_sb3_model
from wocar.interop.torch_files import read_file
from wocar.types import EnvSpec, UserError

SpecOf = Callable[[str], EnvSpec]
__all__ = ["LoadedFile", "file_family", "findings", "is_foreign", "is_model", "load", "load_all", "load_object"]


def is_foreign(path: Path) -> bool:
    """Whether an agent there is one of another library: a file, or a folder with a zip in it."""
    if isdir(path):
        own = any(exists(path / name) for name in ("agent.json", "run.json"))
        return not own and find_zip(path) is not None
    return exists(path)


def load_all(
    path: Path | str, env: str | None = None, normaliser: Path | None = None, spec_of: SpecOf | None = None
) -> LoadedFile:
    """The agent of a foreign file or folder, and the adversary that comes with it, if any.

    `env`: the environment's id, where the file does not tell. `normaliser`: VecNormalize's pickle, for a zip.
    `spec_of` tells the observations and actions of an environment, which some files do not.
    """
    path = Path(path)
    if isdir(path):
        return LoadedFile(_load_folder(path, env, normaliser), None)
    data = read_file(path)
    with one_line_refusal(str(path)):
        sb3 = is_sb3(data)
    if sb3:
        return LoadedFile(load_sb3(path, env, normaliser), None)
    if normaliser is None and spec_of is not None and is_onnx(path.name):
        return LoadedFile(load_onnx(data, path.name, env, spec_of), None)
    if normaliser is None and spec_of is not None and is_cleanrl(path):
        return LoadedFile(load_cleanrl(data, path, env, spec_of), None)
    if normaliser is not None:
        raise UserError(f"{path} is not a Stable-Baselines3 zip: it has no use for a VecNormalize pickle")
    return load_published(path, env)


def load(
    path: Path | str, env: str | None = None, normaliser: Path | None = None, spec_of: SpecOf | None = None
) -> Agent:
    """The agent of a foreign file or folder; the victim, where the file also holds its adversary."""
    return load_all(path, env, normaliser, spec_of).victim


def is_model(thing: Any) -> bool:
    """Whether it is an agent, or a model that can be read as one."""
    return isinstance(thing, Agent) or is_sb3_model(thing)


def load_object(thing: Any, env: str | None = None, normaliser: Path | None = None) -> Agent:
    """The agent of another library's model in memory."""
    if isinstance(thing, Agent):
        return thing
    if is_sb3_model(thing):
        return load_sb3_model(thing, env, read_file(normaliser) if normaliser else None)
    raise UserError(f"a {type(thing).__name__} is not an agent: give a folder, a file or a Stable-Baselines3 model")


def findings(agent: Agent) -> list[str]:
    """What was found beside an imported agent, and what its user should know of it."""
    meta = agent.meta
    if meta.get("library") != "stable-baselines3":
        return list(meta.get("notes", []))
    said = [f"observations are normalised by {meta['normaliser']}"] if "normaliser" in meta else []
    if not said:
        said = ["no VecNormalize statistics given or found: observations enter the policy as they are"]
        if meta.get("method") in NORMALISED and len(agent.spec.obs_shape) == 1:
            said[0] += f"; {meta['method']} is often trained with them, give --normaliser if this agent was"
    return [*said, *meta.get("notes", [])]


NORMALISED = ("ppo", "a2c", "recurrent-ppo")
"""What the RL Zoo trains with VecNormalize."""


def _load_folder(folder: Path, env: str | None, normaliser: Path | None) -> Agent:
    zip = find_zip(folder)
    if zip is None:
        raise UserError(f"{folder} holds no agent: neither a run, nor a Stable-Baselines3 zip")
    found = read_hub_folder(folder, zip)
    agent = load_sb3(zip, env or found.env, normaliser)
    notes = [*found.notes]
    if found.env_kwargs:
        notes.append(f"its environment was made with {found.env_kwargs}, which --env-kwargs can give")
    if notes:
        agent.meta["notes"] = notes
    return agent
