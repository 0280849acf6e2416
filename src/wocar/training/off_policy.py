"""Learning from a replay of past transitions: DQN and its like."""

import math
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.mechanisms.q_objective import QBatch, StepOutcome
from wocar.networks import GreedyPolicy, Normaliser, PixelNormaliser, RunningNormaliser
from wocar.training.dqn import DQN
from wocar.training.exploration import RandomActions, random_share
from wocar.training.malloc import keep_freed_memory
from wocar.training.replay_buffer import ReplayBuffer, Sample
from wocar.training.run_config import RunConfig
from wocar.training.run_folder import load_run_agent
from wocar.training.trainer import Iteration
from wocar.types import EnvSpec, UserError, VectorEnv, same_arrays

_fold_in = jax.jit(jax.random.fold_in)


class OffPolicy:
    def __init__(self, config: RunConfig, algorithm: DQN, spec: EnvSpec) -> None:
        keep_freed_memory()
        cfg = algorithm.config
        self.config, self.cfg, self.algorithm, self.spec = config, cfg, algorithm, spec
        self.key = jax.random.key(config.seed)
        self.pixels = len(spec.obs_shape) == 3
        self.normaliser: Normaliser = PixelNormaliser()
        if not self.pixels:
            self.normaliser = RunningNormaliser.create(spec.obs_shape, 10.0 if cfg.normalise_obs else math.inf)
        network = None
        if cfg.init_from:
            first = load_first(cfg.init_from, spec)
            network, self.normaliser = first.policy.network, first.normaliser
        self.learner = algorithm.init(spec, self.key, network)
        slack = 2 * (config.segment * cfg.n_steps + 1)
        self.replay = ReplayBuffer(spec, cfg.n_envs, cfg.buffer_size, slack, cfg.gamma, cfg.n_step, cfg.per_alpha)
        self.folder = config.out / "replay"
        self.restored = False
        self.is_open = False

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        if not self.is_open:
            self.replay.open(self.folder, anew=not self.restored)
            self.is_open = True
        self.env, self.rng = env, rng
        self.random_actions = RandomActions(self.spec.actions.size, env.n, self.cfg.exploration_hold)
        self.obs = env.reset()
        self.replay.begin(self.obs)
        self.running, self.length = np.zeros(env.n), np.zeros(env.n, int)

    def iterate(self, iteration: int) -> Iteration:
        progress = iteration / self.config.iterations
        returns, lengths, seen = self._collect(random_share(self.cfg, progress))
        if self.cfg.normalise_obs and isinstance(self.normaliser, RunningNormaliser):
            self.normaliser = self.normaliser.update(seen)
        info: dict[str, jax.Array] = {}
        if (iteration + 1) * self.config.batch_steps > self.cfg.learning_starts and self.replay.ready:
            info = self._learn(_fold_in(self.key, iteration), progress)
        return Iteration(returns, lengths, info, {})

    def _collect(self, exploration: float) -> tuple[list[float], list[int], np.ndarray]:
        """Steps of the greedy policy with random actions in between: ended episodes, and all that was seen."""
        agent = Agent(self.spec, self.normaliser, self.learner.policy)
        returns: list[float] = []
        lengths: list[int] = []
        seen = []
        for _ in range(self.cfg.n_steps):
            actions, explores = self.random_actions.draw(exploration, self.rng)
            if not explores.all():
                actions = np.where(explores, actions, self.greedy_actions(agent)).astype(np.int32)
            step = self.env.step(actions)
            self.replay.add(actions, step)
            self.obs = step.obs
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

    def greedy_actions(self, agent: Agent) -> np.ndarray:
        return agent.act(self.normaliser(self.obs))

    def _learn(self, key: jax.Array, progress: float) -> dict[str, jax.Array]:
        """The gradient steps of an iteration: in one call, or where there are convolutions one by one (loops slow
        them down)."""
        cfg = self.cfg
        beta = cfg.per_beta + (1 - cfg.per_beta) * progress
        now = jnp.float32(progress)
        if not self.pixels:
            drawn = self.replay.sample(cfg.updates * cfg.batch_size, self.rng, beta)
            batches = jax.tree.map(lambda x: x.reshape(cfg.updates, -1, *x.shape[1:]), self._batch(drawn))
            self.learner, errors, info = self.algorithm.updates(self.learner, batches, key, now)
            if cfg.per_alpha:
                self.replay.learnt(drawn.slots, np.asarray(errors).reshape(-1))
            return info
        for k in range(cfg.updates):
            drawn = self.replay.sample(cfg.batch_size, self.rng, beta)
            self.learner, errors, info = self.algorithm.update(self.learner, self._batch(drawn), _fold_in(key, k), now)
            if cfg.per_alpha:
                self.replay.learnt(drawn.slots, np.asarray(errors))
        return info

    def _batch(self, drawn: Sample) -> QBatch:
        """As the networks see it; but frames of bytes are divided where they are used."""
        see = as_is_stored if self.pixels and self.normaliser == PixelNormaliser() else self.normaliser
        near, later = StepOutcome(drawn.rewards, see(drawn.next_obs), drawn.discounts), None
        if self.cfg.n_step > 1 and self.algorithm.objective.critics:
            rewards, next_obs, discounts = self.replay.outcome(drawn.slots, 1)
            near, later = StepOutcome(rewards, see(next_obs), discounts), near
        return QBatch(see(drawn.obs), drawn.actions, *near, drawn.weights, later)

    def agent(self) -> Agent:
        critics = getattr(self.learner.extra, "critics", {})
        return Agent(self.spec, self.normaliser, self.learner.policy, critics, {"reward_std": 1.0})

    def parts(self) -> dict[str, Any]:
        return {"policy": self.learner.q, "critics": self.learner.extra}

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


def as_is_stored(obs: np.ndarray) -> np.ndarray:
    return obs


def load_first(path: str, spec: EnvSpec) -> Agent:
    """The agent to start from; a UserError where its Q network is none for this task."""
    agent = load_run_agent(Path(path))
    if not isinstance(agent.policy, GreedyPolicy) or not same_arrays(spec, agent.spec):
        raise UserError(f"{path} holds no Q network for {spec.id}; name an agent that DQN trained there")
    return agent
