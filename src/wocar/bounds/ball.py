"""B_eps(s): the states an attacker can show instead of s."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from wocar.types import Array, Interval, Limits

Norm = Literal["linf", "l2"]


class Ball(eqx.Module):
    """{x : ||x - s|| <= eps, low <= x <= high} around every state s of a batch (B, *obs_shape).

    `eps` is one radius or one per state, and may be traced: a schedule does not recompile. s is within the limits.
    """

    eps: Array = eqx.field(converter=partial(jnp.asarray, dtype=float))
    norm: Norm = eqx.field(static=True, default="linf")
    low: Array | float | None = None
    high: Array | float | None = None

    def __check_init__(self) -> None:
        if self.norm not in ("linf", "l2"):
            raise ValueError(f"unknown norm {self.norm!r}: choose linf or l2")

    @classmethod
    def within(cls, limits: Limits, eps: float | Array, norm: Norm = "linf") -> "Ball":
        """Clipped to the limits of observations."""
        return cls(eps, norm, *(limits or (None, None)))

    def scaled(self, factor: float | Array) -> "Ball":
        return eqx.tree_at(lambda ball: ball.eps, self, self.eps * factor)

    def interval(self, center: Array) -> Interval:
        """The smallest box that holds the ball."""
        radius = self.radius(center)
        return Interval(self._cut(center - radius), self._cut(center + radius))

    def project(self, center: Array, x: Array) -> Array:
        """`x` moved into the ball; for l_inf the nearest point of it."""
        if self.norm == "linf":
            return jnp.clip(x, *self.interval(center))
        offset = x - center
        radius = self.radius(center)
        return self._cut(center + offset * jnp.minimum(1.0, radius / jnp.maximum(_length(offset), 1e-12)))

    def direction(self, gradient: Array) -> Array:
        """The steepest step of length one: the sign for l_inf, the normalised gradient for l_2."""
        if self.norm == "linf":
            return jnp.sign(gradient)
        return gradient / jnp.maximum(_length(gradient), 1e-12)

    def sample(self, key: jax.Array, center: Array) -> Array:
        """One point per state, uniform in the ball (l_2 with limits: uniform, then moved within them)."""
        if self.norm == "linf":
            lower, upper = self.interval(center)
            return lower + (upper - lower) * jax.random.uniform(key, center.shape)
        key_direction, key_length = jax.random.split(key)
        dimension = center[0].size
        length = jax.random.uniform(key_length, (len(center),) + (1,) * (center.ndim - 1)) ** (1 / dimension)
        return self._cut(center + self.radius(center) * length * _on_sphere(key_direction, center))

    def sample_extreme(self, key: jax.Array, center: Array) -> Array:
        """One point per state on the boundary: a random corner (l_inf), a random point of the sphere (l_2)."""
        if self.norm == "linf":
            return jnp.where(jax.random.bernoulli(key, shape=center.shape), *self.interval(center))
        return self._cut(center + self.radius(center) * _on_sphere(key, center))

    def radius(self, center: Array) -> Array:
        return self.eps.reshape(self.eps.shape + (1,) * (center.ndim - self.eps.ndim))

    def _cut(self, x: Array) -> Array:
        return jnp.clip(x, self.low, self.high)


def _length(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x**2, axis=tuple(range(1, x.ndim)), keepdims=True))


def _on_sphere(key: jax.Array, like: Array) -> Array:
    normal = jax.random.normal(key, like.shape)
    return normal / jnp.maximum(_length(normal), 1e-12)


def for_each_state(bound: Callable[[Ball, Array], Interval], ball: Ball, center: Array, at_once: int = 0) -> Interval:
    """`bound(ball, state)`, a function of one state, for a batch of states, `at_once` at a time (0: all)."""
    eps = jnp.broadcast_to(ball.eps, center.shape[:1])

    def around_one(eps_and_state: tuple[Array, Array]) -> Interval:
        eps, state = eps_and_state
        return bound(eqx.tree_at(lambda b: b.eps, ball, eps), state)

    return jax.lax.map(around_one, (eps, jnp.asarray(center)), batch_size=at_once)
