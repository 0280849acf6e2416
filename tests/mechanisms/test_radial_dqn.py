"""RADIAL-DQN: its loss by hand, the dueling network without its value, and its preset."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from wocar.bounds import Ball, network_bounds
from wocar.config_base import configured
from wocar.mechanisms.q_config import RadialQConfig
from wocar.mechanisms.q_objective import QBatch
from wocar.mechanisms.radial_dqn import RadialQ, overlap, without_value
from wocar.methods.presets import default_config
from wocar.networks import GreedyPolicy
from wocar.networks.layers import forward, mlp
from wocar.training.dqn import DQNConfig, create_network
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


def test_the_penalty_is_the_share_of_the_overlap_over_the_rest() -> None:
    policy = GreedyPolicy(mlp([4, 8, 3], jax.random.key(0), activation="relu"))
    obs, actions, none = jax.random.normal(jax.random.key(1), (5, 4)), jnp.arange(5) % 3, jnp.zeros(5)
    batch = QBatch(obs, actions, none, obs, none, none)
    radial = RadialQ(configured(RadialQConfig, eps=0.2, eps_end=0.5))
    found = radial.penalty(policy, batch, jax.random.key(0), jnp.float32(1.0))
    wanted = overlap(policy.head(obs), *network_bounds(policy.network, Ball(0.2), obs, "ibp"), actions).mean()
    np.testing.assert_allclose(found, 0.25 * wanted, rtol=1e-5)
    assert found > radial.penalty(policy, batch, jax.random.key(0), jnp.float32(0.0))


def test_the_preset_is_the_published_one_and_survives_json() -> None:
    config = default_config("radial-dqn", "Pong-v5")
    a, r = config.algorithm, config.robust
    assert isinstance(a, DQNConfig)
    assert isinstance(r, RadialQConfig)
    assert (a.learning_rate, a.batch_size, a.per_alpha, a.exploration_initial_eps) == (1.25e-4, 128, 0.0, 0.01)
    assert (r.threat.eps, r.radial_weight, r.eps_schedule) == (1 / 255, 0.2, "smoothed")
    config.check()
    assert from_json(to_json(config), config.out) == dataclasses.replace(config, resume=True)
