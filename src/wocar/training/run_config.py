"""The configuration of a run: its dataclass fields are the command line and the JSON of the run folder."""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from wocar.mechanisms.policy_config import RadialConfig, RobustConfig, WocarConfig
from wocar.mechanisms.q_config import RadialQConfig, RobustQConfig, WocarQConfig
from wocar.training.a2c import A2CConfig
from wocar.training.adversary_config import ATTACKS, AdversaryConfig, AttackConfig, DirectorConfig
from wocar.training.dqn import DQNConfig
from wocar.training.ppo import PPOConfig
from wocar.training.recurrent_ppo import RecurrentPPOConfig
from wocar.types import UserError

ALGORITHMS: dict[str, Any] = {"ppo": PPOConfig, "a2c": A2CConfig, "recurrent-ppo": RecurrentPPOConfig, "dqn": DQNConfig}
OBJECTIVES: dict[str, Any] = {
    "state-adversarial": RobustConfig,
    "wocar": WocarConfig,
    "radial": RadialConfig,
    "state-adversarial-q": RobustQConfig,
    "wocar-q": WocarQConfig,
    "radial-q": RadialQConfig,
}
COUNTS = ("steps", "checkpoint_every", "threads", "n_envs", "n_steps", "policy_epochs", "value_epochs", "chunk")
ROBUST_COUNTS = ("reg_steps", "search_steps", "critic_epochs", "critic_minibatches")
ATTACK_COUNTS = ("pgd_steps",)
DQN_COUNTS = ("train_freq", "batch_size", "buffer_size", "target_update_interval", "n_step", "exploration_hold")
DQN_SHARES = (
    *("exploration_fraction", "exploration_initial_eps", "exploration_final_eps", "exploration_end_eps"),
    *("tau", "per_alpha", "per_beta"),
    *("eps_begin", "eps_end", "kappa_begin", "radial_weight"),
)
SIZES = ("reg_temperature", "init_std", "clip_range", "max_grad_norm", "adversary_clip_range")
RANGES: list[tuple[tuple[str, ...], float, float, str]] = [
    (COUNTS + ROBUST_COUNTS + ATTACK_COUNTS + DQN_COUNTS, 1, sys.maxsize, "be positive"),
    (SIZES, sys.float_info.min, sys.float_info.max, "be positive"),
    (
        (
            "policy_lr",
            "value_lr",
            "learning_rate",
            "ent_coef",
            "eps",
            "kappa_reg",
            "kappa_wst",
            "critic_lr",
            "reg_lead",
            "adversary_eps",
            "adversary_policy_lr",
            "adversary_value_lr",
            "adversary_ent_coef",
        ),
        0,
        sys.float_info.max,
        "be a number from 0 up",
    ),
    (("gamma", "gae_lambda", "eps_ramp", "critic_tau", *DQN_SHARES), 0, 1, "lie between 0 and 1"),
    (("seed",), 0, 2**31 - 1, "lie between 0 and 2147483647"),
]


@dataclass(frozen=True)
class RunConfig:
    method: Annotated[str, tyro.conf.Suppress]
    env: str = "Hopper-v4"
    """Environment id: any of Gymnasium's, or an Atari game."""
    preset: str = "paper"
    """Settings of the task: paper, reference (what the authors' released code chose), or small (games, two cores)."""
    seed: int = 0
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
    algorithm: RecurrentPPOConfig | PPOConfig | A2CConfig | DQNConfig = PPOConfig()  # noqa: RUF009
    robust: WocarConfig | RobustConfig | RadialConfig | WocarQConfig | RobustQConfig | RadialQConfig | None = None
    attack: DirectorConfig | AttackConfig | None = None
    adversary: AdversaryConfig | None = None

    def check(self) -> None:
        """A UserError where a number cannot be meant."""
        parts = [self, self.algorithm, self.robust, self.attack, self.adversary]
        options = {name: value for part in parts if part for name, value in vars(part).items()}
        for names, low, high, words in RANGES:
            for name in names:
                if options.get(name) is not None and not low <= options[name] <= high:
                    raise UserError(f"--{name.replace('_', '-')} must {words}, not {options[name]}")
        if min(self.algorithm.hidden, default=1) <= 0:
            raise UserError(f"--hidden must be positive, not {self.algorithm.hidden}")
        self._check_kinds()
        blocks = self.rollout_steps // getattr(self.algorithm, "block", 1)
        count = getattr(self.algorithm, "minibatches", 1)
        if not 0 < count <= blocks:
            what = "n_envs * n_steps" if blocks == self.rollout_steps else "n_envs"
            raise UserError(f"--minibatches must lie between 1 and {what} = {blocks}, not {count}")

    def _check_kinds(self) -> None:
        """What an algorithm or an attack asks of the rest."""
        if self.attack and self.algorithm.normalise_obs:
            raise UserError("--normalise-obs is not for attackers: they see what the victim's normaliser gives")
        if isinstance(self.algorithm, RecurrentPPOConfig):
            if getattr(self.robust, "critic_replay", 0):
                raise UserError("--critic-replay is not for an LSTM: what it remembered then is not kept")
            if len(self.algorithm.hidden) != 1:
                raise UserError(f"--hidden must be one number for an LSTM, not {self.algorithm.hidden}")
        if isinstance(self.algorithm, DQNConfig):
            self._check_dqn(self.algorithm)

    def _check_dqn(self, dqn: DQNConfig) -> None:
        if self.batch_steps % dqn.train_freq:
            raise UserError(f"--train-freq must divide n_envs * n_steps = {self.batch_steps}, not be {dqn.train_freq}")
        least = dqn.n_envs * (dqn.n_step + 10)
        if dqn.buffer_size < least:
            raise UserError(f"--buffer-size must be at least {least} here, not {dqn.buffer_size}")
        if dqn.learning_starts < 0:
            raise UserError(f"--learning-starts must be a number from 0 up, not {dqn.learning_starts}")

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


def to_json(config: RunConfig) -> dict[str, Any]:
    data = dataclasses.asdict(config)
    data["out"] = str(config.out)
    del data["resume"]
    data["algorithm"]["kind"] = next(k for k, cls in ALGORITHMS.items() if cls is type(config.algorithm))
    if config.robust is not None:
        data["robust"]["kind"] = next(k for k, cls in OBJECTIVES.items() if cls is type(config.robust))
    if config.attack is not None:
        data["attack"] |= {"victim": str(config.attack.victim), "kind": config.method}
    return data


def from_json(data: dict[str, Any], out: Path) -> RunConfig:
    """What `to_json` wrote, for the folder where it now lies."""
    try:
        algorithm = dict(data["algorithm"])
        kind = ALGORITHMS[algorithm.pop("kind")]
        algorithm["hidden"] = tuple(algorithm["hidden"])
        robust = dict(data["robust"]) if data["robust"] else None
        objective = OBJECTIVES[robust.pop("kind")](**robust) if robust else None
        attack = dict(data["attack"]) if data.get("attack") else None
        attacker = ATTACKS[attack.pop("kind")](Path(attack.pop("victim")), **attack) if attack else None
        rival = AdversaryConfig(**data["adversary"]) if data.get("adversary") else None
        rest = {k: v for k, v in data.items() if k not in ("algorithm", "robust", "attack", "adversary", "out")}
        parts = {"algorithm": kind(**algorithm), "robust": objective, "attack": attacker, "adversary": rival}
        return RunConfig(**rest, out=out, resume=True, **parts)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{out / 'run.json'} is damaged or of another version: {error}") from error
