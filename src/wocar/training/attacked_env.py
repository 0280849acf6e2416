"""Environment of an agent whose observations an adversary in training perturbs."""

from typing import Any

import numpy as np

from wocar.agent import Agent
from wocar.networks.recurrent import reset_state
from wocar.training.adversary_env import Screen, put_rows
from wocar.types import Step, VectorEnv


class AttackedEnv:
    """Observation: the agent's normalised z as the adversary, by samples, shows it. All else is that of `env`.

    Memories of both are kept here: the adversary's of every clean z so far, the agent's of what it was shown before.
    """

    def __init__(self, env: VectorEnv, screen: Screen, rng: np.random.Generator) -> None:
        self.n, self.spec = env.n, env.spec
        self._env, self._screen, self._rng = env, screen, rng
        self._all = np.arange(self.n, dtype=np.int32)
        self._seen: list[np.ndarray] = []

    def set_players(self, agent: Agent, adversary: Agent) -> None:
        """Replace both players without ending episodes."""
        self._agent, self._adversary = agent, adversary
        self._screen.set_victim(agent)

    def reset(self) -> np.ndarray:
        obs = self._env.reset()
        self._seen = [obs]
        self._memory: Any = self._agent.start(self.n)
        self._adversary_memory: Any = self._adversary.start(self.n)
        self._z = self._agent.normaliser(obs)
        self._shown = self._show(self._all)
        return self._shown.copy()

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        rows = self._all if ids is None else ids
        if self._memory is not None:
            self._memory = put_rows(self._memory, self._agent.step(self._shown, self._memory)[1], rows)
        step = self._env.step(actions, ids)
        self._seen.append(step.obs)
        if self._memory is not None or self._adversary_memory is not None:
            opened = rows[step.is_reset]
            self._memory = reset_state(self._memory, opened)
            self._adversary_memory = reset_state(self._adversary_memory, opened)
        if ids is None:
            self._z = self._agent.normaliser(step.obs)
            self._shown = np.array(self._show(rows))
            return step._replace(obs=self._shown.copy())
        self._z[rows] = self._agent.normaliser(step.obs)
        self._shown[rows] = self._show(rows)
        return step._replace(obs=self._shown[rows])

    def take_seen(self) -> np.ndarray:
        """All raw observations since the last time: what the agent's normaliser learns from."""
        seen, self._seen = np.concatenate(self._seen), []
        return seen

    def close(self) -> None:
        self._env.close()

    def _show(self, ids: np.ndarray) -> np.ndarray:
        """What is shown in these environments; computed for all of them: one shape to compile."""
        actions, after = self._adversary.step(self._z, self._adversary_memory, self._rng)
        self._adversary_memory = put_rows(self._adversary_memory, after, ids)
        shown = self._screen(self._z, actions, self._memory)
        return shown if ids is self._all else shown[ids]
