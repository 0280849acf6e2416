"""Black boxes: agents that can only be called. They are evaluated and attacked without gradients."""

import hashlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.networks import ScaledNormaliser
from wocar.types import ActionSpace, Array, EnvSpec, UserError

Act = Callable[[np.ndarray], np.ndarray]
"""Raw observations (B, *shape) to the actions for the environment, (B, actions) or (B,) of whole numbers."""


class BlackBoxPolicy:
    """A policy whose network nobody sees; inside jitted attacks it is called back."""

    stochastic = False

    def __init__(self, act: Act, actions: ActionSpace) -> None:
        self.act, self._size, self.discrete = act, actions.size, actions.discrete

    @property
    def network(self) -> Any:
        raise UserError("a black box has no network to look into")

    def head(self, obs: Array) -> jax.Array:
        """The actions; discrete ones as 1 among zeros."""
        shape = jax.ShapeDtypeStruct((len(obs), self._size), np.float32)
        return jax.pure_callback(self._head, shape, obs)

    def mode(self, obs: Array) -> jax.Array:
        head = self.head(obs)
        return jnp.argmax(head, axis=-1) if self.discrete else head

    def held(self, state: Any) -> Self:
        return self

    def _head(self, obs: Any) -> np.ndarray:
        actions = self.act(np.asarray(obs))
        return (np.eye(self._size)[actions] if self.discrete else actions).astype(np.float32)


class BlackBoxAgent(Agent):
    """An agent around a function of raw observations."""

    black_box = True

    def __post_init__(self) -> None:
        self.meta.setdefault("digest", hashlib.sha256(uuid.uuid4().bytes).hexdigest())

    @property
    def recurrent(self) -> bool:
        return False

    def head(self, z: np.ndarray) -> np.ndarray:
        return self.policy._head(z)

    def act(self, z: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        return self.policy.act(z)

    def digest(self, critics: bool = True) -> str:
        """Of a function its own, new each time: what was measured of another is never taken for it."""
        return str(self.meta["digest"])

    def write(self, folder: Path) -> None:
        raise UserError("a black box cannot be written: there are no weights to write")


def black_box(policy: Any, spec: EnvSpec, meta: dict[str, Any] | None = None) -> BlackBoxAgent:
    """An agent around a function of one observation or a batch, or around what has such a `predict`."""
    act = _batched(_function(policy), spec)
    name = getattr(policy, "__name__", type(policy).__name__)
    about = {"method": "black-box", "source": name, **(meta or {})}
    return BlackBoxAgent(spec, ScaledNormaliser.identity(spec.obs_shape), BlackBoxPolicy(act, spec.actions), {}, about)


def _function(policy: Any) -> Callable[[np.ndarray], Any]:
    predict = getattr(policy, "predict", None)
    if predict is None:
        return policy

    def call(obs: np.ndarray) -> Any:
        try:
            found = predict(obs, deterministic=True)
        except TypeError:
            found = predict(obs)
        return found[0] if isinstance(found, tuple) else found

    return call


def _batched(function: Callable[[np.ndarray], Any], spec: EnvSpec) -> Act:
    """The function on batches, called once for each where it can take one, else for each observation."""

    def one_by_one(obs: np.ndarray) -> np.ndarray:
        return np.stack([_checked(function(row), (), spec.actions) for row in obs])

    def at_once(obs: np.ndarray) -> np.ndarray:
        return _checked(function(obs), (len(obs),), spec.actions)

    probe = np.random.default_rng(0).normal(size=(3, *spec.obs_shape)).astype(np.float32)
    found: dict[Act, np.ndarray] = {}
    reasons = []
    for act in (one_by_one, at_once):
        try:
            found[act] = act(probe)
        except Exception as error:  # whatever somebody's function raises
            reasons.append(" ".join(f"{type(error).__name__}: {error}".split())[:160])
    if not found:
        raise UserError(f"the policy takes neither an observation ({reasons[0]}) nor a batch ({reasons[1]})")
    if len(found) == 2 and not np.allclose(found[one_by_one], found[at_once], atol=1e-5):
        return one_by_one
    return at_once if at_once in found else one_by_one


def _checked(found: Any, leading: tuple[int, ...], actions: ActionSpace) -> np.ndarray:
    """The actions, if they are such as the environment takes."""
    array = np.asarray(found)
    if not actions.discrete:
        if array.shape != (*leading, actions.size):
            raise ValueError(f"shape {array.shape}, expected {(*leading, actions.size)}")
        if not np.all(np.isfinite(array)):
            raise ValueError("actions that are not finite")
        return array.astype(np.float32)
    if array.shape != leading or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"shape {array.shape} of {array.dtype}, expected {leading} whole numbers")
    if np.any(array < 0) or np.any(array >= actions.size):
        raise ValueError(f"actions outside 0 to {actions.size - 1}")
    return array
