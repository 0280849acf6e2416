"""SAC's trainer: sampled actions into a replay, then its gradient steps in one call."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.mechanisms.sac_objective import SACBatch
from wocar.training.create_networks import vector_size
from wocar.training.off_policy import OffPolicy
from wocar.training.replay_buffer import Sample
from wocar.training.run_config import RunConfig
from wocar.training.sac import SAC
from wocar.types import EnvSpec, Step, VectorEnv


class SACTrainer(OffPolicy):
    def __init__(self, config: RunConfig, algorithm: SAC, spec: EnvSpec) -> None:
        super().__init__(config, algorithm, spec)
        self.learner = algorithm.init(spec, self.key)
        self.low, self.high = np.asarray(spec.actions.low), np.asarray(spec.actions.high)
        self.behaviour = algorithm.objective.behaviour
        self.directors: Any = None
        self._act = eqx.filter_jit(algorithm.objective.act)

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        super().begin(env, rng)
        if self.behaviour:
            self.directors = self.behaviour.begin(env.n, vector_size(self.spec), self.spec.actions.size, rng)

    def after_step(self, step: Step) -> None:
        if self.behaviour and (begins := step.is_reset).any():
            self.directors = self.behaviour.drawn(self.directors, begins, self.rng)

    def stored(self, step: Step) -> Step:
        cap, slope = self.cfg.reward_cap, self.cfg.reward_slope
        return step if cap is None else step._replace(rewards=bent_rewards(step.rewards, cap, slope))

    def act(self, steps: int, progress: float) -> tuple[np.ndarray, np.ndarray]:
        shape = self.env.n, self.spec.actions.size
        if steps < self.cfg.learning_starts:
            unit = self.rng.uniform(-1, 1, shape).astype(np.float32)
        else:
            noise = self.rng.standard_normal(shape, dtype=np.float32)
            unit = np.asarray(self._policy_actions(self.normaliser(self.obs), noise, progress))
        return unit, self.low + (unit + 1) / 2 * (self.high - self.low)

    def _policy_actions(self, obs: Any, noise: np.ndarray, progress: float) -> jax.Array:
        own = self.learner
        seed = self.rng.integers(2**31, dtype=np.uint32) if self.behaviour else None
        return self._act(own.policy, own.critics, obs, noise, self.directors, seed, np.float32(progress))

    def learn(self, key: jax.Array, progress: float) -> dict[str, jax.Array]:
        cfg = self.cfg
        drawn = self.replay.sample(cfg.updates * cfg.batch_size, self.rng, self.beta(progress))
        batches = jax.tree.map(lambda x: x.reshape(cfg.updates, -1, *x.shape[1:]), self._batch(drawn))
        self.learner, errors, info = self.algorithm.updates((batches, key, jnp.float32(progress)), self.learner)
        if cfg.per_alpha:
            self.replay.learnt(drawn.slots, np.asarray(errors).reshape(-1))
        return info

    def _batch(self, drawn: Sample) -> SACBatch:
        see = self.normaliser
        return SACBatch(
            see(drawn.obs), drawn.actions, drawn.rewards, see(drawn.next_obs), drawn.discounts, drawn.weights
        )

    def normalises(self, steps: int) -> bool:
        return self.cfg.normalise_obs and steps < self.cfg.normalise_steps

    def agent(self) -> Agent:
        agent, own = super().agent(), self.learner
        agent.policy = own.policy if own.average is None else own.average
        critics = self.algorithm.objective.exported(own.target)
        low, high = own.policy.low, own.policy.high
        agent.critics = {name: critic.in_units(low, high) for name, critic in critics.items()}
        return agent


def bent_rewards(rewards: np.ndarray, cap: float, slope: float) -> np.ndarray:
    """min(r, cap) + slope · max(r - cap, 0)."""
    above = np.maximum(rewards - np.float32(cap), 0)
    return (np.minimum(rewards, np.float32(cap)) + np.float32(slope) * above).astype(rewards.dtype)
