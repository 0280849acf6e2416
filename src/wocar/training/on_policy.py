"""On-policy trainer: each rollout is learned from once, by PPO or A2C."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.networks import Normaliser, PixelNormaliser, RunningNormaliser
from wocar.networks.normaliser import as_is
from wocar.rollout import Collector, Rollout
from wocar.training.hunt import Hunter, is_due, make_hunter
from wocar.training.learner import Learner, forget
from wocar.training.reward import RewardScaler, bent_rewards
from wocar.training.run_config import RunConfig
from wocar.training.trainer import Iteration
from wocar.types import EnvSpec, Transitions, VectorEnv


class Algorithm(Protocol):
    def init(self, spec: EnvSpec, key: jax.Array) -> Learner: ...

    def update(
        self, learner: Learner, rollout: Transitions, key: jax.Array, progress: jax.Array
    ) -> tuple[Learner, dict[str, jax.Array]]: ...


class OnPolicyArrays(NamedTuple):
    """What an agent is made of."""

    policy: Any
    critics: dict[str, Any]
    normaliser: Normaliser
    reward_std: np.ndarray


def counted(normaliser: Normaliser, kind: Callable[[Any], Any] = np.asarray) -> Normaliser:
    """With its count as an array, which checkpoints keep, or as a number."""
    if isinstance(normaliser, RunningNormaliser):
        return normaliser._replace(count=kind(normaliser.count))
    return normaliser


class OnPolicy:
    def __init__(self, config: RunConfig, algorithm: Algorithm, spec: EnvSpec, stream: int = 0) -> None:
        """`stream`: random numbers of its own, where one run trains two learners."""
        self.config, self.algorithm, self.spec = config, algorithm, spec
        self.key = jax.random.key(config.seed)
        if stream:
            self.key = jax.random.fold_in(self.key, 2**31 + stream)
        self.learner = algorithm.init(spec, self.key)
        self.normaliser: Normaliser = PixelNormaliser()
        if len(spec.obs_shape) != 3 or config.attack is not None:  # an attacker sees what is normalised already
            clip = 10.0 if config.algorithm.normalise_obs else math.inf
            self.normaliser = RunningNormaliser.create(spec.obs_shape, clip)
        self.scaler = RewardScaler.create(config.algorithm.n_envs)

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        self.scaler = self.scaler.fresh()
        self.collector = Collector(env, rng)

    def iterate(self, iteration: int) -> Iteration:
        cfg = self.config.algorithm
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is found by the loop
            rollout = self.collect(cfg.n_steps)
            if cfg.normalise_obs and isinstance(self.normaliser, RunningNormaliser):
                self.normaliser = self.normaliser.update(rollout.seen)
        transitions = rollout.transitions
        transitions = transitions._replace(rewards=bent_rewards(transitions.rewards, cfg.reward_cap, cfg.reward_slope))
        if cfg.normalise_reward:
            self.scaler = self.scaler.update(transitions, cfg.gamma)
            scale = np.float32(self.scaler.returns.std + 1e-8)
            transitions = transitions._replace(rewards=self.scaler(transitions.rewards), reward_scale=scale)
        key = jax.random.fold_in(self.key, iteration)
        progress = jnp.float32(iteration / self.config.iterations)
        learner = forget(self.learner, rollout.begins)
        self.learner, info = self.algorithm.update(learner, transitions, key, progress)
        if self.hunter and is_due(self.config, iteration):
            info = info | self.hunter.hunt(self._arrays)
        return Iteration(rollout.episode_returns, rollout.episode_lengths, info, {"policy": self.learner.policy})

    def collect(self, steps: int) -> Rollout:
        plain = isinstance(self.normaliser, RunningNormaliser) and not self.config.algorithm.normalise_obs
        agent = Agent(self.spec, self.normaliser, self.learner.policy)
        return self.collector.collect(agent, steps, as_is if plain else None)

    def agent(self) -> Agent:
        """That which kept most under its hunt; before the first one, or without, that of this moment."""
        return self._agent_of(self.hunter.kept.best if self.hunter and self.hunter.hunts else self._arrays)

    @cached_property
    def hunter(self) -> Hunter | None:
        """Made when first asked for: what it keeps has the shapes of the learner."""
        return make_hunter(self.config, self._arrays, self._agent_of)

    @property
    def _arrays(self) -> OnPolicyArrays:
        critics = {"value": self.learner.value, **getattr(self.learner.extra, "critics", {})}
        return OnPolicyArrays(
            self.learner.policy, critics, counted(self.normaliser), np.asarray(self.scaler.returns.std)
        )

    def _agent_of(self, arrays: OnPolicyArrays) -> Agent:
        meta = {"reward_std": float(arrays.reward_std)}
        return Agent(self.spec, counted(arrays.normaliser, float), arrays.policy, arrays.critics, meta)

    def parts(self) -> dict[str, Any]:
        statistics = {"normaliser": self.normaliser[:-1], "reward_scale": self.scaler.returns[:-1]}
        return {**self.learner._asdict(), **statistics}

    def state(self) -> dict[str, Any]:
        returns = self.scaler.returns
        own = {"learner": self.learner, "return_mean": returns.mean, "return_square": returns.square}
        return own | ({"hunt": self.hunter.kept, "seen": counted(self.normaliser)} if self.hunter else {})

    def data(self) -> dict[str, Any]:
        return {"return_count": self.scaler.returns.count} | (self.hunter.data() if self.hunter else {})

    def restore(self, agent: Agent, state: dict[str, Any], data: dict[str, Any]) -> None:
        self.learner, self.normaliser = state["learner"], agent.normaliser
        if self.hunter:  # the agent is an earlier one
            self.hunter.restore(state["hunt"], data)
            self.normaliser = counted(state["seen"], float)
        returns = RunningNormaliser(state["return_mean"], state["return_square"], data["return_count"])
        self.scaler = RewardScaler(returns, self.scaler.running)

    def finish(self) -> None:
        """Nothing is left to tidy."""
