"""What a base algorithm is handed: three doors, each open or closed."""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from wocar.types import Batch

Info = dict[str, jax.Array]
Limits = tuple[float, float] | None
"""What an observation can be; the ball is cut to it."""


class Objective(Protocol):
    """L_π = L_RL + κ_wst L_wst + κ_reg L_reg: the base algorithm is L_RL, an objective the rest."""

    @property
    def critics(self) -> int:
        """How many worst critics `init` is to be given: none, one, or a pair as one."""

    def init(self, critic: Any, obs_shape: tuple[int, ...]) -> Any:
        """The objective's own training state."""

    def fit(
        self, extra: Any, policy: Any, batch: Batch, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Batch, Info]:
        """Mechanism 1: once per iteration, before the policy moves; may note on the batch what later doors need."""

    def advantages(self, batch: Batch, progress: jax.Array) -> jax.Array:
        """Mechanism 2: what multiplies the policy gradient in a minibatch."""

    def penalty(self, policy: Any, batch: Batch, key: jax.Array, progress: jax.Array) -> jax.Array:
        """Mechanism 3: added to the policy loss of a minibatch."""


class Vanilla(NamedTuple):
    """All doors closed: the base algorithm itself."""

    critics: int = 0

    def init(self, critic: Any, obs_shape: tuple[int, ...]) -> Any:
        return ()

    def fit(
        self, extra: Any, policy: Any, batch: Batch, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Batch, Info]:
        return extra, batch, {}

    def advantages(self, batch: Batch, progress: jax.Array) -> jax.Array:
        return standardise(batch.advantage)

    def penalty(self, policy: Any, batch: Batch, key: jax.Array, progress: jax.Array) -> jax.Array:
        return jnp.zeros(())


def standardise(x: jax.Array) -> jax.Array:
    return (x - x.mean()) / (x.std() + 1e-8)


def clipped_surrogate(ratio: jax.Array, advantages: jax.Array, clip_range: float) -> jax.Array:
    """PPO's: min(ρA, clip(ρ, 1-c, 1+c)A), of the ratio ρ = π(a|s) / π_old(a|s). (N,)"""
    return jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - clip_range, 1 + clip_range) * advantages)
