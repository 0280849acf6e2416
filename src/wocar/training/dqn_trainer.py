"""DQN's trainer: ε-greedy steps into a replay, then its gradient steps."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.mechanisms.q_objective import QBatch, StepOutcome
from wocar.networks import GreedyPolicy, PixelNormaliser
from wocar.training.dqn import DQN
from wocar.training.exploration import RandomActions, random_share
from wocar.training.off_policy import OffPolicy, fold_in
from wocar.training.replay_buffer import Sample
from wocar.training.run_config import RunConfig
from wocar.training.run_folder import load_run_agent
from wocar.types import EnvSpec, UserError, VectorEnv, same_arrays


class DQNTrainer(OffPolicy):
    def __init__(self, config: RunConfig, algorithm: DQN, spec: EnvSpec) -> None:
        super().__init__(config, algorithm, spec)
        network = None
        if self.cfg.init_from:
            first = load_first(self.cfg.init_from, spec)
            network, self.normaliser = first.policy.network, first.normaliser
        self.learner = algorithm.init(spec, self.key, network)

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        super().begin(env, rng)
        self.random_actions = RandomActions(self.spec.actions.size, env.n, self.cfg.exploration_hold)

    def iterate(self, iteration: int) -> Any:
        self.acting = Agent(self.spec, self.normaliser, self.learner.policy)
        return super().iterate(iteration)

    def act(self, steps: int, progress: float) -> tuple[np.ndarray, np.ndarray]:
        actions, explores = self.random_actions.draw(random_share(self.cfg, progress), self.rng)
        if not explores.all():
            actions = np.where(explores, actions, self.greedy_actions(self.acting)).astype(np.int32)
        return actions, actions

    def greedy_actions(self, agent: Agent) -> np.ndarray:
        return agent.act(self.normaliser(self.obs))

    def learn(self, key: jax.Array, progress: float) -> dict[str, jax.Array]:
        """In one call, or where there are convolutions one by one: loops slow them down."""
        cfg, now, beta = self.cfg, jnp.float32(progress), self.beta(progress)
        if not self.pixels:
            drawn = self.replay.sample(cfg.updates * cfg.batch_size, self.rng, beta)
            batches = jax.tree.map(lambda x: x.reshape(cfg.updates, -1, *x.shape[1:]), self._batch(drawn))
            self.learner, errors, info = self.algorithm.updates(self.learner, batches, key, now)
            if cfg.per_alpha:
                self.replay.learnt(drawn.slots, np.asarray(errors).reshape(-1))
            return info
        for k in range(cfg.updates):
            drawn = self.replay.sample(cfg.batch_size, self.rng, beta)
            self.learner, errors, info = self.algorithm.update(self.learner, self._batch(drawn), fold_in(key, k), now)
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

    def parts(self) -> dict[str, Any]:
        return {"policy": self.learner.q, "critics": self.learner.extra}


def as_is_stored(obs: np.ndarray) -> np.ndarray:
    return obs


def load_first(path: str, spec: EnvSpec) -> Agent:
    """The agent to start from; a UserError where its Q network is none for this task."""
    agent = load_run_agent(Path(path))
    if not isinstance(agent.policy, GreedyPolicy) or not same_arrays(spec, agent.spec):
        raise UserError(f"{path} holds no Q network for {spec.id}; name an agent that DQN trained there")
    return agent
