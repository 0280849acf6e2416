"""Settings of learned attackers per victim and task: the grids that published attacks were searched in."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any, get_args

from wocar.agent import Agent
from wocar.config_base import configured
from wocar.interop import file_family
from wocar.methods.layers import files
from wocar.methods.presets import find_preset
from wocar.methods.registry import known_method
from wocar.methods.tasks import kind_of, task_of
from wocar.threat import Threat
from wocar.training.ppo import PPOConfig
from wocar.training.run_config import RunConfig
from wocar.types import VictimFamily

PUBLISHED, MEASURED = "attacker", "measured-attacker"
"""Files of settings: the middles of the published grids; the same with better ones where known."""
GRID_SETTINGS = ("policy_lr", "value_lr", "init_std", "value_clip")
LADDER = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
"""Learning rates; those of a grid are three neighbours."""
CLIPS = (0.2, 0.4)
ENTROPIES = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)


def attacker_settings(victim: Agent) -> dict[str, Any]:
    """PPO's settings for one attacker of the victim: the middle of its grid, or better ones where known."""
    return _grid_settings(_settings(MEASURED, victim))


def attacker_grid(victim: Agent) -> list[dict[str, Any]]:
    """The 216 settings of the published search: learning rates, clip, entropy bonus, annealing."""
    middle = _grid_settings(_settings(PUBLISHED, victim))
    rates = (_neighbours(middle[name]) for name in ("policy_lr", "value_lr"))
    rows = itertools.product(*rates, CLIPS, ENTROPIES, (True, False))
    return [
        {**middle, "policy_lr": p, "value_lr": v, "clip_range": clip, "ent_coef": entropy, "anneal_lr": anneal}
        for p, v, clip, entropy, anneal in rows
    ]


def victim_family(victim: Agent) -> VictimFamily:
    """Which grid attackers of the victim have, by how it was trained; importers write it into an agent's meta."""
    method = str(victim.meta.get("method", ""))
    if victim.meta.get("family") in get_args(VictimFamily):
        return victim.meta["family"]
    known = known_method(method)
    return known.family if known else file_family(method)


def attacker_config(name: str, victim: Agent, path: Path, threat: Threat) -> RunConfig:
    """The preset of an attacker of `victim`, which lies in `path`."""
    preset = find_preset(name, victim.spec.id, family=victim_family(victim))
    kind = preset.method.attack
    assert kind is not None
    attack = configured(kind, victim=path, threat=threat, **kind.for_victim(victim.spec))
    return dataclasses.replace(preset.config, attack=attack)


def _settings(source: Any, victim: Agent) -> dict[str, Any]:
    env = victim.spec.id
    where = {"kind": (kind_of(env),), "family": (victim_family(victim),), "task": (task_of(env),)}
    layers = [layer for file in files(source) for layer in file.layers(where)]
    return {key: value for layer in layers for key, value in layer.settings.items()}


def _grid_settings(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: settings.get(name, getattr(PPOConfig, name)) for name in GRID_SETTINGS}


def _neighbours(lr: float) -> tuple[float, ...]:
    at = LADDER.index(lr)
    return LADDER[at - 1 : at + 2]
