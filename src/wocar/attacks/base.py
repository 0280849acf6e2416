"""Attack protocols, and attacks applied step after step. The caller projects onto the ball."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import Ball, ascend_in_ball
from wocar.bounds.search import shrinking
from wocar.types import ActionSpace, Policy, VectorEnv

InputObjective = Callable[[jax.Array], jax.Array]


class Attack(Protocol):
    """A frozen dataclass of settings, or an `eqx.Module` where it holds arrays; `perturb` is pure.

    `policy` is a feed-forward policy, or a recurrent one whose hidden state is held. What `perturb` returns need not
    lie in the ball. An attack with memory also has `start(n) -> carry`, arrays with n rows, and
    `perturb_carry(policy, ball, obs, key, carry) -> (obs~, carry)`, which is called instead of `perturb`.
    """

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array: ...


class ActionAttack(Protocol):
    """Changes actions between the victim and its environment; discrete ones it proposes, and chance decides."""

    def disturb(
        self, policy: Policy, radius: jax.Array, obs: jax.Array, actions: jax.Array, key: jax.Array
    ) -> jax.Array: ...


def steepest(objective: InputObjective, ball: Ball, obs: jax.Array, steps: int) -> jax.Array:
    """From the true state to the best point met on steps that shrink from two radii: within 1 % of fifty steps."""
    sizes = shrinking(2 * ball.radius(obs), steps)
    return ascend_in_ball(objective, ball, obs, obs, steps=steps, step_size=sizes, keep_best=True)


class Perturbation:
    """Applies an attack: normalised observations to perturbed ones inside the ball, step after step."""

    def __init__(self, attack: Attack, ball: Ball, seed: int) -> None:
        self.attack, self.ball = attack, ball
        self.calls = 0
        self._key, self._used = jax.random.key(seed), 0.0
        self._carry: Any = None
        self._policy: Any = None

    def __call__(self, policy: Policy, obs: np.ndarray) -> np.ndarray:
        self.calls += 1
        if self._carry is None and hasattr(self.attack, "start"):
            self._carry = self.attack.start(len(obs))
        if policy is not self._policy:
            self._policy, self._parts = policy, Parts.of((self.attack, policy, self.ball))
        shown, used, self._carry = _perturbed(*self._parts, obs, self._key, np.uint32(self.calls), self._carry)
        self._used += float(used)
        return np.asarray(shown)

    def begin(self, env: VectorEnv) -> None:
        """It looks at observations only."""

    def reset(self, rows: np.ndarray, n: int) -> None:
        """Reset the memory of these environments of n: their episodes have ended."""
        if self._carry is not None:
            fresh = self.attack.start(n)  # type: ignore[attr-defined]
            self._carry = jax.tree.map(lambda old, new: old.at[rows].set(new[rows]), self._carry, fresh)

    @property
    def used(self) -> float:
        """Share of the budget used, over all calls: mean |s~ - s| / eps (l_2: mean length / eps)."""
        return self._used / max(self.calls, 1)


class Disturbance:
    """Applies an attack on actions: the victim's actions to those that reach the environment.

    Continuous: every coordinate moves by at most `radius`, and not out of the range the environment takes (or further
    out, if the victim has left it). Discrete: each action is replaced with probability `radius`.
    """

    def __init__(self, attack: ActionAttack, radius: float, space: ActionSpace, seed: int) -> None:
        if space.discrete and not 0 <= radius <= 1:
            raise ValueError(f"radius {radius}: discrete actions are replaced with a probability between 0 and 1")
        self.attack, self.radius, self.space = attack, radius, space
        self.calls = 0
        self._key, self._used = jax.random.key(seed), 0.0

    def __call__(self, policy: Policy, obs: np.ndarray, actions: np.ndarray) -> np.ndarray:
        self.calls += 1
        limits = None if self.space.discrete else (self.space.low, self.space.high)
        radius, call = jnp.float32(self.radius), jnp.uint32(self.calls)
        taken, used = _disturbed(
            self.attack, policy, radius, limits, jnp.asarray(obs), jnp.asarray(actions), self._key, call
        )
        self._used += float(used)
        return np.asarray(taken).astype(actions.dtype)

    @property
    def used(self) -> float:
        """Share of the budget used, over all calls: mean |a~ - a| / radius; discrete: share replaced / radius."""
        return self._used / max(self.calls, 1)


class Fixed:
    """What of a tree is no array, as a static argument of `jax.jit`; its hash is taken once."""

    def __init__(self, tree: Any) -> None:
        leaves, structure = jax.tree.flatten(tree)
        self.tree, self._key = tree, (structure, tuple(leaves))
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Fixed) and self._key == other._key)


class Parts(NamedTuple):
    """A tree taken apart once, for many calls: `eqx.filter_jit` would do so at each."""

    fixed: Fixed
    arrays: Any

    @classmethod
    def of(cls, tree: Any) -> "Parts":
        arrays, rest = eqx.partition(tree, eqx.is_array)
        return cls(Fixed(rest), arrays)


@partial(jax.jit, static_argnums=0)
def _perturbed(
    fixed: Fixed, arrays: Any, obs: jax.Array, key: jax.Array, call: jax.Array, carry: Any
) -> tuple[jax.Array, jax.Array, Any]:
    attack, policy, ball = eqx.combine(arrays, fixed.tree)
    key = jax.random.fold_in(key, call)
    if carry is None:
        shown = attack.perturb(policy, ball, obs, key)
    else:
        shown, carry = attack.perturb_carry(policy, ball, obs, key, carry)
    shown = ball.project(obs, shown)
    return shown, ball.used(obs, shown), carry


@eqx.filter_jit
def _disturbed(
    attack: Any,
    policy: Policy,
    radius: jax.Array,
    limits: tuple[Any, Any] | None,
    obs: jax.Array,
    actions: jax.Array,
    key: jax.Array,
    call: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    attack_key, chance_key = jax.random.split(jax.random.fold_in(key, call))
    proposed = attack.disturb(policy, radius, obs, actions, attack_key)
    if limits is None:
        taken = jnp.where(jax.random.bernoulli(chance_key, radius, actions.shape), proposed, actions)
        return taken, jnp.mean(taken != actions) / jnp.maximum(radius, 1e-12)
    low, high = limits
    taken = jnp.clip(proposed, actions - radius, actions + radius)
    taken = jnp.clip(taken, jnp.minimum(low, actions), jnp.maximum(high, actions))
    return taken, jnp.mean(jnp.abs(taken - actions)) / jnp.maximum(radius, 1e-12)
