"""The regulariser of Q networks: margins by hand, bounds that hold, searches between nothing and the bound."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.bounds import Ball, margin, network_bounds
from wocar.config_base import configured
from wocar.mechanisms.objective import BaseLoss
from wocar.mechanisms.q_config import WocarQConfig
from wocar.mechanisms.q_objective import QBatch, StateAdversarialQ
from wocar.mechanisms.q_reg import hinge, margin_bound
from wocar.networks import GreedyPolicy, cnn, mlp

NO_LOSS = BaseLoss(jnp.zeros(()), {})


def test_margins_by_hand() -> None:
    q_values = jnp.array([[1.0, 3.0, 2.0], [5.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    margins = margin(q_values, jnp.array([1, 2, 0]))
    np.testing.assert_allclose(margins, [-1, 4, 0])
    np.testing.assert_allclose(hinge(margins, 0.5), [-0.5, 4, 0])


def networks(seed: int) -> Any:
    key = jax.random.key(seed)
    if seed % 2:
        return mlp([4, 8, 8, 3], key, activation="relu"), (4,)
    return cnn((1, 36, 36), 3, key, (4, 4), (8, 4), (4, 2), 8), (1, 36, 36)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 3), eps=st.floats(0, 0.1))
def test_the_bound_of_the_margin_holds_and_is_tighter_than_apart(seed: int, eps: float) -> None:
    network, shape = networks(seed)
    ball = Ball(eps, "linf", 0.0, 1.0)
    obs = jax.random.uniform(jax.random.key(seed + 10), (5, *shape))
    q_values = jax.vmap(network)(obs)
    label = jnp.argmax(q_values, axis=-1)
    bound = margin_bound(network, ball, obs, label)
    for k in range(5):
        shown = ball.sample_extreme(jax.random.key(k), obs) if k else obs
        assert (margin(jax.vmap(network)(shown), label) <= bound + 1e-5).all()
    lower, upper = network_bounds(network, ball, obs, "ibp")
    apart = margin(jnp.where(jax.nn.one_hot(label, 3, dtype=bool), lower, upper), label)
    assert (bound <= apart + 1e-5).all()
    if eps == 0:
        np.testing.assert_allclose(bound, margin(q_values, label), atol=1e-5)


@pytest.mark.parametrize(("loss", "temperature"), [("hinge", 1.0), ("kl", 1.0), ("kl", 0.2)])
def test_the_search_finds_less_than_the_bound_and_more_than_nothing(loss: Any, temperature: float) -> None:
    settings = configured(WocarQConfig, eps=0.2, reg_loss=loss, reg_temperature=temperature, reg_lead=10.0, reg_steps=5)
    objective = StateAdversarialQ(settings)
    policy = GreedyPolicy(mlp([4, 16, 3], jax.random.key(0), activation="relu"))
    obs, ball = jax.random.normal(jax.random.key(1), (32, 4)), objective.ball(jnp.float32(1))
    at_rest = 0.0 if loss == "kl" else margin(policy.head(obs), policy.mode(obs))
    found = objective._searched(policy, policy.head(obs), obs, ball, jax.random.key(2))
    bound = objective._bounded(policy, policy.head(obs), obs, ball, jax.random.key(2))
    assert (found <= bound + 1e-5).all()
    assert (found > at_rest).mean() > 0.9


@pytest.mark.parametrize("solver", ["pgd", "convex"])
def test_temperature_is_a_unit_of_values(solver: Any) -> None:
    """Values and temperature a hundred times as large: the same distance; at the old temperature a larger one."""
    network = mlp([4, 16, 3], jax.random.key(0), activation="relu")
    larger = eqx.tree_at(lambda n: (n.layers[-1].weight, n.layers[-1].bias), network, replace_fn=lambda x: 100 * x)
    batch = QBatch(jax.random.normal(jax.random.key(1), (32, 4)), *[jnp.zeros(32)] * 5)

    def penalty(network: Any, temperature: float) -> float:
        settings = configured(WocarQConfig, eps=0.2, reg_loss="kl", reg_solver=solver, reg_temperature=temperature)
        policy = GreedyPolicy(network)
        loss, _ = StateAdversarialQ(settings).loss(NO_LOSS, policy, batch, None, jax.random.key(2), jnp.float32(1))
        return float(loss)

    assert penalty(larger, 100.0) == pytest.approx(penalty(network, 1.0), rel=1e-3)
    assert penalty(larger, 1.0) > 2 * penalty(network, 1.0)


def test_pixels_stay_pixels() -> None:
    """The ball around a black frame, cut to [0, 1], reaches up only."""
    objective = StateAdversarialQ(configured(WocarQConfig, eps=0.1), limits=(0.0, 1.0))
    interval = objective.ball(jnp.float32(1)).interval(jnp.zeros((1, 1, 2, 2)))
    assert float(interval.lower.min()) == 0
    assert float(interval.upper.max()) == pytest.approx(0.1)
