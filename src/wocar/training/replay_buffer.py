"""Replay buffer: each observation stored once, in files beside the checkpoints, which do not copy them."""

import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wocar.files import no_link, one_line_errors
from wocar.training.sum_tree import SumTree
from wocar.types import EnvSpec, Step, UserError


class Sample(NamedTuple):
    """Transitions drawn from a replay, (N, ...); observations are raw."""

    obs: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    """Of up to n steps, discounted."""
    next_obs: np.ndarray
    discounts: np.ndarray
    """What multiplies the value of next_obs; 0 where the episode terminated."""
    weights: np.ndarray
    """Importance-sampling weight, at most 1."""
    slots: np.ndarray


class ReplayBuffer:
    """Ring buffer. Row t holds the observations of n environments, their actions and the outcomes.

    s' of a row is s of the next one, also at the end of an episode: an environment then takes a row to reset, which is
    no transition. Of stacked frames only the newest is stored. The ring is longer than its capacity by `slack` rows, so
    that no transition that a checkpoint could sample is overwritten before the next checkpoint.
    """

    def __init__(
        self, spec: EnvSpec, n: int, capacity: int, slack: int, gamma: float, n_step: int = 1, alpha: float = 0.0
    ) -> None:
        """`alpha`: how strongly large errors are preferred; 0: every transition is drawn alike."""
        self.pixels = len(spec.obs_shape) == 3
        self._stack = spec.obs_shape[0] if self.pixels else 1
        self._frame = spec.obs_shape[1:] if self.pixels else spec.obs_shape
        self._n, self._window, self._gamma, self._n_step, self._alpha = n, -(-capacity // n), gamma, n_step, alpha
        continuous = not spec.actions.discrete
        self._action = (np.dtype(np.float32), (spec.actions.size,)) if continuous else (np.dtype(np.int32), ())
        self.rows = self._window + slack + self._stack + n_step
        self.head = 0
        """The newest row: observations are known, actions are not yet."""
        self.priorities = SumTree(self.rows * n) if alpha else None
        self.largest = 1.0

    def open(self, folder: Path, anew: bool) -> None:
        """Open the files in the folder, or create them at full size."""
        if anew:
            shutil.rmtree(folder, ignore_errors=True)
        with one_line_errors("write", folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._files: list[np.memmap] = []
        self.frames = self._column(folder / "frames", np.dtype(np.uint8 if self.pixels else np.float32), self._frame)
        self.actions = self._column(folder / "actions", *self._action)
        self.rewards = self._column(folder / "rewards", np.dtype(np.float32))
        self.terminated, self.ended, self.live = (
            self._column(folder / name, np.dtype(bool)) for name in ("terminated", "ended", "live")
        )
        self.ages = self._column(folder / "ages", np.dtype(np.int32))

    def _column(self, path: Path, dtype: np.dtype, shape: tuple[int, ...] = ()) -> np.ndarray:
        whole = (self.rows * self._n, *shape)
        size = int(np.prod(whole)) * dtype.itemsize
        with one_line_errors("write", path):
            if not os.path.lexists(path):
                with open(path, "wb", opener=no_link) as file:
                    os.posix_fallocate(file.fileno(), 0, size)
            with open(path, "r+b", opener=no_link) as file:
                if (found := os.fstat(file.fileno()).st_size) != size:
                    raise UserError(f"{path} is damaged: it has {found} bytes, not {size}")
                self._files.append(np.memmap(file, dtype, "r+", shape=whole))
        return np.asarray(self._files[-1])

    def begin(self, obs: np.ndarray) -> None:
        """Environments restart: earlier episodes are cut off as at a time limit."""
        if self.head:
            self.ended[self._at(self.head - 1)] = True
            self._move_on()
        here = self._at(self.head)
        self.live[here] = False
        self.ages[here] = 0
        self.frames[here] = self._newest(obs)

    def add(self, actions: np.ndarray, step: Step) -> None:
        """Store the actions of the newest row and the observations after them."""
        here = self._at(self.head)
        self.actions[here], self.rewards[here] = actions, step.rewards
        self.terminated[here], self.ended[here] = step.terminated, step.terminated | step.truncated
        self.live[here] = ~step.is_reset
        age = self.ages[here] + 1
        if step.is_reset.any():  # a lost life resets without clearing the stack
            fresh = step.is_reset & (self._stack == 1 or (step.obs == step.obs[:, -1:]).all(axis=(1, 2, 3)))
            age[fresh] = 0
        self._move_on()
        here = self._at(self.head)
        self.live[here] = False
        self.ages[here] = age
        self.frames[here] = self._newest(step.obs)

    def _move_on(self) -> None:
        self.head += 1
        if self.priorities is not None:
            ready, gone = self.head - self._n_step, self.head - self._window
            if ready >= 0:
                slots = self._at(ready)
                self.priorities.set(slots, np.where(self.live[slots], self.largest**self._alpha, 0.0))
            if gone >= 0:
                self.priorities.set(self._at(gone), 0.0)

    @property
    def ready(self) -> bool:
        """Whether there is a transition to sample."""
        return self.head >= self._n_step

    def sample(self, size: int, rng: np.random.Generator, beta: float = 1.0) -> Sample:
        """`beta`: how much of the preference the weights take back."""
        if self.priorities is None:
            return self._gather(self._draw_evenly(size, rng), np.ones(size, np.float32))
        slots = self.priorities.draw((np.arange(size) + rng.random(size)) / size)
        weights = self.priorities[slots] ** -beta
        return self._gather(slots, (weights / weights.max()).astype(np.float32))

    def _draw_evenly(self, size: int, rng: np.random.Generator) -> np.ndarray:
        oldest, newest = max(0, self.head - self._window + 1), self.head - self._n_step
        slots = np.empty(size, np.int64)
        wanted = np.arange(size)
        while len(wanted):
            drawn = rng.integers(oldest * self._n, (newest + 1) * self._n, len(wanted))
            slots[wanted] = drawn % len(self.live)
            wanted = wanted[~self.live[slots[wanted]]]
        return slots

    def _gather(self, slots: np.ndarray, weights: np.ndarray) -> Sample:
        return Sample(self._observe(slots), self.actions[slots], *self.outcome(slots, self._n_step), weights, slots)

    def outcome(self, slots: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of up to so many steps, no more than samples take: rewards, next observations, discounts."""
        last, rewards = slots, np.zeros(len(slots), np.float32)
        discounts, going = np.ones(len(slots), np.float32), np.ones(len(slots), bool)
        for _ in range(steps):
            rewards += going * discounts * self.rewards[last]
            discounts *= np.where(going, self._gamma * ~self.terminated[last], 1).astype(np.float32)
            ended = self.ended[last]
            last = np.where(going, (last + self._n) % len(self.live), last)
            going = going & ~ended
        return rewards, self._observe(last), discounts

    def _observe(self, slots: np.ndarray) -> np.ndarray:
        """Observations at these slots; an episode's first frame is repeated where earlier ones are missing."""
        if not self.pixels:
            return self.frames[slots]
        back = np.minimum(np.arange(self._stack)[::-1], self.ages[slots][:, None])
        return self.frames[(slots[:, None] - back * self._n) % len(self.live)]

    def learnt(self, slots: np.ndarray, errors: np.ndarray) -> None:
        """The errors of drawn transitions become their priorities."""
        if self.priorities is not None:
            here = self.priorities[slots] > 0  # not overwritten meanwhile
            sizes = np.abs(errors[here]) + 1e-6
            self.largest = max(self.largest, float(sizes.max(initial=0.0)))
            self.priorities.set(slots[here], sizes**self._alpha)

    def flush(self) -> None:
        for file in self._files:
            file.flush()

    def _at(self, row: int) -> np.ndarray:
        start = row % self.rows * self._n
        return np.arange(start, start + self._n)

    def _newest(self, obs: np.ndarray) -> np.ndarray:
        return obs[:, -1] if self.pixels else obs


def check_replay(config: Any, run: Any) -> None:
    """A UserError where the settings of a replay do not fit together."""
    if run.batch_steps % config.train_freq:
        raise UserError(f"--train-freq must divide n_envs * n_steps = {run.batch_steps}, not be {config.train_freq}")
    least = config.n_envs * (config.n_step + 10)
    if config.buffer_size < least:
        raise UserError(f"--buffer-size must be at least {least} here, not {config.buffer_size}")
