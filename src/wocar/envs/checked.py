"""Checked environments: numbers that are not finite, exceptions and silence are told with their place."""

import sys
import threading
import time
import traceback
import weakref
from typing import Any

import numpy as np

from wocar.types import Step, UserError, VectorEnv

PATIENCE = 60.0
"""Seconds without an answer after which an environment is said to hang; said again after twice the time."""


class EnvironmentFault(UserError):
    """An environment raised an exception or returned a number that is not finite."""


class ActionFault(EnvironmentFault):
    """It did so after actions that were not finite."""


class CheckedVector:
    """A vector environment whose answers are finite, or an `EnvironmentFault`."""

    def __init__(self, env: VectorEnv) -> None:
        self.spec, self.n, self.inner = env.spec, env.n, env
        self._steps = 0
        self.since = 0.0
        """When it was asked; 0 where it has answered."""
        _watch(self)

    def reset(self) -> np.ndarray:
        self._steps = 0
        obs = self._ask(self.inner.reset)
        self._check(obs, None, None)
        return obs

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        self._steps += 1
        try:
            step = self._ask(self.inner.step, actions, ids)
            self._check(step.obs, step.rewards, ids)
        except EnvironmentFault as fault:
            if np.isfinite(actions).all():
                raise
            raise ActionFault(f"{fault}, after an action that is not finite") from fault
        return step

    def close(self) -> None:
        self.inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _ask(self, function: Any, *arguments: Any) -> Any:
        self.since = time.monotonic()
        try:
            return function(*arguments)
        except UserError:
            raise
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            reason = " ".join(str(error).split())[:200]
            raise EnvironmentFault(
                f"environment {self.spec.id} failed at step {self._steps}: {type(error).__name__}: {reason} "
                f"({place.filename}, line {place.lineno})"
            ) from error
        finally:
            self.since = 0.0

    def _check(self, obs: np.ndarray, rewards: np.ndarray | None, ids: np.ndarray | None) -> None:
        if np.isfinite(obs).all() and (rewards is None or np.isfinite(rewards).all()):
            return
        row, *where = np.argwhere(~np.isfinite(obs))[0] if not np.isfinite(obs).all() else (None,)
        place = f"dimension {', '.join(map(str, where))} of its observation"
        if row is None:
            row, place = np.flatnonzero(~np.isfinite(rewards))[0], "its reward"  # type: ignore[arg-type]
        value = obs[(row, *where)] if where else rewards[row]  # type: ignore[index]
        number = row if ids is None else ids[row]
        raise EnvironmentFault(
            f"environment {self.spec.id} returned {value} in {place} (environment {number}, step {self._steps})"
        )


_watched: "weakref.WeakSet[CheckedVector]" = weakref.WeakSet()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def _watch(env: CheckedVector) -> None:
    """Have the watchdog look at an environment; its thread is started with the first."""
    global _thread
    with _lock:
        _watched.add(env)
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_watchdog, name="wocar-watchdog", daemon=True)
            _thread.start()


def _watchdog() -> None:
    told: dict[tuple[int, float], float] = {}
    while True:
        time.sleep(PATIENCE / 6)
        with _lock:
            waiting = [(env, env.since) for env in _watched if env.since]
        now = time.monotonic()
        told = {key: limit for key, limit in told.items() if key in {(id(env), since) for env, since in waiting}}
        for env, since in waiting:
            limit = told.get((id(env), since), PATIENCE)
            if now - since >= limit:
                told[id(env), since] = 2 * limit
                print(
                    f"wocar: environment {env.spec.id} has not answered for {now - since:.0f} s; stop with Ctrl-C if "
                    f"it hangs: what was written is kept",
                    file=sys.stderr,
                    flush=True,
                )
