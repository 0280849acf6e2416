"""A training method: an algorithm, perhaps an objective and an adversary, and what else is known of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from wocar.config_base import AlgorithmConfig, ObjectiveConfig
from wocar.training.adversary_config import AttackConfig
from wocar.types import VictimFamily

LayerSource = str | Path | Traversable | Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    name: str
    """As `wocar train` is told it."""
    label: str
    """As tables write it."""
    about: str
    """One line."""
    algorithm: type[AlgorithmConfig]
    objective: type[ObjectiveConfig] | None = None
    adversary: Literal["sa-rl", "pa-ad"] | None = None
    """An adversary of this kind learns in turn with the agent."""
    attack: type[AttackConfig] | None = None
    """The method trains an attacker of `--victim`, with these settings."""
    starts_from: str = ""
    """The method whose agent it fine-tunes, with `--init-from`."""
    presets: tuple[str, ...] = ("paper",)
    """Names of its presets, the default first."""
    layers: LayerSource | None = None
    """Settings per kind of task, task and preset: the name of a file of ours, another TOML file, or its contents. By
    default the file of the method's name, where there is one."""
    family: VictimFamily = "ppo"
    """Which settings attackers of its agents have."""
    rank: int = 0
    """Place among the rows of a table."""
    cost: float = 1.0
    """Time per step over that of the algorithm alone, for estimates of how long a training takes."""
