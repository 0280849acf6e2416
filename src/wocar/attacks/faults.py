"""Sensor faults that nobody plans: noise, bias, dropout, stuck sensors, delay, quantisation. No ball bounds them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import Ball
from wocar.types import Array, Policy


class Fault(eqx.Module):
    """A fault of normalised observations (B, *obs_shape); one with memory also has `start` and `perturb_carry`."""

    unit: Array
    """Standard deviation of each sensor in the agent's own episodes, (*obs_shape)."""
    zero: Array
    """What the agent sees where a sensor reads 0, (*obs_shape)."""
    strength: float = eqx.field(static=True)

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return self.perturb_carry(policy, ball, obs, key, self.start(len(obs)))[0]

    def start(self, n: int) -> Any:
        """Memory of n sensors sets before an episode: a number of steps, and arrays of `kept`."""
        return jnp.zeros(n, jnp.int32), jnp.zeros((n, *self.unit.shape), jnp.float32)

    def perturb_carry(
        self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array, carry: Any
    ) -> tuple[jax.Array, Any]:
        return self.shown(obs, key), carry

    def shown(self, obs: jax.Array, key: jax.Array) -> jax.Array:
        """Of a fault without memory."""
        raise NotImplementedError


class Noise(Fault):
    """Gaussian noise of `strength` standard deviations, anew at every step."""

    def shown(self, obs: jax.Array, key: jax.Array) -> jax.Array:
        return obs + self.strength * self.unit * jax.random.normal(key, obs.shape)


class Dropout(Fault):
    """Each sensor reads 0 with probability `strength`, anew at every step."""

    def shown(self, obs: jax.Array, key: jax.Array) -> jax.Array:
        return jnp.where(jax.random.bernoulli(key, self.strength, obs.shape), self.zero, obs)


class Quantisation(Fault):
    """Readings in steps of `strength` standard deviations."""

    def shown(self, obs: jax.Array, key: jax.Array) -> jax.Array:
        size = jnp.maximum(self.strength * self.unit, 1e-12)
        return jnp.where(self.unit > 0, jnp.round(obs / size) * size, obs)


class Bias(Fault):
    """Each sensor is off by `strength` standard deviations for a whole episode, up or down."""

    def perturb_carry(
        self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array, carry: Any
    ) -> tuple[jax.Array, Any]:
        age, kept = carry
        signs = jnp.where(jax.random.bernoulli(key, 0.5, obs.shape), 1.0, -1.0)
        kept = jnp.where(_rows(age == 0, obs), signs, kept)
        return obs + self.strength * self.unit * kept, (age + 1, kept)


class Stuck(Fault):
    """`strength` sensors, drawn for each episode, stay at what they read first."""

    def start(self, n: int) -> Any:
        age, kept = super().start(n)
        return age, kept, jnp.zeros(kept.shape, bool)

    def perturb_carry(
        self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array, carry: Any
    ) -> tuple[jax.Array, Any]:
        age, kept, stuck = carry
        opens, flat = _rows(age == 0, obs), obs.reshape(len(obs), -1)
        order = jnp.argsort(jnp.argsort(jax.random.uniform(key, flat.shape), axis=1), axis=1)
        stuck = jnp.where(opens, (order < self.strength).reshape(obs.shape), stuck)
        kept = jnp.where(opens, obs, kept)
        return jnp.where(stuck, kept, obs), (age + 1, kept, stuck)


class Delay(Fault):
    """Readings arrive `strength` steps late; before, the first one is shown."""

    def start(self, n: int) -> Any:
        return jnp.zeros(n, jnp.int32), jnp.zeros((n, round(self.strength), *self.unit.shape), jnp.float32)

    def perturb_carry(
        self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array, carry: Any
    ) -> tuple[jax.Array, Any]:
        age, past = carry
        past = jnp.where(_rows(age == 0, past), obs[:, None], past)
        return past[:, 0], (age + 1, jnp.concatenate([past[:, 1:], obs[:, None]], axis=1))


FAULTS: dict[str, type[Fault]] = {
    "sensor-noise": Noise,
    "sensor-bias": Bias,
    "sensor-dropout": Dropout,
    "sensor-stuck": Stuck,
    "sensor-delay": Delay,
    "sensor-steps": Quantisation,
}
USUAL_STRENGTH = {"sensor-stuck": 1.0, "sensor-delay": 1.0}
"""Sensors, and steps; of the others 0.1."""


def make_fault(name: str, zero: np.ndarray, seen: np.ndarray | None, strength: float | None = None) -> Fault:
    """The fault for an agent that saw these normalised observations (..., *obs_shape); None: images, unit 1."""
    unit = np.ones_like(zero) if seen is None else seen.reshape(-1, *zero.shape).std(axis=0)
    chosen = USUAL_STRENGTH.get(name, 0.1) if strength is None else strength
    return FAULTS[name](jnp.asarray(unit, jnp.float32), jnp.asarray(zero, jnp.float32), float(chosen))


def _rows(mask: jax.Array, like: jax.Array) -> jax.Array:
    """(n,) in a shape that broadcasts to (n, ...)."""
    return mask.reshape(-1, *(1,) * (like.ndim - 1))
