"""Training loop: iterations, metrics, checkpoints, resume."""

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from wocar.agent import Agent
from wocar.envs import ActionFault, EnvironmentFault, make_env
from wocar.metrics_file import read_metrics, spent_seconds
from wocar.training.adversary_config import attack_meta
from wocar.training.alternating import Alternating
from wocar.training.directed_env import Directed
from wocar.training.dqn import DQN
from wocar.training.dqn_trainer import DQNTrainer
from wocar.training.on_policy import Algorithm, OnPolicy
from wocar.training.progress import TrainingProgress
from wocar.training.run_config import RunConfig
from wocar.training.run_folder import RunFolder
from wocar.training.sac import SAC
from wocar.training.sac_trainer import SACTrainer
from wocar.training.tensorboard import TensorBoardWriter
from wocar.training.trainer import Trainer
from wocar.types import EnvSpec, UserError, VectorEnv

HUGE = 1e20
"""Weights and losses beyond this count as infinite: their products overflow."""
STATISTICS = {"normaliser", "reward_scale"}
"""Parts of a trainer that are not learned by gradients."""


def make_envs(config: RunConfig, segment: int) -> VectorEnv:
    """The environments of one segment of a run, with seeds of their own."""
    count = config.algorithm.n_envs * (2 if config.adversary else 1)
    return make_env(config.env, count, config.seed, segment, config.threads, training=config.attack is None)


def train(
    config: RunConfig,
    algorithm: Algorithm | DQN | SAC,
    spec: EnvSpec,
    make: Callable[[RunConfig, int], VectorEnv] = make_envs,
    trainer: Trainer | None = None,
    on_checkpoint: Callable[[Agent], bool] | None = None,
) -> Agent:
    """Run or resume a training; returns the final agent, which the run folder then holds.

    `trainer` replaces the algorithm's own; training ends early where `on_checkpoint` says so.
    """
    for threat in config.threats:
        threat.check_training(spec, config.algorithm.normalise_obs)
    folder = RunFolder(config.out)
    run = _Run(config, trainer or make_trainer(config, algorithm, spec), make, folder, on_checkpoint)
    folder.open(config)
    try:
        return run.execute()
    finally:
        folder.close()


def make_trainer(config: RunConfig, algorithm: Any, spec: EnvSpec) -> Trainer:
    if isinstance(algorithm, DQN):
        return DQNTrainer(config, algorithm, spec)
    if isinstance(algorithm, SAC):
        return SACTrainer(config, algorithm, spec)
    if config.adversary is not None:
        return Alternating(config, algorithm, spec)
    if getattr(config.robust, "director_share", 0):
        return Directed(config, algorithm, spec)
    return OnPolicy(config, algorithm, spec)


