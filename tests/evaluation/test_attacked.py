"""`AttackedObservation`: the victim's normaliser makes of what it is shown exactly what the attack meant."""

from collections.abc import Callable

import gymnasium
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar import AttackedObservation
from wocar.agent import Agent
from wocar.attacks import PGD, MaxDiff, Perturbation, Random
from wocar.bounds import Ball
from wocar.envs import env_spec
from wocar.evaluation.attacked_observation import raw
from wocar.networks import PixelNormaliser, RecurrentPolicy, RunningNormaliser, ScaledNormaliser
from wocar.types import UserError

MakeAgent = Callable[..., Agent]


def normalised(agent: Agent, observation: np.ndarray) -> np.ndarray:
    return agent.normaliser(observation[None])[0]


def with_statistics(agent: Agent) -> Agent:
    """Dimensions of very different scales, one of them constant, as after a training."""
    rng = np.random.default_rng(0)
    seen = rng.normal(3, 1, (500, *agent.spec.obs_shape)) * np.geomspace(1e-3, 1e3, agent.spec.obs_shape[0])
    seen[:, -1] = 1.0
    return Agent(agent.spec, agent.normaliser.update(seen), agent.policy)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_the_victim_sees_the_attack_inside_the_ball(fresh_agent: MakeAgent, norm: str) -> None:
    agent, eps = with_statistics(fresh_agent("Hopper-v4")), 0.1
    env = AttackedObservation(gymnasium.make("Hopper-v4"), agent, Random(extreme=True), eps, seed=3, norm=norm)
    shown, info = env.reset(seed=0)
    for _ in range(20):
        z, seen = normalised(agent, info["clean_observation"]), normalised(agent, shown)
        unclipped = np.abs(z) < 9.8  # beyond, the victim's own clip takes part of the attack back
        if norm == "linf":
            np.testing.assert_allclose(np.abs(seen - z)[unclipped], eps, rtol=1e-3, atol=1e-5)
        assert np.linalg.norm(seen - z, ord=np.inf if norm == "linf" else 2) <= eps * (1 + 1e-3)
        shown, _, _, _, info = env.step(env.action_space.sample())
    assert env.observation_space.contains(shown)


def test_it_shows_what_an_audit_would_show(fresh_agent: MakeAgent) -> None:
    agent = fresh_agent("Pendulum-v1")
    env = AttackedObservation(gymnasium.make("Pendulum-v1"), agent, MaxDiff(), 0.2, seed=5)
    perturb = Perturbation(MaxDiff(), Ball(0.2), 5)
    shown, info = env.reset(seed=0)
    for _ in range(5):
        meant = perturb(agent.policy, agent.normaliser(info["clean_observation"][None]))
        np.testing.assert_allclose(normalised(agent, shown), meant[0], atol=1e-6)
        shown, _, _, _, info = env.step(agent.predict(shown)[0])


def test_a_loop_of_somebody_else_loses_what_the_attack_takes(follower: MakeAgent) -> None:
    agent, total = follower(), 0.0
    env = AttackedObservation(gymnasium.make("Follow-v0"), agent, "pgd-10", 0.5)
    shown, _ = env.reset(seed=0)
    done = False
    while not done:
        shown, reward, terminated, truncated, _ = env.step(agent.predict(shown)[0])
        total, done = total + float(reward), terminated or truncated
    assert total == pytest.approx(-10.0, rel=1e-3)


def test_the_memory_of_a_recurrent_victim_is_followed() -> None:
    spec = env_spec("Pendulum-v1")
    policy = RecurrentPolicy.create(3, 1, jax.random.key(0), hidden=8)
    agent = Agent(spec, RunningNormaliser.create((3,)), policy)
    env = AttackedObservation(gymnasium.make("Pendulum-v1"), agent, PGD(), 0.3, seed=1)
    perturb = Perturbation(PGD(), Ball(0.3), 1)
    for episode in range(2):
        shown, info = env.reset(seed=episode)
        state, memory = agent.start(1), None
        for left in (3, 2, 1, 0):
            z = agent.normaliser(info["clean_observation"][None])
            meant = perturb(agent.held(state), z)
            np.testing.assert_allclose(agent.normaliser(shown[None]), meant, atol=1e-5)
            action, memory = agent.predict(shown, memory)
            expected, state = agent.step(meant, state)
            np.testing.assert_allclose(action, expected[0], atol=1e-5)
            if left:
                shown, _, _, _, info = env.step(action)


@given(
    o=st.floats(-1e3, 1e3),
    mean=st.floats(-1e2, 1e2),
    scale=st.sampled_from([1e-8, 1e-3, 1.0, 50.0]),
    shift=st.floats(-0.3, 0.3),
)
@settings(max_examples=100)
def test_the_map_back_is_exact_up_to_the_clip(o: float, mean: float, scale: float, shift: float) -> None:
    normaliser = ScaledNormaliser(np.array([mean]), np.array([scale]), 10.0)
    z = normaliser(np.array([o]))
    attacked = z + np.float32(shift)
    seen = normaliser(raw(normaliser, np.array([o]), z, attacked))
    assert abs(seen - np.clip(attacked, -10, 10)) <= 1e-5 + 1e-13 / scale


def test_pixels_stay_in_their_range_and_are_not_rounded() -> None:
    normaliser = PixelNormaliser()
    frame = np.array([[0, 100, 255]], np.uint8)
    z = normaliser(frame)
    attacked = np.clip(z + np.float32(0.3 / 255), 0, 1)
    shown = raw(normaliser, frame, z, attacked)
    np.testing.assert_allclose(shown, [[0.3, 100.3, 255.0]], atol=1e-4)
    np.testing.assert_allclose(normaliser(shown), attacked, atol=1e-7)


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        ("laser", "unknown attack"),
        ("sa-rl", "does not apply"),
        ("action-random", "does not apply"),
        ("none", "not change"),
    ],
)
def test_attacks_that_cannot_be_are_told(follower: MakeAgent, attack: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        AttackedObservation(gymnasium.make("Follow-v0"), follower(), attack, 0.1)


def test_a_victim_of_other_observations_is_told(follower: MakeAgent) -> None:
    with pytest.raises(UserError, match="shape"):
        AttackedObservation(gymnasium.make("Pendulum-v1"), follower(), "random", 0.1)
