"""Surrogate of a victim that can only be called: a small network fitted to its actions, through which attacks look."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks.base import Attack
from wocar.attacks.imitation import imitate
from wocar.bounds import Ball
from wocar.networks import CategoricalPolicy, GaussianPolicy, linear
from wocar.types import Policy

HIDDEN, FIT_STEPS = (64, 64), 6000


class Transfer(eqx.Module):
    """An attack computed on a surrogate and shown to the victim."""

    attack: Attack
    surrogate: Policy

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return self.attack.perturb(self.surrogate, ball, obs, key)


class Shadowed(Agent):
    """The victim acts, its surrogate is what attackers see: whatever learns an attack on agents learns it here."""

    def __init__(self, victim: Agent, surrogate: Any) -> None:
        super().__init__(victim.spec, victim.normaliser, surrogate)
        self.victim = victim

    def act(self, z: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        return self.victim.act(z, rng)


def fit_surrogate(victim: Agent, z: np.ndarray, ball: Ball, seed: int) -> Any:
    """A policy fitted to the victim's actions at these observations and at random points of their balls."""
    fit, draw, key = jax.random.split(jax.random.key(seed), 3)
    near = np.asarray(ball.sample(draw, jnp.asarray(z)))
    asked = np.concatenate([z, near]).astype(np.float32)
    actions, size = victim.act(asked), victim.spec.actions.size
    mean, std = z.mean(axis=0), z.std(axis=0) + 1e-6
    kind: Any = CategoricalPolicy if victim.spec.actions.discrete else GaussianPolicy
    fresh = kind.create(z.shape[-1], size, key, HIDDEN)
    taught = imitate(fresh, (asked - mean) / std, actions, int(jax.random.bits(fit)), FIT_STEPS)
    return eqx.tree_at(lambda policy: policy.network, taught, _of_unscaled(taught.network, mean, std))


def _of_unscaled(network: eqx.nn.Sequential, mean: np.ndarray, std: np.ndarray) -> eqx.nn.Sequential:
    """Of a network of (z - mean) / std: that of z."""
    first, *rest = network.layers
    weight = first.weight / std
    return eqx.nn.Sequential([linear(weight, first.bias - weight @ mean), *rest])
