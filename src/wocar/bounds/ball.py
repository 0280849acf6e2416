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

    `eps` is one radius or one per state, and may be traced: a schedule does not recompile. `scale` (*obs_shape), where
    given, multiplies it in each dimension: a box for l_inf, {x : ||(x - s) / scale|| <= eps} for l_2, an ellipsoid; a
    dimension of scale 0 stays as it is. s is within the limits.
    """

    eps: Array = eqx.field(converter=partial(jnp.asarray, dtype=float))
    norm: Norm = eqx.field(static=True, default="linf")
    low: Array | float | None = None
    high: Array | float | None = None
    scale: Array | None = None

    def __check_init__(self) -> None:
        if self.norm not in ("linf", "l2"):
            raise ValueError(f"unknown norm {self.norm!r}: choose linf or l2")

    @classmethod
    def within(cls, limits: Limits, eps: float | Array, norm: Norm = "linf", scale: Array | None = None) -> "Ball":
        """Clipped to the limits of observations."""
        low, high = limits or (None, None)
        return cls(eps, norm, low, high, scale)

    def scaled(self, factor: float | Array) -> "Ball":
        resized: Ball = eqx.tree_at(lambda ball: ball.eps, self, self.eps * factor)
        return resized

    def interval(self, center: Array) -> Interval:
        """The smallest box that holds the ball."""
        radius = self.radius(center)
        return Interval(self._cut(center - radius), self._cut(center + radius))

    def project(self, center: Array, x: Array) -> Array:
        """`x` moved into the ball; for l_inf the nearest point of it."""
        if self.norm == "linf":
            return jnp.clip(x, *self.interval(center))
        offset = x - center
        length = _length(self._unscaled(offset))
        inside = offset * jnp.minimum(1.0, self._eps(center) / jnp.maximum(length, 1e-12))
        return self._cut(center + (inside if self.scale is None else jnp.where(self.scale > 0, inside, 0.0)))

    def direction(self, gradient: Array) -> Array:
        """The steepest step in units of the radius: the sign for l_inf, the normalised gradient for l_2."""
        if self.norm == "linf":
            return jnp.sign(gradient)
        if self.scale is not None:
            gradient = gradient * self.scale
        return gradient / jnp.maximum(_length(gradient), 1e-12)

    def sample(self, key: jax.Array, center: Array) -> Array:
        """One point per state, uniform in the ball (l_2 with limits: uniform, then moved within them)."""
        if self.norm == "linf":
            lower, upper = self.interval(center)
            return lower + (upper - lower) * jax.random.uniform(key, center.shape)
        key_direction, key_length = jax.random.split(key)
        dimension = center[0].size if self.scale is None else jnp.maximum(jnp.sum(self.scale > 0), 1)
        length = jax.random.uniform(key_length, (len(center),) + (1,) * (center.ndim - 1)) ** (1 / dimension)
        return self._cut(center + self.radius(center) * length * self._on_sphere(key_direction, center))

    def sample_extreme(self, key: jax.Array, center: Array) -> Array:
        """One point per state on the boundary: a random corner (l_inf), a random point of the sphere (l_2)."""
        if self.norm == "linf":
            return jnp.where(jax.random.bernoulli(key, shape=center.shape), *self.interval(center))
        return self._cut(center + self.radius(center) * self._on_sphere(key, center))

    def radius(self, center: Array) -> Array:
        """How far each coordinate can move, in a shape that broadcasts to `center`."""
        return self._eps(center) if self.scale is None else self._eps(center) * self.scale

    def offset(self, center: Array, x: Array) -> Array:
        """x - center in units of the radius; 0 where there is none."""
        radius = self.radius(center)
        return jnp.where(radius > 0, (x - center) / jnp.where(radius > 0, radius, 1.0), 0.0)

    def used(self, center: Array, x: Array) -> Array:
        """The share of the radius by which x differs from the center: mean over states, for l_inf over coordinates."""
        moved = jnp.abs(self._unscaled(x - center))
        if self.norm == "l2":
            moved = _length(moved)
        shares = moved / jnp.maximum(self._eps(center), 1e-12)
        if self.norm == "l2" or self.scale is None:
            return jnp.mean(shares)
        movable = jnp.broadcast_to(self.scale > 0, shares.shape)
        return jnp.sum(shares) / jnp.maximum(jnp.sum(movable), 1)

    def scales(self, state: Array) -> Array:
        """The radius of each coordinate of one state (*obs_shape) as a multiple of eps."""
        return jnp.ones_like(state) if self.scale is None else jnp.broadcast_to(self.scale, state.shape)

    def _eps(self, center: Array) -> Array:
        return self.eps.reshape(self.eps.shape + (1,) * (center.ndim - self.eps.ndim))

    def _unscaled(self, offset: Array) -> Array:
        """Offsets in a ball of equal radii; what cannot be moved is 0."""
        if self.scale is None:
            return offset
        return jnp.where(self.scale > 0, offset / jnp.where(self.scale > 0, self.scale, 1.0), 0.0)

    def _on_sphere(self, key: jax.Array, like: Array) -> Array:
        normal = jax.random.normal(key, like.shape)
        if self.scale is not None:
            normal = jnp.where(self.scale > 0, normal, 0.0)
        return normal / jnp.maximum(_length(normal), 1e-12)

    def _cut(self, x: Array) -> Array:
        return jnp.clip(x, self.low, self.high)


def _length(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x**2, axis=tuple(range(1, x.ndim)), keepdims=True))


def for_each_state(bound: Callable[[Ball, Array], Interval], ball: Ball, center: Array, at_once: int = 0) -> Interval:
    """`bound(ball, state)`, a function of one state, for a batch of states, `at_once` at a time (0: all)."""
    eps = jnp.broadcast_to(ball.eps, center.shape[:1])

    def around_one(eps_and_state: tuple[Array, Array]) -> Interval:
        eps, state = eps_and_state
        return bound(eqx.tree_at(lambda b: b.eps, ball, eps), state)

    found: Interval = jax.lax.map(around_one, (eps, jnp.asarray(center)), batch_size=at_once)
    return found
