"""Settings of hardening: the method and the configuration with which an agent is fine-tuned."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wocar.agent import Agent
from wocar.methods.layers import files
from wocar.methods.presets import default_config, find_preset
from wocar.methods.registry import find_method, known_method
from wocar.methods.tasks import kind_of, task_of
from wocar.networks import CategoricalPolicy, GaussianPolicy, GreedyPolicy, SquashedGaussianPolicy, SquashedPolicy
from wocar.threat import Threat
from wocar.training.a2c import A2CConfig
from wocar.training.run_config import RunConfig, with_settings
from wocar.types import UserError

WARM_UP = 0.1
"""Share of the steps in which critics are fitted and the policy is frozen; Q networks need none."""
CHECKS = 12
"""Checkpoints of a hardening, at each of which the agent is checked."""
HARDENED_BY = ("wocar-ppo", "wocar-a2c", "wocar-dqn", "wocar-sac")


def hardening_methods(agent: Agent) -> tuple[str, ...]:
    """The methods that can fine-tune an agent, by its kind of policy; the first is the usual one."""
    policy = agent.policy
    if agent.black_box:
        raise UserError("a black box cannot be hardened: there are no weights to train")
    if isinstance(policy, GreedyPolicy):
        return ("wocar-ppo", "wocar-dqn") if len(agent.spec.obs_shape) == 1 else ("wocar-dqn",)
    if isinstance(policy, SquashedPolicy | SquashedGaussianPolicy):
        if len(agent.spec.obs_shape) != 1:
            raise UserError("actors of images cannot be hardened: wocar-sac takes vectors only")
        return ("wocar-sac",)
    if isinstance(policy, GaussianPolicy | CategoricalPolicy):
        known = known_method(str(agent.meta.get("method")))
        a2c = known is not None and issubclass(known.algorithm, A2CConfig)
        return ("wocar-a2c", "wocar-ppo") if a2c else ("wocar-ppo", "wocar-a2c")
    raise UserError(f"a {type(policy).__name__} cannot be hardened: {', '.join(HARDENED_BY)} train other policies")


def hardening_config(
    agent: Agent,
    threat: Threat,
    out: Path,
    method: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> RunConfig:
    """The method's own preset, what hardening changes in it, and what was asked for."""
    fitting = hardening_methods(agent)
    name = method or fitting[0]
    if name not in HARDENED_BY:
        raise UserError(f"{name} does not harden agents; methods that do: {', '.join(HARDENED_BY)}")
    if name not in fitting:
        raise UserError(f"{name} cannot go on from this agent's policy; {fitting[0]} can")
    config = dataclasses.replace(_preset(name, agent.spec.id), out=out, seed=seed)
    given = {**_changes(name, agent), "normalise_obs": False, "threat": threat.seen_by(agent)}
    if steps is not None:
        given["steps"] = steps
    given |= settings or {}
    config = with_settings(config, given)
    return dataclasses.replace(config, checkpoint_every=max(1, config.steps // CHECKS))


def warm_up_iterations(config: RunConfig) -> int:
    return 0 if config.method == "wocar-dqn" else round(WARM_UP * config.iterations)


def _preset(method: str, env: str) -> RunConfig:
    """That for fine-tuning, where the method has one for the task, else its default."""
    if "fine-tune" in find_method(method).presets:
        try:
            return find_preset(method, env, "fine-tune").config
        except UserError:
            pass
    return default_config(method, env)


def _changes(method: str, agent: Agent) -> dict[str, Any]:
    env = agent.spec.id
    where = {"kind": (kind_of(env),), "task": (task_of(env),)}
    of_values = isinstance(agent.policy, GreedyPolicy) and method == "wocar-ppo"
    source = "harden-values" if of_values else f"harden-{method}"
    layers = [layer for file in files(source) for layer in file.layers(where)]
    return {key: value for layer in layers for key, value in layer.settings.items()}
