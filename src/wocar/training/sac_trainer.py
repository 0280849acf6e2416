"""SAC's trainer: sampled actions into a replay, then its gradient steps in one call."""

from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.mechanisms.directors import Directors, no_directors
from wocar.mechanisms.sac_objective import Critics, SACBatch
from wocar.training.create_networks import vector_size
from wocar.training.hunt import Hunter, is_due, make_hunter
from wocar.training.off_policy import OffPolicy
from wocar.training.replay_buffer import Sample
from wocar.training.reward import bent_rewards
from wocar.training.run_config import RunConfig
from wocar.training.sac import SAC
from wocar.training.trainer import Iteration
from wocar.types import EnvSpec, Step, VectorEnv


class SACTrainer(OffPolicy):
    def __init__(self, config: RunConfig, algorithm: SAC, spec: EnvSpec) -> None:
        super().__init__(config, algorithm, spec)
        self.learner = algorithm.init(spec, self.key)
        self.low, self.high = np.asarray(spec.actions.low), np.asarray(spec.actions.high)
        self.behaviour = algorithm.objective.behaviour
        self.attackers: Any = None
        self._act = eqx.filter_jit(algorithm.objective.act)

    @cached_property
    def hunter(self) -> Hunter | None:
        """Made when first asked for: what it keeps has the shapes of the learner."""
        return make_hunter(self.config, (self._acting, self.learner.target), self._agent_of)

    @property
    def _acting(self) -> Any:
        """The policy that an agent of this moment has."""
        own = self.learner
        return own.policy if own.average is None else own.average

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        super().begin(env, rng)
        if self.behaviour:
            sizes = env.n, vector_size(self.spec), self.spec.actions.size
            self.attackers = self.behaviour.begin(*sizes, rng, self._hunted)

    @property
    def _hunted(self) -> Directors:
        return self.hunter.directors if self.hunter else no_directors(self.spec.actions.size, vector_size(self.spec))

    def iterate(self, iteration: int) -> Iteration:
        done = super().iterate(iteration)
        return done._replace(info=done.info | self._hunt()) if self._hunts_after(iteration) else done

    def _hunts_after(self, iteration: int) -> bool:
        """Not before observations are normalised as they will be to the end."""
        steps = (iteration + 1) * self.config.batch_steps
        return self.hunter is not None and not self.normalises(steps) and is_due(self.config, iteration)

    def _hunt(self) -> dict[str, Any]:
        assert self.hunter is not None
        return self.hunter.hunt((self._acting, self.learner.target))

    def after_step(self, step: Step) -> None:
        if self.behaviour and (begins := step.is_reset).any():
            self.attackers = self.behaviour.drawn(self.attackers, begins, self.rng, self._hunted)

    def stored(self, step: Step) -> Step:
        return step._replace(rewards=bent_rewards(step.rewards, self.cfg.reward_cap, self.cfg.reward_slope))

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
        return self._act(own.policy, own.critics, obs, noise, self.attackers, seed, np.float32(progress))

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
        """The policy that kept most under its hunt; before the first one, or without, that of this moment."""
        if self.hunter and self.hunter.hunts:
            return self._agent_of(self.hunter.kept.best)
        return self._agent_of((self._acting, self.learner.target))

    def _agent_of(self, arrays: tuple[Any, Critics]) -> Agent:
        policy, target = arrays
        agent, critics = super().agent(), self.algorithm.objective.exported(target)
        agent.policy = policy
        agent.critics = {name: critic.in_units(policy.low, policy.high) for name, critic in critics.items()}
        return agent

    def state(self) -> dict[str, Any]:
        return super().state() | ({"hunt": self.hunter.kept} if self.hunter else {})

    def data(self) -> dict[str, Any]:
        return super().data() | (self.hunter.data() if self.hunter else {})

    def restore(self, agent: Agent, state: dict[str, Any], data: dict[str, Any]) -> None:
        super().restore(agent, state, data)
        if self.hunter:
            self.hunter.restore(state["hunt"], data)
