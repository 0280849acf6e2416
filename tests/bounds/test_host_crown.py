"""Bounds in NumPy: those of JAX, sound, and fast enough for a control loop."""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wocar
from wocar.agent import Agent
from wocar.bounds import Ball, network_bounds
from wocar.bounds.host_ball import HostBall
from wocar.bounds.host_crown import HostCrown
from wocar.networks import CategoricalPolicy, GaussianPolicy, ScaledNormaliser, SquashedPolicy, cnn, mlp
from wocar.networks.layers import forward
from wocar.types import ActionSpace, EnvSpec

KEY = jax.random.key(0)
NETWORKS = {name: mlp([5, 9, 7, 3], KEY, activation=name) for name in ("tanh", "relu", "sigmoid")}
BALLS = {
    "linf": Ball(0.2),
    "l2": Ball(0.4, "l2"),
    "scaled": Ball(0.3, scale=jnp.array([0.0, 1.0, 2.0, 0.1, 0.0])),
    "l2 scaled": Ball(0.3, "l2", scale=jnp.array([0.0, 1.0, 2.0, 0.1, 0.0])),
    "limited": Ball(0.5, low=-0.6, high=0.6),
}


def spec(actions: ActionSpace) -> EnvSpec:
    return EnvSpec("Nowhere-v0", (5,), actions)


@pytest.mark.parametrize("ball", BALLS.values(), ids=BALLS)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_they_are_those_of_jax(network: eqx.nn.Sequential, ball: Ball) -> None:
    z = np.clip(np.random.default_rng(0).normal(size=5), -0.6, 0.6).astype(np.float32)
    expected = network_bounds(network, ball, z[None], "crown")
    for found, wanted in zip(HostCrown(network)(HostBall.of(ball), z), expected, strict=True):
        np.testing.assert_allclose(found, wanted[0], atol=1e-4)


@given(seed=st.integers(0, 2**31), eps=st.floats(0, 2), gain=st.floats(0.1, 5), kind=st.sampled_from([*NETWORKS]))
def test_no_perturbation_leads_outside(seed: int, eps: float, gain: float, kind: str) -> None:
    rng = np.random.default_rng(seed)
    network = jax.tree.map(lambda x: x * gain if eqx.is_array(x) else x, NETWORKS[kind])
    low, high = np.full(3, -2, np.float32), np.array([0.5, 2, 9], np.float32)
    normaliser = ScaledNormaliser(rng.normal(size=5), rng.uniform(0.1, 2, 5), 10.0)
    agent = Agent(spec(ActionSpace(3, low, high)), normaliser, GaussianPolicy(network, jnp.zeros(3)))
    agent.meta["clip_actions"] = True
    observation, threat = rng.normal(size=5), wocar.Threat(eps, units="raw", radii=tuple(rng.uniform(0, 1, 5)))
    found = wocar.action_bounds(agent, observation, threat)
    reach = eps * np.array(threat.radii)
    moves = np.concatenate([rng.uniform(-1, 1, (20, 5)), rng.choice((-1.0, 1.0), (20, 5)), np.zeros((1, 5))])
    shown = observation + np.clip(moves, -1, 1) * reach
    actions = agent.predict(shown)[0]
    assert np.all(actions >= found.lower)
    assert np.all(actions <= found.upper)


def test_discrete_actions_that_can_be_caused() -> None:
    agent = Agent(spec(ActionSpace(3)), ScaledNormaliser.identity((5,)), CategoricalPolicy(NETWORKS["tanh"]))
    rng = np.random.default_rng(0)
    observation = rng.normal(size=5)
    none = wocar.action_bounds(agent, observation, 0.0)
    assert none.width == 0
    assert none.possible is not None
    assert none.possible[agent.predict(observation)[0]]
    wide = wocar.action_bounds(agent, observation, 3.0)
    reached = set(agent.predict(observation + rng.uniform(-3, 3, (200, 5)))[0].tolist())
    assert wide.possible is not None
    assert reached <= set(np.flatnonzero(wide.possible).tolist())
    assert wide.width >= len(reached) - 1 > 0


def test_other_layers_are_bounded_by_jax() -> None:
    shape = (1, 36, 36)
    network = cnn(shape, 2, KEY, channels=(2,), kernels=(8,), strides=(4,), dense=4)
    policy = SquashedPolicy(network, -jnp.ones(2), jnp.ones(2))
    ends = np.ones(2, np.float32)
    agent = Agent(EnvSpec("Nowhere-v0", shape, ActionSpace(2, -ends, ends)), ScaledNormaliser.identity(shape), policy)
    observation = np.random.default_rng(0).uniform(size=shape)
    found = wocar.action_bounds(agent, observation, 0.01)
    action = np.asarray(forward(policy.network, jnp.asarray(observation, jnp.float32)[None])[0])
    assert np.all((found.lower <= action) & (action <= found.upper))


def test_a_call_takes_well_under_a_millisecond() -> None:
    ends = np.ones(3, np.float32)
    body = mlp([11, 64, 64, 3], KEY)
    agent = Agent(
        EnvSpec("Nowhere-v0", (11,), ActionSpace(3, -ends, ends)),
        ScaledNormaliser.identity((11,)),
        GaussianPolicy(body, jnp.zeros(3)),
    )
    observation, threat, times = np.zeros(11), wocar.Threat(0.1), []
    for _ in range(300):
        start = time.perf_counter()
        wocar.action_bounds(agent, observation, threat)
        times.append(time.perf_counter() - start)
    assert min(times) < 2e-3  # measured 0.2 ms; other processes may be running
