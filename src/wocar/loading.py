"""Agents by path or name: run folders, agent folders, files from elsewhere, the zoo."""

import dataclasses
from pathlib import Path

from wocar import interop
from wocar.agent import Agent
from wocar.envs import allow_import, env_spec
from wocar.training.run_folder import load_run_agent
from wocar.types import UserError, require_compatible
from wocar.zoo.entries import find_entry, is_zoo_name


def load(path: Path | str, env: str | None = None, normaliser: Path | str | None = None) -> Agent:
    """The agent in a run folder, an agent folder, a Stable-Baselines3 zip or a published .model file, or `zoo:NAME`.

    For files: `env` is the environment's id where they do not tell, `normaliser` a pickle of VecNormalize. Others hold
    their normaliser; `env` is then another environment for the same agent.
    """
    allow_import(env)
    if not is_zoo_name(path) and not Path(path).exists():
        raise UserError(f"there is no {path}")
    if Path(path).is_file():
        return interop.load(path, env, Path(normaliser) if normaliser else None)
    if normaliser is not None:
        raise UserError(f"--normaliser is for a Stable-Baselines3 zip; the agent in {path} holds its own")
    return in_environment(find_entry(path).agent() if is_zoo_name(path) else load_run_agent(Path(path)), env)


def in_environment(agent: Agent, env: str | None) -> Agent:
    """The agent in another environment that shows and takes the same arrays; None: in its own."""
    allow_import(env)
    if env is None or env == agent.spec.id:
        return agent
    spec = env_spec(env)
    require_compatible(agent.spec, spec)
    return dataclasses.replace(agent, spec=agent.spec._replace(id=env, max_steps=spec.max_steps))


def given_agent(agent: Agent | Path | str, env: str | None, normaliser: Path | str | None) -> Agent:
    """The agent itself, or the one at a path; in another environment where one is named."""
    if isinstance(agent, Path | str):
        return load(agent, env, normaliser)
    if normaliser is not None:
        raise UserError("normaliser= is for a Stable-Baselines3 zip; an Agent holds its own")
    return in_environment(agent, env)


def load_attacker(path: Path) -> Agent:
    """The adversary in a folder, or the one that a published file holds beside its victim."""
    if not path.is_file():
        return load_run_agent(path)
    adversary = interop.load_all(path).adversary
    if adversary is None:
        raise UserError(f"{path} holds no adversary")
    return adversary
