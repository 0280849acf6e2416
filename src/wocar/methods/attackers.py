"""Settings of learned attackers per victim and task: the grids that published attacks were searched in."""

import itertools
import re
from pathlib import Path
from typing import Any

from wocar.agent import Agent
from wocar.threat import Threat
from wocar.training.adversary_config import ATTACKS
from wocar.training.ppo import PPOConfig
from wocar.training.run_config import RunConfig

ATTACKERS: dict[str, str] = {
    "sa-rl": "an attacker of --victim that learns its perturbations",
    "pa-ad": "an attacker of --victim that learns where to push it, along the victim's gradient",
}
STEPS: dict[str, int] = {"Ant": 4_999_168}
"""2441 iterations of 2048 steps; 488 elsewhere."""
INIT_STD: dict[str, float] = {"HalfCheetah": 0.5}
USUAL = (3e-4, 3e-4)
LADDER = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
CENTRES: dict[str, dict[str, tuple[float, float]]] = {
    "ppo": {"Hopper": (1e-3, 1e-3), "Walker2d": (3e-4, 3e-4), "HalfCheetah": (1e-3, 3e-5), "Ant": (1e-4, 1e-4)},
    "robust": {"Hopper": (3e-4, 3e-4), "Walker2d": (3e-4, 3e-4), "HalfCheetah": (3e-4, 1e-4), "Ant": (3e-5, 3e-5)},
    "atla": {"Hopper": (1e-3, 1e-4), "Walker2d": (1e-3, 1e-4), "HalfCheetah": (1e-3, 3e-4), "Ant": (1e-5, 3e-6)},
}
"""Policy and value learning rates by kind of victim and task: each the middle of three neighbours on the ladder."""
MEASURED: dict[tuple[str, str], dict[str, Any]] = {
    ("ppo", "HalfCheetah"): {"value_lr": 1e-4},
    ("robust", "HalfCheetah"): {"policy_lr": 1e-3, "value_lr": 1e-3, "value_clip": False},
}
"""Where settings were found to do better than the middle of the grid."""
ROBUST = re.compile(r"wocar|radial|sa-?(ppo|a2c|dqn)")
CLIPS = (0.2, 0.4)
ENTROPIES = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)


def attacker_settings(victim: Agent) -> dict[str, Any]:
    """PPO's settings for one attacker of the victim: the middle of its grid, or better ones where known."""
    kind, task = victim_kind(victim), _task(victim)
    return {**_settings(task, *CENTRES[kind].get(task, USUAL)), **MEASURED.get((kind, task), {})}


def attacker_grid(victim: Agent) -> list[dict[str, Any]]:
    """The 216 settings of the published search: learning rates, clip, entropy bonus, annealing."""
    task = _task(victim)
    policy_lr, value_lr = CENTRES[victim_kind(victim)].get(task, USUAL)
    rows = itertools.product(_neighbours(policy_lr), _neighbours(value_lr), CLIPS, ENTROPIES, (True, False))
    return [
        {**_settings(task, p, v), "clip_range": clip, "ent_coef": entropy, "anneal_lr": anneal}
        for p, v, clip, entropy, anneal in rows
    ]


def victim_kind(victim: Agent) -> str:
    """Rows of the grid by how the victim was trained."""
    method = str(victim.meta.get("method", "ppo"))
    if "atla" in method:
        return "atla"
    return "robust" if ROBUST.search(method) else "ppo"


def attacker_config(method: str, victim: Agent, path: Path, threat: Threat) -> RunConfig:
    """The preset of an attacker of `victim`, which lies in `path`."""
    settings: dict[str, Any] = {"victim": path, "threat": threat}
    if method == "pa-ad" and victim.spec.actions.discrete:
        settings["actor"] = "target"
    return RunConfig(
        method=method,
        env=victim.spec.id,
        steps=STEPS.get(_task(victim), 999_424),
        algorithm=PPOConfig(**attacker_settings(victim), normalise_obs=False),
        attack=ATTACKS[method](**settings),
    )


def _settings(task: str, policy_lr: float, value_lr: float) -> dict[str, Any]:
    return {
        "policy_lr": policy_lr,
        "value_lr": value_lr,
        "init_std": INIT_STD.get(task, 1.0),
        "value_clip": task != "Hopper",
    }


def _neighbours(lr: float) -> tuple[float, ...]:
    at = LADDER.index(lr)
    return LADDER[at - 1 : at + 2]


def _task(victim: Agent) -> str:
    return victim.spec.id.split("-v")[0]
