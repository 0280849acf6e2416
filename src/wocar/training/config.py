"""The configuration of a run: its dataclass fields are the command line and the JSON of the run folder."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from wocar.training.a2c import A2CConfig
from wocar.training.ppo import PPOConfig
from wocar.types import UserError

ALGORITHMS: dict[str, Any] = {"ppo": PPOConfig, "a2c": A2CConfig}


@dataclass(frozen=True)
class RunConfig:
    method: Annotated[str, tyro.conf.Suppress]
    env: str = "Hopper-v4"
    """Environment id: EnvPool's MuJoCo, or any Gymnasium id."""
    seed: int = 0
    steps: int = 2_000_000
    """Environment steps in all."""
    out: Path = Path("runs/run")
    """Folder of the run."""
    resume: bool = False
    """Go on from the last checkpoint in the folder."""
    checkpoint_every: int = 100_000
    """Steps between checkpoints. Environments start anew there, so that a resumed run equals an uninterrupted one."""
    threads: int = 2
    """Threads that step the environments."""
    algorithm: PPOConfig | A2CConfig = PPOConfig()

    def check(self) -> None:
        for name in ("steps", "checkpoint_every", "threads"):
            if getattr(self, name) <= 0:
                raise UserError(f"--{name.replace('_', '-')} must be positive, not {getattr(self, name)}")
        if self.seed < 0:
            raise UserError(f"--seed must not be negative, not {self.seed}")
        batch = self.algorithm.n_envs * self.algorithm.n_steps
        if self.algorithm.n_envs <= 0 or self.algorithm.n_steps <= 0:
            raise UserError("--n-envs and --n-steps must be positive")
        parts = getattr(self.algorithm, "minibatches", 1)
        if not 0 < parts <= batch:
            raise UserError(f"--minibatches must lie between 1 and n_envs * n_steps = {batch}, not {parts}")

    @property
    def batch_steps(self) -> int:
        return self.algorithm.n_envs * self.algorithm.n_steps

    @property
    def iterations(self) -> int:
        return -(-self.steps // self.batch_steps)

    @property
    def segment(self) -> int:
        """Iterations between checkpoints."""
        return max(1, self.checkpoint_every // self.batch_steps)


def to_json(config: RunConfig) -> dict[str, Any]:
    data = dataclasses.asdict(config)
    data["out"] = str(config.out)
    del data["resume"]
    data["algorithm"]["kind"] = next(k for k, cls in ALGORITHMS.items() if cls is type(config.algorithm))
    return data


def from_json(data: dict[str, Any], out: Path) -> RunConfig:
    """What `to_json` wrote, for the folder where it now lies."""
    try:
        algorithm = dict(data["algorithm"])
        kind = ALGORITHMS[algorithm.pop("kind")]
        algorithm["hidden"] = tuple(algorithm["hidden"])
        rest = {k: v for k, v in data.items() if k not in ("algorithm", "out")}
        return RunConfig(**rest, out=out, resume=True, algorithm=kind(**algorithm))
    except (KeyError, TypeError) as error:
        raise UserError(f"{out / 'run.json'} is damaged or of another version: {error}") from error
