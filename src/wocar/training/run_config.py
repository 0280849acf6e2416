"""The configuration of a run: its dataclass fields are the command line and the JSON of the run folder."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from wocar import mechanisms, training
from wocar.config_base import (
    COUNT,
    KINDS,
    SEED,
    AlgorithmConfig,
    ConfigBase,
    ObjectiveConfig,
    check_ranges,
    configured,
    flat_settings,
    setting_names,
)
from wocar.files import named_path
from wocar.plugins import load_plugins
from wocar.schema import dataclass_fault
from wocar.threat import Threat
from wocar.training.adversary_config import AdversaryConfig, AttackConfig
from wocar.training.ppo import PPOConfig
from wocar.types import UserError

PARTS = ("algorithm", "robust", "attack", "adversary")


@dataclass(frozen=True)
class RunConfig:
    method: Annotated[str, tyro.conf.Suppress]
    env: str = "Hopper-v4"
    """Environment id: any of Gymnasium's, or an Atari game."""
    preset: str = "paper"
    """Settings of the task: paper, reference (what the authors' released code chose), robust (what holds against
    stronger attacks), or small (games and SAC on two cores)."""
    seed: int = 0
    """Seed of the run: networks, environments, minibatches."""
    steps: int = 2_000_000
    """Environment steps in all."""
    out: Path = Path("runs/run")
    """Folder of the run."""
    resume: bool = False
    """Go on from the last checkpoint in the folder."""
    checkpoint_every: int = 100_000
    """Steps between checkpoints. Environments start anew there, so that a resumed run equals an uninterrupted one."""
    keep_checkpoints: bool = False
    """Keep every checkpoint, not the last two only: to look at the agent as it was during training."""
    threads: int = 2
    """Threads that step the environments."""
    algorithm: AlgorithmConfig = PPOConfig()
    robust: ObjectiveConfig | None = None
    attack: AttackConfig | None = None
    adversary: AdversaryConfig | None = None

    ranges = COUNT.of("steps checkpoint_every threads") | SEED.of("seed")

    @property
    def parts(self) -> dict[str, ConfigBase]:
        """Those that this run has, by the names of their fields."""
        return {name: part for name in PARTS if (part := getattr(self, name)) is not None}

    def check(self) -> None:
        """A UserError where a number cannot be meant."""
        for part in (self, *self.parts.values()):
            check_ranges(part)
        if min(self.algorithm.hidden, default=1) <= 0:
            raise UserError(f"--hidden must be positive, not {self.algorithm.hidden}")
        for part in self.parts.values():
            part.check(self)
        blocks, count = self.rollout_steps // self.algorithm.block, self.algorithm.minibatches
        if not 0 < count <= blocks:
            what = "n_envs * n_steps" if blocks == self.rollout_steps else "n_envs"
            raise UserError(f"--minibatches must lie between 1 and {what} = {blocks}, not {count}")

    @property
    def threats(self) -> list[Threat]:
        """What the agent is trained against: its objective's, and its adversary's."""
        return [threat for part in (self.robust, self.adversary) if part for threat in part.threats]

    @property
    def threat(self) -> Threat | None:
        return next(iter(self.threats), None)

    @property
    def rollout_steps(self) -> int:
        """Environment steps that the agent learns from in an iteration."""
        return self.algorithm.n_envs * self.algorithm.n_steps

    @property
    def batch_steps(self) -> int:
        """Environment steps of an iteration: an adversary that learns too takes as many as the agent."""
        return self.rollout_steps * (2 if self.adversary else 1)

    @property
    def iterations(self) -> int:
        return -(-self.steps // self.batch_steps)

    @property
    def segment(self) -> int:
        """Iterations between checkpoints."""
        return max(1, self.checkpoint_every // self.batch_steps)


def with_settings(config: RunConfig, settings: Mapping[str, Any]) -> RunConfig:
    """The configuration with settings changed, by the names that they have on the command line."""
    own = {name: value for name, value in settings.items() if name in setting_names(RunConfig) - {"method", *PARTS}}
    changed: dict[str, Any] = {}
    for name, part in config.parts.items():
        if mine := {key: value for key, value in settings.items() if key in setting_names(type(part))}:
            changed[name] = configured(part, **mine)
            own |= mine
    if unknown := settings.keys() - own.keys():
        raise UserError(f"{config.method} has no setting {min(unknown)}; wocar train {config.method} --help lists them")
    kept = {name: value for name, value in own.items() if name in setting_names(RunConfig)}
    return dataclasses.replace(config, **kept, **changed)


def to_json(config: RunConfig) -> dict[str, Any]:
    """What the run folder keeps: plain settings, and a table for each part with its kind."""
    data = {name: value for name, value in vars(config).items() if name not in ("resume", *PARTS)}
    tables = {name: {**flat_settings(part), "kind": part.kind} for name, part in config.parts.items()}
    return _plain(data | dict.fromkeys(PARTS) | tables)


def from_json(data: dict[str, Any], out: Path) -> RunConfig:
    """What `to_json` wrote, for the folder where it now lies."""
    try:
        rest = {k: v for k, v in data.items() if k not in (*PARTS, "out")}
        parts = {name: _part(data[name]) for name in PARTS if data.get(name)}
        config = RunConfig(**rest, out=out, resume=True, **parts)
        if problem := next(filter(None, map(dataclass_fault, (config, *config.parts.values()))), ""):
            raise ValueError(problem)
        return config
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{out / 'run.json'} is damaged or of another version: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, Path) else value


def _part(table: dict[str, Any]) -> Any:
    settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    if "victim" in settings:
        settings["victim"] = named_path(Path(), settings["victim"])
    return configured(find_kind(settings.pop("kind", AdversaryConfig.kind)), **settings)


def find_kind(kind: str) -> type[ConfigBase]:
    """The class of configurations that are stored under this kind; modules that define some are imported for it."""
    if kind not in KINDS:
        for room in (mechanisms, training):
            for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
                importlib.import_module(module.name)
    if kind not in KINDS:
        load_plugins("methods")
    return KINDS[kind]
