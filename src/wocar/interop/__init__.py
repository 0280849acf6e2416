"""Agents of others as our own: published `.model` files and Stable-Baselines3 zips. Nothing in them is executed."""

from pathlib import Path

from wocar.agent import Agent
from wocar.interop.model_files import LoadedFile, file_family, load_published
from wocar.interop.restricted import one_line_refusal
from wocar.interop.sb3 import is_sb3, load_sb3
from wocar.interop.torch_files import read_file
from wocar.types import UserError

__all__ = ["LoadedFile", "file_family", "load", "load_all"]


def load_all(path: Path | str, env: str | None = None, normaliser: Path | None = None) -> LoadedFile:
    """The agent of a foreign file, and the adversary that comes with it, if any.

    `env`: the environment's id, where the file does not tell. `normaliser`: VecNormalize's pickle, for a zip.
    """
    path = Path(path)
    data = read_file(path)
    with one_line_refusal(str(path)):
        sb3 = is_sb3(data)
    if sb3:
        return LoadedFile(load_sb3(path, env, normaliser), None)
    if normaliser is not None:
        raise UserError(f"{path} is not a Stable-Baselines3 zip: it has no use for a VecNormalize pickle")
    return load_published(path, env)


def load(path: Path | str, env: str | None = None, normaliser: Path | None = None) -> Agent:
    """The agent of a foreign file; the victim, where the file also holds its adversary."""
    return load_all(path, env, normaliser).victim
