"""Rollouts: exactly T transitions of each environment, none of them an auto-reset."""

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.networks import LSTMState, Normaliser, RunningNormaliser, ScaledNormaliser, reset_state
from wocar.types import EnvSpec, Step, Transitions, VectorEnv


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
        """`normalise` in the place of the agent's normaliser."""
        env, n = self.env, self.env.n
        to_z = normalise or frozen(agent.normaliser)
        log = _Log(env.spec, n, steps)
        begins = self._length == 0
        if self._state is None:
            self._state = agent.start(n)
        seen = [] if self._opening is None else [self._opening]
        returns: list[float] = []
        lengths: list[int] = []

        log.z[0] = to_z(self._obs)
        missing = np.full(n, steps)  # transitions of each environment
        ids: np.ndarray | None = None  # who still has to step; None: all
        for t in count():
            log.reserve(t)
            z = log.z[t] if ids is None else log.z[t, ids]
            action = self._act(agent, z, ids)
            step = env.step(action, ids)
            seen.append(step.obs)
            log.write(t, ids, action, step, to_z(step.obs))
            who: slice | np.ndarray = slice(None) if ids is None else ids
            if step.is_reset.any():
                resets = step.is_reset if ids is None else ids[step.is_reset]
                self._state = reset_state(self._state, resets)
                who = np.flatnonzero(~step.is_reset) if ids is None else ids[~step.is_reset]
            self._return[who] += log.rewards[t, who]
            self._length[who] += 1
            missing[who] -= 1
            if (ends := step.terminated | step.truncated).any():
                over = np.flatnonzero(ends) if ids is None else ids[ends]
                returns += self._return[over].tolist()
                lengths += self._length[over].tolist()
                self._return[over], self._length[over] = 0.0, 0
            if ids is None:
                self._obs = step.obs
            else:
                self._obs[ids] = step.obs
            if t + 1 >= steps:
                if ids is None:
                    self._obs = self._obs.copy()  # `seen` keeps the original
                ids = np.flatnonzero(missing).astype(np.int32)
                if not len(ids):
                    break
        self._opening = None
        return Rollout(log.transitions(t + 1), np.concatenate(seen), returns, lengths, begins)

    def _act(self, agent: Agent, z: np.ndarray, ids: np.ndarray | None) -> np.ndarray:
        """Sampled actions of these environments (None: of all), whose memory moves on."""
        if self._state is None or ids is None:
            action, self._state = agent.step(z, self._state, self._rng)
            return action
        action, after = agent.step(z, LSTMState(*(x[ids] for x in self._state)), self._rng)
        for whole, rows in zip(self._state, after or (), strict=True):
            whole[ids] = rows
        return action


class _Log:
    """What happened, step after step of the environments; which of it are transitions is sorted out in the end."""

    def __init__(self, spec: EnvSpec, n: int, steps: int) -> None:
        self._size, self._steps = steps + 1, steps
        discrete = spec.actions.discrete
        self.z = np.empty((self._size + 1, n, *spec.obs_shape), np.float32)
        """Normalised observations; step t leads from row t to row t + 1."""
        self.actions = np.empty((self._size, n), np.int32) if discrete else self._floats(n, spec.actions.size)
        self.rewards = self._floats(n)
        self.terminated, self.truncated = (np.empty((self._size, n), bool) for _ in range(2))
        self.live = np.zeros((self._size, n), bool)
        """Whether an environment made a transition."""

    def _floats(self, *shape: int) -> np.ndarray:
        return np.empty((self._size, *shape), np.float32)

    def reserve(self, t: int) -> None:
        """Make room for step t."""
        if t < self._size:
            return
        for name in ("z", "actions", "rewards", "terminated", "truncated", "live"):
            array = getattr(self, name)
            more = np.zeros((self._size // 2 + 1, *array.shape[1:]), array.dtype)
            setattr(self, name, np.concatenate([array, more]))
        self._size = len(self.live)

    def write(self, t: int, ids: np.ndarray | None, actions: np.ndarray, step: Step, next_z: np.ndarray) -> None:
        who: slice | np.ndarray = slice(None) if ids is None else ids
        self.z[t + 1, who], self.actions[t, who], self.rewards[t, who] = next_z, actions, step.rewards
        self.terminated[t, who], self.truncated[t, who] = step.terminated, step.truncated
        self.live[t, who] = ~step.is_reset

    def transitions(self, rows: int) -> Transitions:
        """Leading axes (n, T)."""
        n = self.live.shape[1]
        at = np.nonzero(self.live[:rows].T)[1].reshape(n, self._steps), np.arange(n)[:, None]
        after = at[0] + 1, at[1]
        return Transitions(
            self.z[at], self.actions[at], self.rewards[at], self.z[after], self.terminated[at], self.truncated[at]
        )


def frozen(normaliser: Normaliser) -> Callable[[np.ndarray], np.ndarray]:
    """The normaliser as a function that takes its standard deviations as known."""
    if isinstance(normaliser, RunningNormaliser):
        return ScaledNormaliser(normaliser.mean, normaliser.std + 1e-8, normaliser.clip).__call__
    return normaliser.__call__
