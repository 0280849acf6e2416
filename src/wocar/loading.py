"""Agents from wherever they are, and to where they are needed."""

import dataclasses
from os.path import exists, isfile
from pathlib import Path
from typing import Any

from wocar import interop
from wocar.agent import Agent
from wocar.black_box import black_box
from wocar.envs import allow_import, declared_observations, env_spec, is_flattened
from wocar.interop.export import Exported, ExportFormat, export_agent
from wocar.interop.sb3_space_writer import Box
from wocar.training.run_folder import load_run_agent
from wocar.types import UserError, require_compatible
from wocar.zoo.entries import find_entry, is_zoo_name

AgentSource = Any
"""A run or agent folder, `zoo:NAME`, a file or folder of another library, an `Agent`, a model of Stable-Baselines3, or
any function of observations (or object with such a `predict`): a black box."""

FLATTENED = "it takes flat observations: wrap the environment in gymnasium.wrappers.FlattenObservation"


def load(agent: AgentSource, env: str | None = None, normaliser: Path | str | None = None) -> Agent:
    """The agent in a run or agent folder, of the zoo (`zoo:NAME`), or of another library: docs/import-export.md.

    For what is another library's: `env` is the environment's id where it does not tell, `normaliser` a pickle of
    VecNormalize. Our own agents hold their normaliser; `env` is then another environment for the same agent.
    """
    allow_import(env)
    statistics = Path(normaliser) if normaliser else None
    if isinstance(agent, Path | str) and is_zoo_name(agent):
        agent = find_entry(agent).agent()
    path = Path(agent) if isinstance(agent, Path | str) else None
    if path is not None and not exists(path):
        raise UserError(f"there is no {path}")
    if path is not None and interop.is_foreign(path):
        return interop.load(path, env, statistics, env_spec)
    if path is None and (callable(agent) or hasattr(agent, "predict")) and not interop.is_model(agent):
        if env is None:
            raise UserError("a policy that can only be called does not tell its environment: give env, its id")
        return black_box(agent, env_spec(env))
    if path is None and not isinstance(agent, Agent):
        return interop.load_object(agent, env, statistics)
    if normaliser is not None:
        raise UserError(f"a normaliser is for a Stable-Baselines3 zip; {path or 'an Agent'} holds its own")
    return in_environment(agent if path is None else load_run_agent(path), env)


def in_environment(agent: Agent, env: str | None) -> Agent:
    """The agent in another environment that shows and takes the same arrays; None: in its own."""
    allow_import(env)
    if env is None or env == agent.spec.id:
        return agent
    spec = env_spec(env)
    require_compatible(agent.spec, spec)
    return dataclasses.replace(agent, spec=agent.spec._replace(id=env, max_steps=spec.max_steps))


def export(
    agent: AgentSource,
    to: ExportFormat,
    out: Path | str,
    *,
    env: str | None = None,
    normaliser: Path | str | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write an agent for Stable-Baselines3 (a zip, with VecNormalize's statistics beside it) or as an ONNX file.

    `env` and `normaliser` as for `load`. The result names the files, and says what their reader should know.
    """
    victim = load(agent, env, normaliser)
    declared = declared_observations(victim.spec) if to == "sb3" else None
    done = export_agent(victim, to, Path(out), Box(*declared) if declared else None, overwrite)
    flattened = [FLATTENED] if is_flattened(victim.spec.id) else []
    return done._replace(notes=[*done.notes, *flattened])


def load_attacker(path: Path) -> Agent:
    """The adversary in a folder, or the one that a published file holds beside its victim."""
    if not isfile(path):
        return load_run_agent(path)
    adversary = interop.load_all(path).adversary
    if adversary is None:
        raise UserError(f"{path} holds no adversary")
    return adversary
