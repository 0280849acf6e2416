"""Settings of adversaries: of one that attacks a fixed victim, and of one that learns beside an agent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro


@dataclass(frozen=True)
class AttackConfig:
    """An adversary in training, and whom it attacks."""

    victim: Path
    """The agent to attack: its folder, that of its run, or a published file."""
    eps: float
    """Radius of the ball in which the victim's observations (after its normaliser) are moved."""
    norm: Literal["linf", "l2"] = "linf"
    victim_digest: Annotated[str, tyro.conf.Suppress] = ""
    """Checksum of the victim: a run goes on against the one it began with."""


@dataclass(frozen=True)
class DirectorConfig(AttackConfig):
    """PA-AD's: the adversary directs, a gradient of the victim acts."""

    actor: Literal["sign", "pgd", "target"] = "sign"
    """How the director's word becomes a perturbation: one step or PGD along its direction, PGD to its target action."""
    pgd_steps: int = 30
    """Steps of PGD, eps / 10 each."""


def attack_meta(kind: str, attack: AttackConfig) -> dict[str, Any]:
    """What an adversary's file says of it, so that it can be loaded as an attack."""
    return {"attack": kind, **vars(attack), "victim": str(attack.victim)}


@dataclass(frozen=True)
class AdversaryConfig:
    """An adversary that learns beside the agent and attacks it meanwhile. All else is as the agent's."""

    adversary_kind: Annotated[Literal["sa-rl", "pa-ad"], tyro.conf.Suppress] = "sa-rl"
    adversary_eps: float = 0.075
    """Radius of the ball in which it moves the agent's observations, from the first step on."""
    adversary_norm: Literal["linf", "l2"] = "linf"
    adversary_policy_lr: float = 1e-3
    adversary_value_lr: float = 1e-4
    adversary_ent_coef: float = 0.0
    adversary_clip_range: float = 0.2


ATTACKS: dict[str, Any] = {"sa-rl": AttackConfig, "pa-ad": DirectorConfig}
