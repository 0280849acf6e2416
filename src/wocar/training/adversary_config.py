"""Settings of adversaries: of one that attacks a fixed victim, and of one that learns beside an agent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from wocar.bounds.ball import Norm
from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, ConfigBase, flat_settings
from wocar.threat import Attacked, Threat, Units
from wocar.types import EnvSpec, UserError


@dataclass(frozen=True)
class AttackConfig(ConfigBase, kind="sa-rl"):
    """An adversary of a fixed victim."""

    victim: Path
    """The agent to attack: its folder, that of its run, or a published file."""
    threat: Threat
    victim_digest: Annotated[str, tyro.conf.Suppress] = ""
    """Checksum of the victim: a run is resumed against the one it began with."""

    def __post_init__(self) -> None:
        if self.threat.on == "action":
            raise UserError("--threat action is not for trained attackers: they move observations")

    def check(self, run: Any) -> None:
        if run.algorithm.normalise_obs:
            raise UserError("--normalise-obs is not for attackers: they see what the victim's normaliser gives")

    @staticmethod
    def for_victim(spec: EnvSpec) -> dict[str, Any]:
        """Settings that follow from the victim's environment."""
        return {}


@dataclass(frozen=True)
class DirectorConfig(AttackConfig, kind="pa-ad"):
    """PA-AD: the adversary chooses a direction, a gradient of the victim follows it."""

    actor: Literal["sign", "pgd", "target"] = "sign"
    """How the director's action is carried out: one step or PGD along its direction, PGD to its target action."""
    pgd_steps: int = 30
    """Steps of PGD, eps / 10 each."""

    ranges = COUNT.of("pgd_steps")

    @staticmethod
    def for_victim(spec: EnvSpec) -> dict[str, Any]:
        return {"actor": "target"} if spec.actions.discrete else {}


def attack_meta(kind: str, attack: AttackConfig) -> dict[str, Any]:
    """What an adversary's file says of it, so that it can be loaded as an attack."""
    flat = flat_settings(attack)
    return {"attack": kind, **flat, "victim": str(attack.victim), "threat": attack.threat.to_json()}


@dataclass(frozen=True)
class AdversaryThreat(Threat):
    """That of an adversary beside an agent with a threat of its own: options have other names."""

    eps: Annotated[float, tyro.conf.arg(name="adversary-eps")]
    norm: Annotated[Norm, tyro.conf.arg(name="adversary-norm")] = "linf"
    on: Annotated[Attacked, tyro.conf.Suppress] = "observation"
    units: Annotated[Units, tyro.conf.arg(name="adversary-units")] = "normalised"
    radii: Annotated[tuple[float, ...] | None, tyro.conf.arg(name="adversary-radii")] = None

    OPTION: ClassVar[str] = "--adversary-"


@dataclass(frozen=True)
class AdversaryConfig(ConfigBase, kind="adversary"):
    """An adversary that learns beside the agent and attacks it meanwhile. All else is as the agent's."""

    adversary_kind: Annotated[Literal["sa-rl", "pa-ad"], tyro.conf.Suppress] = "sa-rl"
    adversary_threat: AdversaryThreat = AdversaryThreat(0.075)
    adversary_policy_lr: float = 1e-3
    """Learning rate of the adversary's policy."""
    adversary_value_lr: float = 1e-4
    """Learning rate of the adversary's value critic."""
    adversary_ent_coef: float = 0.0
    """Weight of the entropy in the adversary's loss."""
    adversary_clip_range: float = 0.2
    """By how much the adversary's probability ratios may depart from 1."""

    ranges = POSITIVE.of("adversary_clip_range") | NOT_NEGATIVE.of(
        "adversary_policy_lr adversary_value_lr adversary_ent_coef"
    )


ATTACKS: dict[str, Any] = {"sa-rl": AttackConfig, "pa-ad": DirectorConfig}
