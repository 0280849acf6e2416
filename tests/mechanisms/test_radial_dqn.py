"""RADIAL-DQN: its loss by hand, the dueling network without its value, and its preset."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.bounds import Ball, network_bounds
from wocar.config_base import configured
from wocar.mechanisms.objective import BaseLoss, Info
from wocar.mechanisms.q_objective import QBatch
from wocar.mechanisms.radial_dqn import RadialQ, RadialQConfig, overlap, without_value
from wocar.methods.presets import default_config
from wocar.networks import GreedyPolicy
from wocar.networks.layers import forward, mlp
from wocar.training.dqn import DQN, DQNConfig, create_network
from wocar.training.run_config import from_json, to_json
from wocar.types import ActionSpace, EnvSpec


def test_overlap_by_hand() -> None:
    """Taken 0 with Q = 2: action 1 is worse by 1.5 and reaches 1 - 1.5 + 0.75 above it, action 2 is better."""
    q = jnp.array([[2.0, 0.5, 3.0]])
    lower, upper = jnp.array([[1.5, 0.0, 2.0]]), jnp.array([[2.5, 1.0, 4.0]])
    np.testing.assert_allclose(overlap(q, lower, upper, jnp.array([0])), [1.5 * 0.25])
    np.testing.assert_allclose(overlap(q, lower, upper, jnp.array([1])), [0.0])
    # taken 2: action 0 is worse by 1 and reaches 2.5 - 2 + 0.5, action 1 by 2.5 and 1 - 2 + 1.25
    np.testing.assert_allclose(overlap(q, lower, upper, jnp.array([2])), [1 * 1 + 2.5 * 0.25])


def test_leads_are_the_q_values_up_to_the_value() -> None:
    spec = EnvSpec("toy", (4,), ActionSpace(3))
    network = create_network(spec, jax.random.key(0), DQNConfig(hidden=(8,), dueling=True))
    plain = create_network(spec, jax.random.key(0), DQNConfig(hidden=(8,)))
    obs = jax.random.normal(jax.random.key(1), (5, 4))
    q, leads = forward(network, obs), forward(without_value(network), obs)
    np.testing.assert_allclose(leads, q - q.mean(axis=-1, keepdims=True), atol=1e-5)
    assert without_value(plain) is plain


def test_the_loss_is_a_mixture_in_units_of_the_td_loss() -> None:
    policy = GreedyPolicy(mlp([4, 8, 3], jax.random.key(0), activation="relu"))
    obs, actions, none = jax.random.normal(jax.random.key(1), (5, 4)), jnp.arange(5) % 3, jnp.zeros(5)
    batch = QBatch(obs, actions, none, obs, none, none)
    radial, base = RadialQ(configured(RadialQConfig, eps=0.2, eps_end=0.5)), BaseLoss(jnp.float32(3.0), {})

    def found(progress: float) -> float:
        return float(radial.loss(base, policy, batch, None, jax.random.key(0), jnp.float32(progress))[0])

    worst = overlap(policy.head(obs), *network_bounds(policy.network, Ball(0.2), obs, "ibp"), actions).mean()
    assert found(1.0) == pytest.approx((0.8 * 3 + 0.2 * float(worst)) / 0.8, rel=1e-6)
    assert found(1.0) > found(0.0)


class Penalty(RadialQ):
    """The same loss as a penalty: L + k / (1 - k) L_overlap."""

    def loss(
        self, base: BaseLoss, policy: Any, batch: QBatch, notes: None, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        bounds = network_bounds(without_value(policy.network), self.ball(progress), batch.obs, "ibp")
        share = self.config.radial_weight
        return base.value + share / (1 - share) * overlap(policy.head(batch.obs), *bounds, batch.actions).mean(), {}


def test_one_update_is_that_of_the_penalty() -> None:
    spec, rng = EnvSpec("toy", (4,), ActionSpace(3)), np.random.default_rng(0)
    obs, next_obs = rng.random((2, 16, 4), dtype=np.float32)
    rewards, weights = rng.normal(size=16).astype(np.float32), rng.random(16, dtype=np.float32)
    batch = QBatch(obs, rng.integers(0, 3, 16).astype(np.int32), rewards, next_obs, 0.9 * np.ones(16), weights)
    nets = []
    for kind in (RadialQ, Penalty):
        algorithm = DQN(DQNConfig(hidden=(8, 8)), kind(configured(RadialQConfig, eps=0.2)))
        learner = algorithm.init(spec, jax.random.key(3))
        learner, _, _ = algorithm.update(learner, batch, jax.random.key(0), jnp.float32(0.9))
        nets.append(jax.tree.leaves(eqx.filter(learner.q.online, eqx.is_array)))
    for mixed, penalised in zip(*nets, strict=True):
        np.testing.assert_allclose(mixed, penalised, rtol=1e-6, atol=1e-8)


def test_the_preset_is_the_published_one_and_survives_json() -> None:
    config = default_config("radial-dqn", "Pong-v5")
    a, r = config.algorithm, config.robust
    assert isinstance(a, DQNConfig)
    assert isinstance(r, RadialQConfig)
    assert (a.learning_rate, a.batch_size, a.per_alpha, a.exploration_initial_eps) == (1.25e-4, 128, 0.0, 0.01)
    assert (r.threat.eps, r.radial_weight, r.eps_schedule) == (1 / 255, 0.2, "smoothed")
    config.check()
    assert from_json(to_json(config), config.out) == dataclasses.replace(config, resume=True)
