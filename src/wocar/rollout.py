"""Rollouts: exactly T transitions of each environment, none of them an auto-reset."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.networks import LSTMState, reset_state
from wocar.types import Transitions, VectorEnv


def running_returns(
    rewards: np.ndarray, ends: np.ndarray, running: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """R ← γR + r over (n, T), zeroed after ends, from R = `running` (n,): every R (n, T), and the last one (n,)."""
    seen = np.empty_like(rewards)
    for t in range(rewards.shape[1]):
        running = gamma * running + rewards[:, t]
        seen[:, t] = running
        running = np.where(ends[:, t], 0.0, running)
    return seen, running


class Rollout(NamedTuple):
    """`transitions` has leading axes (n, T); `seen` is every raw observation of the environments, resets included.

    `begins` (n,) marks the environments whose first transition here is the first of an episode.
    """

    transitions: Transitions
    seen: np.ndarray
    episode_returns: list[float]
    episode_lengths: list[int]
    begins: np.ndarray


class Collector:
    """Steps a vector environment with an agent's sampled actions and keeps episodes going between rollouts."""

    def __init__(self, env: VectorEnv, rng: np.random.Generator) -> None:
        self.env, self._rng = env, rng
        self._obs = env.reset()
        self._opening: np.ndarray | None = self._obs
        self._return = np.zeros(env.n)
        self._length = np.zeros(env.n, dtype=int)
        self._state: LSTMState | None = None

    def collect(self, agent: Agent, steps: int, normalise: Callable[[np.ndarray], np.ndarray] | None = None) -> Rollout:
        """`normalise` is used instead of the agent's normaliser."""
        n, spec = self.env.n, self.env.spec
        to_z = normalise or agent.normaliser
        size = n * steps
        obs = np.empty((size, *spec.obs_shape), np.float32)
        next_obs = np.empty_like(obs)
        actions = np.empty(size, np.int32) if spec.actions.discrete else np.empty((size, spec.actions.size), np.float32)
        rewards, terminated, truncated = np.empty(size, np.float32), np.empty(size, bool), np.empty(size, bool)
        begins = self._length == 0
        if self._state is None:
            self._state = agent.start(n)
        seen = [] if self._opening is None else [self._opening]
        episode_returns: list[float] = []
        episode_lengths: list[int] = []

        slot = np.arange(n) * steps  # where each environment's next transition goes
        full = slot + steps
        ids: np.ndarray | None = None
        z = to_z(self._obs)
        while True:
            action = self._act(agent, z, ids)
            step = self.env.step(action, ids)
            if self._state is not None and step.is_reset.any():
                self._state = reset_state(self._state, step.is_reset if ids is None else ids[step.is_reset])
            next_z = to_z(step.obs)
            seen.append(step.obs)
            live = ~step.is_reset
            who = np.flatnonzero(live) if ids is None else ids[live]
            at = slot[who]
            if live.all():
                obs[at], actions[at], next_obs[at] = z, action, next_z
                rewards[at], terminated[at], truncated[at] = step.rewards, step.terminated, step.truncated
            else:
                obs[at], actions[at], next_obs[at] = z[live], action[live], next_z[live]
                rewards[at], terminated[at] = step.rewards[live], step.terminated[live]
                truncated[at] = step.truncated[live]
            slot[who] += 1
            self._return[who] += rewards[at]
            self._length[who] += 1
            ends = terminated[at] | truncated[at]
            if ends.any():
                ended = who[ends]
                episode_returns += self._return[ended].tolist()
                episode_lengths += self._length[ended].tolist()
                self._return[ended], self._length[ended] = 0.0, 0
            if ids is None:
                self._obs = step.obs.copy()  # written to below, while `seen` keeps the original
            else:
                self._obs[ids] = step.obs
            waiting = slot < full
            if waiting.all():
                z = next_z
                continue
            if not waiting.any():
                break
            ids = np.flatnonzero(waiting).astype(np.int32)
            z = to_z(self._obs[ids])

        self._opening = None

        def shape(x: np.ndarray) -> np.ndarray:
            return x.reshape(n, steps, *x.shape[1:])

        transitions = Transitions(*map(shape, (obs, actions, rewards, next_obs, terminated, truncated)))
        return Rollout(transitions, np.concatenate(seen), episode_returns, episode_lengths, begins)

    def _act(self, agent: Agent, z: np.ndarray, ids: np.ndarray | None) -> np.ndarray:
        """Sampled actions of these environments (None: of all); updates their memory."""
        if self._state is None or ids is None:
            action, self._state = agent.step(z, self._state, self._rng)
            return action
        action, after = agent.step(z, LSTMState(*(x[ids] for x in self._state)), self._rng)
        for whole, rows in zip(self._state, after or (), strict=True):
            whole[ids] = rows
        return action
