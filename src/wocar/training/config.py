"""The configuration of a run: its dataclass fields are the command line and the JSON of the run folder."""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from wocar.mechanisms.config import RobustConfig, WocarConfig
from wocar.training.a2c import A2CConfig
from wocar.training.ppo import PPOConfig
from wocar.types import UserError

ALGORITHMS: dict[str, Any] = {"ppo": PPOConfig, "a2c": A2CConfig}
OBJECTIVES: dict[str, Any] = {"state-adversarial": RobustConfig, "wocar": WocarConfig}
COUNTS = ("steps", "checkpoint_every", "threads", "n_envs", "n_steps", "policy_epochs", "value_epochs")
ROBUST_COUNTS = ("reg_steps", "search_steps", "critic_epochs", "critic_minibatches")
SIZES = ("init_std", "clip_range", "max_grad_norm")
RANGES: list[tuple[tuple[str, ...], float, float, str]] = [
    (COUNTS + ROBUST_COUNTS, 1, sys.maxsize, "be positive"),
    (SIZES, sys.float_info.min, sys.float_info.max, "be positive"),
    (
        ("policy_lr", "value_lr", "ent_coef", "eps", "kappa_reg", "kappa_wst", "critic_lr"),
        0,
        sys.float_info.max,
        "be a number from 0 up",
    ),
    (("gamma", "gae_lambda", "eps_ramp", "critic_tau"), 0, 1, "lie between 0 and 1"),
    (("seed",), 0, 2**31 - 1, "lie between 0 and 2147483647"),
]


@dataclass(frozen=True)
class RunConfig:
    method: Annotated[str, tyro.conf.Suppress]
    env: str = "Hopper-v4"
    """Environment id: EnvPool's MuJoCo, or any Gymnasium id."""
    preset: str = "paper"
    """Settings of the task: paper, or reference (what the authors' released code chose)."""
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
    algorithm: PPOConfig | A2CConfig = PPOConfig()  # noqa: RUF009
    robust: WocarConfig | RobustConfig | None = None

    def check(self) -> None:
        """A UserError where a number cannot be meant."""
        options = {**vars(self), **vars(self.algorithm), **(vars(self.robust) if self.robust else {})}
        for names, low, high, words in RANGES:
            for name in names:
                if name in options and not low <= options[name] <= high:
                    raise UserError(f"--{name.replace('_', '-')} must {words}, not {options[name]}")
        if min(self.algorithm.hidden, default=1) <= 0:
            raise UserError(f"--hidden must be positive, not {self.algorithm.hidden}")
        batch = self.batch_steps
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
    if config.robust is not None:
        data["robust"]["kind"] = next(k for k, cls in OBJECTIVES.items() if cls is type(config.robust))
    return data


def from_json(data: dict[str, Any], out: Path) -> RunConfig:
    """What `to_json` wrote, for the folder where it now lies."""
    try:
        algorithm = dict(data["algorithm"])
        kind = ALGORITHMS[algorithm.pop("kind")]
        algorithm["hidden"] = tuple(algorithm["hidden"])
        robust = dict(data["robust"]) if data["robust"] else None
        objective = OBJECTIVES[robust.pop("kind")](**robust) if robust else None
        rest = {k: v for k, v in data.items() if k not in ("algorithm", "robust", "out")}
        return RunConfig(**rest, out=out, resume=True, algorithm=kind(**algorithm), robust=objective)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{out / 'run.json'} is damaged or of another version: {error}") from error
