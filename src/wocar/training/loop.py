"""The loop around an algorithm: rollouts, updates, metrics, checkpoints, resume."""

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.envs import make_env
from wocar.networks import RunningNormaliser
from wocar.rollout import Collector
from wocar.training.config import RunConfig
from wocar.training.curves import Curves
from wocar.training.learner import Learner, forget
from wocar.training.progress import TrainingProgress
from wocar.training.reward import RewardScaler
from wocar.training.run_folder import RunFolder
from wocar.types import EnvSpec, Transitions, UserError, VectorEnv

HUGE = 1e20
"""Weights and losses beyond this are as good as infinite: the next products overflow."""


class Algorithm(Protocol):
    def init(self, spec: EnvSpec, key: jax.Array) -> Learner: ...

    def update(
        self, learner: Learner, rollout: Transitions, key: jax.Array, progress: jax.Array
    ) -> tuple[Learner, dict[str, jax.Array]]: ...


def make_envs(config: RunConfig, segment: int) -> VectorEnv:
    """The environments of one segment of a run, with seeds of their own."""
    return make_env(config.env, config.algorithm.n_envs, config.seed, stream=segment, threads=config.threads)


def train(
    config: RunConfig, algorithm: Algorithm, spec: EnvSpec, make: Callable[[RunConfig, int], VectorEnv] = make_envs
) -> Agent:
    """Run or resume a training; returns the final agent, which the run folder then holds."""
    folder = RunFolder(config.out)
    run = _Run(config, algorithm, spec, make, folder)
    folder.open(config)
    try:
        return run.execute()
    finally:
        folder.close()


class _Run:
    def __init__(
        self,
        config: RunConfig,
        algorithm: Algorithm,
        spec: EnvSpec,
        make: Callable[[RunConfig, int], VectorEnv],
        folder: RunFolder,
    ) -> None:
        self.config, self.algorithm, self.spec, self.make, self.folder = config, algorithm, spec, make, folder
        self.key = jax.random.key(config.seed)
        self.learner = algorithm.init(spec, self.key)
        self.normaliser = RunningNormaliser.create(spec.obs_shape, 10.0 if config.algorithm.normalise_obs else math.inf)
        self.scaler = RewardScaler.create(config.algorithm.n_envs)
        self.iteration = 0
        self.late_returns: deque[float] = deque(maxlen=100)

    def execute(self) -> Agent:
        config = self.config
        if config.resume:
            self._restore()
        self.folder.cut_metrics(self.iteration)
        curves = Curves(self.folder.path / "tensorboard", self.iteration * config.batch_steps)
        label = f"{config.method} {config.env} seed {config.seed}"
        total = config.iterations * config.batch_steps
        with TrainingProgress(label, total, self.iteration * config.batch_steps) as progress:
            while self.iteration < config.iterations:
                self._segment(curves, progress)
                self._checkpoint()
                curves.flush()
        agent = self.agent()
        agent.save(self.folder.path / "agent")
        return agent

    def agent(self) -> Agent:
        meta: dict[str, Any] = {
            "method": self.config.method,
            "seed": self.config.seed,
            "steps": self.iteration * self.config.batch_steps,
        }
        meta["reward_std"] = float(self.scaler.returns.std)
        if self.config.robust is not None:
            meta["eps"] = self.config.robust.eps
        if self.config.attack is not None:
            meta |= {"attack": self.config.method, **vars(self.config.attack), "victim": str(self.config.attack.victim)}
        critics = {"value": self.learner.value, **getattr(self.learner.extra, "critics", {})}
        return Agent(self.spec, self.normaliser, self.learner.policy, critics, meta)

    def _segment(self, curves: Curves, progress: TrainingProgress) -> None:
        """Iterations up to the next checkpoint, in fresh environments whose seeds follow from its number."""
        config = self.config
        number = self.iteration // config.segment
        self.scaler = self.scaler.fresh()
        log_every = max(1, 2048 // config.batch_steps)
        returns: list[float] = []
        lengths: list[int] = []
        at_end = False
        with contextlib.closing(self.make(config, number)) as env:
            collector = Collector(env, np.random.default_rng([config.seed, number]))
            while not at_end:
                rollout, info = self._iterate(collector)
                returns += rollout.episode_returns
                lengths += rollout.episode_lengths
                self.iteration += 1
                at_end = self.iteration % config.segment == 0 or self.iteration >= config.iterations
                if at_end or self.iteration % log_every == 0:
                    self.late_returns.extend(returns)
                    self._log(info, returns, lengths, curves, progress)
                    returns, lengths = [], []

    def _iterate(self, collector: Collector) -> tuple[Any, dict[str, jax.Array]]:
        agent = Agent(self.spec, self.normaliser, self.learner.policy)
        cfg = self.config.algorithm
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is found below
            rollout = collector.collect(agent, cfg.n_steps)
        if cfg.normalise_obs:
            self.normaliser = self.normaliser.update(rollout.seen)
        transitions = rollout.transitions
        if cfg.normalise_reward:
            self.scaler = self.scaler.update(transitions, cfg.gamma)
            scale = np.float32(self.scaler.returns.std + 1e-8)
            transitions = transitions._replace(rewards=self.scaler(transitions.rewards), reward_scale=scale)
        key = jax.random.fold_in(self.key, self.iteration)
        progress = jnp.float32(self.iteration / self.config.iterations)
        learner = forget(self.learner, rollout.begins)
        self.learner, info = self.algorithm.update(learner, transitions, key, progress)
        self._check(policy=self.learner.policy)
        return rollout, info

    def _check(self, **numbers: Any) -> None:
        """A UserError where a number has left every reasonable range."""
        leaves = {name: jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)) for name, tree in numbers.items()}
        bad = [name for name, arrays in leaves.items() if not all(np.all(np.abs(x) < HUGE) for x in arrays)]
        if bad:
            raise UserError(
                f"training diverged at iteration {self.iteration} ({', '.join(bad)} not finite); checkpoints in "
                f"{self.folder.path} are from before; try a lower learning rate"
            )

    def _log(
        self,
        info: dict[str, jax.Array],
        returns: list[float],
        lengths: list[int],
        curves: Curves,
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
            {"iteration": self.iteration, "steps": steps, "time": time.time(), "rate": progress.rate, **numbers}
        )

    def _state(self) -> dict[str, Any]:
        returns = self.scaler.returns
        return {"learner": self.learner, "return_mean": returns.mean, "return_square": returns.square}

    def _checkpoint(self) -> None:
        self._check(**self.learner._asdict())
        data = {"return_count": self.scaler.returns.count, "late_returns": list(self.late_returns)}
        self.folder.save_checkpoint(self.iteration, self.agent(), self._state(), data)

    def _restore(self) -> None:
        found = self.folder.load_checkpoint(self._state())
        if found is None:
            return
        self.iteration, agent, state, data = found
        assert isinstance(agent.normaliser, RunningNormaliser)
        self.learner, self.normaliser = state["learner"], agent.normaliser
        returns = RunningNormaliser(state["return_mean"], state["return_square"], data["return_count"])
        self.scaler = RewardScaler(returns, self.scaler.running)
        self.late_returns.extend(data["late_returns"])