class _Run:
    def __init__(
        self,
        config: RunConfig,
        trainer: Trainer,
        make: Callable[[RunConfig, int], VectorEnv],
        folder: RunFolder,
        on_checkpoint: Callable[[Agent], bool] | None = None,
    ) -> None:
        self.config, self.trainer, self.make, self.folder = config, trainer, make, folder
        self.on_checkpoint = on_checkpoint
        self.iteration = 0
        self.begun = 0.0
        """When it would have begun if it had never rested."""
        self.late_returns: deque[float] = deque(maxlen=100)

    def execute(self) -> Agent:
        config = self.config
        if config.resume:
            self._restore()
        self.folder.cut_metrics(self.iteration)
        self.begun = time.monotonic() - spent_seconds(read_metrics(self.folder.metrics_file))
        curves = TensorBoardWriter(self.folder.path / "tensorboard", self.iteration * config.batch_steps)
        label = f"{config.method} {config.env} seed {config.seed}"
        total = config.iterations * config.batch_steps
        origin = self.folder.checkpoints()[-1] if self.iteration else None
        with TrainingProgress(label, total, self.iteration * config.batch_steps, origin) as progress:
            while self.iteration < config.iterations:
                try:
                    self._segment(curves, progress)
                except ActionFault as fault:
                    raise UserError(self._diverged("actions")) from fault
                except EnvironmentFault as fault:
                    raise UserError(f"{fault}; {self._kept()}") from fault
                self._checkpoint()
                curves.flush()
                if self.on_checkpoint and self.on_checkpoint(self.agent()):
                    break
        agent = self.agent()
        agent.save(self.folder.path / "agent")
        self.trainer.finish()
        return agent

    def agent(self) -> Agent:
        agent, config = self.trainer.agent(), self.config
        meta: dict[str, Any] = {"method": config.method, "seed": config.seed}
        meta |= {"steps": self.iteration * config.batch_steps, **agent.meta}
        if config.threat is not None:
            meta |= {"eps": config.threat.eps, "threat": config.threat.to_json()}
        if config.attack is not None:
            meta |= attack_meta(config.attack.kind, config.attack)
        agent.meta = meta
        return agent

    def _segment(self, curves: TensorBoardWriter, progress: TrainingProgress) -> None:
        """Iterations up to the next checkpoint, in fresh environments whose seeds follow from its number."""
        config = self.config
        number = self.iteration // config.segment
        log_every = max(1, 2048 // config.batch_steps)
        returns: list[float] = []
        lengths: list[int] = []
        at_end = False
        with contextlib.closing(self.make(config, number)) as env:
            self.trainer.begin(env, np.random.default_rng([config.seed, number]))
            while not at_end:
                done = self.trainer.iterate(self.iteration)
                self._check(**done.watched)
                returns += done.returns
                lengths += done.lengths
                self.iteration += 1
                at_end = self.iteration % config.segment == 0 or self.iteration >= config.iterations
                if at_end or self.iteration % log_every == 0:
                    self.late_returns.extend(returns)
                    self._log(done.info, returns, lengths, curves, progress)
                    returns, lengths = [], []

    def _check(self, **numbers: Any) -> None:
        """A UserError where a number is not finite or too large."""
        leaves = {name: jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)) for name, tree in numbers.items()}
        limits = {name: np.inf if name in STATISTICS else HUGE for name in leaves}
        bad = [name for name, arrays in leaves.items() if not all(np.all(np.abs(x) < limits[name]) for x in arrays)]
        if bad:
            raise UserError(self._diverged(*bad))

    def _diverged(self, *bad: str) -> str:
        large = set(bad) <= STATISTICS
        advice = "observations or rewards are too large: scale them" if large else "try a lower learning rate"
        what = f"training diverged at iteration {self.iteration} ({', '.join(bad)} not finite)"
        return f"{what}; {self._kept()}; {advice}"

    def _kept(self) -> str:
        """Where the training can be continued."""
        found = self.folder.checkpoints()
        return f"the checkpoint {found[-1]} is from before and kept" if found else "no checkpoint was written yet"

    def _log(
        self,
        info: dict[str, jax.Array],
        returns: list[float],
        lengths: list[int],
        curves: TensorBoardWriter,
        progress: TrainingProgress,
    ) -> None:
        numbers = {name: float(value) for name, value in jax.device_get(info).items()}
        self._check(**{name: np.asarray(value) for name, value in numbers.items()})
        steps = self.iteration * self.config.batch_steps
        if returns:
            numbers |= {"return": float(np.mean(returns)), "length": float(np.mean(lengths)), "episodes": len(returns)}
        curves.add(numbers, steps)
        late = float(np.mean(self.late_returns)) if self.late_returns else float("nan")
        progress.update(steps, late)
        self.folder.log(
            {
                "iteration": self.iteration,
                "steps": steps,
                "time": time.time(),
                "seconds": time.monotonic() - self.begun,
                "rate": progress.rate,
                **numbers,
            }
        )

    def _checkpoint(self) -> None:
        self._check(**self.trainer.parts())
        data = {"late_returns": list(self.late_returns), **self.trainer.data()}
        self.folder.save_checkpoint(self.iteration, self.agent(), self.trainer.state(), data)

    def _restore(self) -> None:
        found = self.folder.load_checkpoint(self.trainer.state(), {"late_returns", *self.trainer.data()})
        if found is None:
            return
        self.iteration, agent, state, data = found
        if changes := self.folder.numeric_changes():
            print(f"wocar: this run may end otherwise than without the pause: {changes}", file=sys.stderr)
        self.trainer.restore(agent, state, data)
        self.late_returns.extend(data["late_returns"])
