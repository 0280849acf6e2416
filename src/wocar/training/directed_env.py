"""Environment in which an agent is pushed one way for whole episodes, in a share of its copies."""

import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks.learned import Direction
from wocar.bounds import Ball
from wocar.mechanisms.directors import Directors, drawn_director, no_directors
from wocar.mechanisms.policy_config import RobustConfig
from wocar.networks.normaliser import as_is
from wocar.rollout import Rollout
from wocar.training.adversary_env import Screen
from wocar.training.on_policy import OnPolicy
from wocar.training.trainer import Iteration
from wocar.types import Step, VectorEnv


class DirectedEnv:
    """Observation: the agent's normalised z; in some environments z + eps sign(Jᵀd), J that of the agent's mean.

    The direction d(z) is that of a linear director, drawn anew for each episode: at random, or of those hunted. All
    else is that of `env`.
    """

    def __init__(
        self,
        env: VectorEnv,
        share: float,
        rng: np.random.Generator,
        hunted: Directors | None = None,
        hunted_share: float = 0.0,
    ) -> None:
        """A `share` of the environments is pushed, in a `hunted_share` of their episodes by one of `hunted`."""
        self.n, self.spec = env.n, env.spec
        self._env, self._rng = env, rng
        size = env.spec.actions.size - env.spec.actions.discrete
        self._maps = no_directors(size, int(np.prod(env.spec.obs_shape)), self.n)
        self._hunted, self._hunted_share = self._maps.of(np.arange(0)) if hunted is None else hunted, hunted_share
        self._directed = np.arange(self.n) < round(share * self.n)
        self._draw(self._directed)
        self._seen: list[np.ndarray] = []

    def set_agent(self, agent: Agent, ball: Ball) -> None:
        """Replace the agent and the ball without ending episodes."""
        self._agent, self._screen = agent, Screen(Direction(), ball, agent)

    def reset(self) -> np.ndarray:
        obs = self._env.reset()
        self._seen = [obs]
        return self._show(obs, np.arange(self.n))

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        step, rows = self._env.step(actions, ids), np.arange(self.n) if ids is None else ids
        self._seen.append(step.obs)
        opened = np.zeros(self.n, bool)
        opened[rows[step.is_reset]] = True
        if opened.any():
            self._draw(opened & self._directed)
        return step._replace(obs=self._show(step.obs, rows))

    def take_seen(self) -> np.ndarray:
        """All raw observations since the last time: what the agent's normaliser learns from."""
        seen, self._seen = np.concatenate(self._seen), []
        return seen

    def close(self) -> None:
        self._env.close()

    def _draw(self, which: np.ndarray) -> None:
        _, actions, obs = self._maps.weight.shape
        for i in np.flatnonzero(which):
            one = drawn_director(actions, obs, self._rng, self._hunted, self._hunted_share)
            self._maps.weight[i], self._maps.bias[i] = one.weight[0], one.bias[0]

    def _show(self, obs: np.ndarray, rows: np.ndarray) -> np.ndarray:
        z = np.array(self._agent.normaliser(obs))
        pushed = self._directed[rows]
        if pushed.any():
            states = z[pushed]
            along = self._maps.of(rows[pushed]).directions(states.reshape(len(states), -1))
            z[pushed] = self._screen(states, along, None)
        return z


class Directed(OnPolicy):
    """The agent sees what its environments show, which is normalised; its normaliser learns from what was there."""

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        shows, acts = rng.spawn(2)
        settings, hunted = self._settings, self.hunter.directors if self.hunter else None
        self.env = DirectedEnv(env, settings.director_share, shows, hunted, settings.director_hunted)
        self.env.set_agent(self._agent_of(self._arrays), settings.threat.at(0.0).ball(self.spec.limits))
        super().begin(self.env, acts)

    def iterate(self, iteration: int) -> Iteration:
        progress = jnp.float32(iteration / self.config.iterations)
        self.env.set_agent(self._agent_of(self._arrays), self._settings.ball(progress, self.spec.limits))
        return super().iterate(iteration)

    def collect(self, steps: int) -> Rollout:
        rollout = self.collector.collect(Agent(self.spec, self.normaliser, self.learner.policy), steps, as_is)
        return rollout._replace(seen=self.env.take_seen())

    @property
    def _settings(self) -> RobustConfig:
        assert isinstance(self.config.robust, RobustConfig)
        return self.config.robust
