"""Mechanism 2 in training against automatic differentiation of eq. (4)."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from wocar.mechanisms.objective import standardise
from wocar.mechanisms.policy_config import WocarConfig
from wocar.mechanisms.state_adversarial import RegNotes
from wocar.mechanisms.wocar import Wocar, WocarNotes
from wocar.networks import CategoricalPolicy, DiscreteCritic, DuelingActionCritic, GaussianPolicy
from wocar.training.ppo import ppo_loss
from wocar.types import ActionSpace, Batch

STATES, SAMPLES = 512, 64
SPACES = {"continuous": ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32)), "discrete": ActionSpace(3)}


def toy(kind: str) -> tuple[ActionSpace, Any, Any]:
    """A policy, and a critic whose value is mostly an offset per state, as after training."""
    space, keys = SPACES[kind], jax.random.split(jax.random.key(0))
    if space.discrete:
        critic = DiscreteCritic.create(4, space.size, keys[0], (16,))
        return space, CategoricalPolicy.create(4, space.size, keys[1], (16,)), lambda s: critic(s) + 9 * s[:, :1]
    inner = DuelingActionCritic.create(4, space.size, keys[0], (16,))
    return space, GaussianPolicy.create(4, space.size, keys[1], (16,), 0.5), lambda s, a: inner(s, a) + 9 * s[:, 0]


def expected_value(policy: Any, critic: Any, space: ActionSpace, obs: jax.Array) -> jax.Array:
    """Σ_a π(a|s) Q(s, a), or the mean over many samples μ + σξ."""
    if space.discrete:
        return jnp.sum(jax.nn.softmax(policy.head(obs)) * critic(obs), axis=-1)
    noise = jax.random.normal(jax.random.key(5), (SAMPLES, len(obs), space.size))
    sampled = policy.head(obs) + jnp.exp(policy.log_std) * noise
    return jax.vmap(lambda a: critic(obs, jnp.clip(a, -1, 1)))(sampled).mean(axis=0)


def batch_of(policy: Any, space: ActionSpace) -> Batch:
    obs, noise = (jax.random.normal(jax.random.key(k), (STATES, 4)) for k in (1, 2))
    if space.discrete:
        actions = jax.random.categorical(jax.random.key(3), policy.head(obs))
    else:
        actions = policy.head(obs) + jnp.exp(policy.log_std) * noise[:, : space.size]
    none, zero = jnp.zeros(STATES, bool), jnp.zeros(STATES)
    advantage = jax.random.normal(jax.random.key(4), (STATES,))
    return Batch(obs, actions, zero, obs, none, none, policy.log_prob(obs, actions), zero, advantage, zero)


def mechanism_2(form: Any, kind: str) -> tuple[jax.Array, jax.Array]:
    """What the form adds to the gradient of PPO's loss at the start of the update, and the gradient of eq. (4)."""
    space, policy, critic = toy(kind)
    batch, here = batch_of(policy, space), jnp.ones(())

    def gradient(config: WocarConfig) -> jax.Array:
        objective = Wocar(config, space)
        lessons: Any = None
        notes = WocarNotes(RegNotes(), objective._term(critic, policy, batch, lessons))

        def loss(policy: Any) -> jax.Array:
            advantages = objective.improve(standardise(batch.advantage), batch, notes, here)
            base = ppo_loss(policy, batch, advantages, 0.2, 0.0)
            return objective.loss(base, policy, batch, notes, jax.random.key(0), here)[0]

        return ravel_pytree(eqx.filter_grad(loss)(policy))[0]

    config = WocarConfig(reg=False, worst_form=form, kappa_wst=0.5)
    added = gradient(config) - gradient(dataclasses.replace(config, kappa_wst=0.0))
    exact = eqx.filter_grad(lambda p: -expected_value(p, critic, space, batch.obs).mean())(policy)
    return added, 0.5 / (batch.advantage.std() + 1e-8) * ravel_pytree(exact)[0]


def cosine(a: jax.Array, b: jax.Array) -> float:
    return float(a @ b / (jnp.linalg.norm(a) * jnp.linalg.norm(b)))


@pytest.mark.parametrize("kind", list(SPACES))
def test_the_gradient_form_follows_the_equation_and_its_scale(kind: str) -> None:
    added, exact = mechanism_2("gradient", kind)
    assert cosine(added, exact) > 0.99
    assert jnp.linalg.norm(added) == pytest.approx(float(jnp.linalg.norm(exact)), rel=0.1)


@pytest.mark.parametrize("kind", list(SPACES))
def test_the_raw_form_does_not(kind: str) -> None:
    assert cosine(*mechanism_2("raw", kind)) < 0.7
