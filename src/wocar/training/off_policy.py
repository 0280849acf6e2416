"""Off-policy training: transitions go into a replay, gradient steps take samples of it."""

import math
import shutil
from typing import Any

import jax
import numpy as np

from wocar.agent import Agent
from wocar.networks import Normaliser, PixelNormaliser, RunningNormaliser
from wocar.training.malloc import keep_freed_memory
from wocar.training.replay_buffer import ReplayBuffer
from wocar.training.run_config import RunConfig
from wocar.training.trainer import Iteration
from wocar.types import EnvSpec, Step, VectorEnv

fold_in = jax.jit(jax.random.fold_in)


class OffPolicy:
    """What DQN and SAC share; a subclass sets `learner`, acts and learns."""

    learner: Any

    def __init__(self, config: RunConfig, algorithm: Any, spec: EnvSpec) -> None:
        keep_freed_memory()
        cfg = algorithm.config
        self.config, self.cfg, self.algorithm, self.spec = config, cfg, algorithm, spec
        self.key = jax.random.key(config.seed)
        self.pixels = len(spec.obs_shape) == 3
        self.normaliser: Normaliser = PixelNormaliser()
        if not self.pixels:
            self.normaliser = RunningNormaliser.create(spec.obs_shape, 10.0 if cfg.normalise_obs else math.inf)
        slack = 2 * (config.segment * cfg.n_steps + 1)
        self.replay = ReplayBuffer(spec, cfg.n_envs, cfg.buffer_size, slack, cfg.gamma, cfg.n_step, cfg.per_alpha)
        self.folder = config.out / "replay"
        self.restored = False
        self.is_open = False

    def act(self, steps: int, progress: float) -> tuple[np.ndarray, np.ndarray]:
        """Actions as the replay keeps them and as the environments take them, after so many steps of training."""
        raise NotImplementedError

    def learn(self, key: jax.Array, progress: float) -> dict[str, jax.Array]:
        """The gradient steps of an iteration."""
        raise NotImplementedError

    def after_step(self, step: Step) -> None:
        """What a subclass keeps of the environments' answer."""

    def stored(self, step: Step) -> Step:
        """The environments' answer as the replay keeps it."""
        return step

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        if not self.is_open:
            self.replay.open(self.folder, anew=not self.restored)
            self.is_open = True
        self.env, self.rng = env, rng
        self.obs = env.reset()
        self.replay.begin(self.obs)
        self.running, self.length = np.zeros(env.n), np.zeros(env.n, int)

    def iterate(self, iteration: int) -> Iteration:
        progress, steps = iteration / self.config.iterations, iteration * self.config.batch_steps
        returns, lengths, seen = self._collect(steps, progress)
        if self.normalises(steps) and isinstance(self.normaliser, RunningNormaliser):
            with np.errstate(over="ignore", invalid="ignore"):  # divergence is found by the loop
                self.normaliser = self.normaliser.update(seen)
        info: dict[str, jax.Array] = {}
        if steps + self.config.batch_steps > self.cfg.learning_starts and self.replay.ready:
            info = self.learn(fold_in(self.key, iteration), progress)
        return Iteration(returns, lengths, info, {})

    def normalises(self, steps: int) -> bool:
        """Whether the normaliser still learns after so many steps."""
        return self.cfg.normalise_obs

    def _collect(self, steps: int, progress: float) -> tuple[list[float], list[int], np.ndarray]:
        """Steps of each environment: ended episodes, and all vectors that were observed."""
        returns: list[float] = []
        lengths: list[int] = []
        seen = []
        for _ in range(self.cfg.n_steps):
            kept, actions = self.act(steps, progress)
            step = self.env.step(actions)
            self.replay.add(kept, self.stored(step))
            self.obs = step.obs
            self.after_step(step)
            if not self.pixels:
                seen.append(step.obs)
            live = ~step.is_reset
            self.running += np.where(live, step.rewards if step.scores is None else step.scores, 0)
            self.length += live
            ended = live & (step.truncated | (step.terminated if step.over is None else step.over))
            if ended.any():
                returns += self.running[ended].tolist()
                lengths += self.length[ended].tolist()
                self.running[ended], self.length[ended] = 0.0, 0
        return returns, lengths, np.concatenate(seen) if seen else np.empty(0)

    def beta(self, progress: float) -> float:
        """How much of the preference for large errors the loss's weights take back."""
        return self.cfg.per_beta + (1 - self.cfg.per_beta) * progress

    def agent(self) -> Agent:
        critics = getattr(self.learner.extra, "critics", {})
        return Agent(self.spec, self.normaliser, self.learner.policy, critics, {"reward_std": 1.0})

    def parts(self) -> dict[str, Any]:
        return {**self.learner._asdict(), "normaliser": self.normaliser[:-1]}

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"learner": self.learner}
        if self.replay.priorities is not None:
            state["priorities"] = self.replay.priorities.leaves
        return state

    def data(self) -> dict[str, Any]:
        if self.is_open:
            self.replay.flush()
        return {"replay_rows": self.replay.head, "largest_priority": self.replay.largest}

    def restore(self, agent: Agent, state: dict[str, Any], data: dict[str, Any]) -> None:
        self.learner, self.normaliser, self.restored = state["learner"], agent.normaliser, True
        self.replay.head, self.replay.largest = data["replay_rows"], data["largest_priority"]
        if self.replay.priorities is not None:
            self.replay.priorities.leaves = state["priorities"]
            self.replay.priorities.rebuild()

    def finish(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
