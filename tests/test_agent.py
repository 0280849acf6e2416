"""The agent on disk and in the hands of others: nothing lost, nothing believed unchecked."""

from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent, load_agent
from wocar.networks import (
    ActionCritic,
    CategoricalPolicy,
    DiscreteCritic,
    DuelingActionCritic,
    GaussianPolicy,
    GreedyPolicy,
    PixelNormaliser,
    RecurrentCritic,
    RecurrentPolicy,
    RunningNormaliser,
    ScaledNormaliser,
    SquashedPolicy,
    ValueCritic,
    cnn,
    mlp,
)
from wocar.types import ActionSpace, EnvSpec, UserError

KEY = jax.random.key(0)
OBS = np.random.default_rng(0).normal(3, 2, (6, 4))


def make_agent(kind: str = "gaussian") -> Agent:
    normaliser = RunningNormaliser.create((4,)).update(OBS)
    value = ValueCritic.create(4, KEY, (8,))
    if kind == "gaussian":
        spec = EnvSpec("Pendulum-v1", (4,), ActionSpace(2, np.array([-2, -1], np.float32), np.ones(2, np.float32)), 200)
        policy = GaussianPolicy.create(4, 2, KEY, (8, 8), init_std=0.3)
        critics = {
            "d": DuelingActionCritic.create(4, 2, KEY, (3,)),
            "q": ActionCritic.create(4, 2, KEY, ()),
            "value": value,
        }
        return Agent(spec, normaliser, policy, critics, {"method": "ppo", "steps": 5})
    spec = EnvSpec("CartPole-v1", (4,), ActionSpace(2))
    head = CategoricalPolicy.create(4, 2, KEY, (8,))
    head = eqx.tree_at(lambda p: p.network.layers[-1].weight, head, jnp.array([[1.0] * 8, [-1.0] * 8]))
    return Agent(spec, normaliser, head, {"q": DiscreteCritic.create(4, 2, KEY, (3,)), "value": value})


CONTINUOUS = EnvSpec("Box-v0", (4,), ActionSpace(2, np.array([-2, -1], np.float32), np.ones(2, np.float32)))
DISCRETE = EnvSpec("Two-v0", (4,), ActionSpace(2))
PICTURES = EnvSpec("Pictures-v0", (2, 10, 10), ActionSpace(3))
SMALL: dict[str, Any] = {"channels": (3, 4), "kernels": (4, 2), "strides": (2, 1), "dense": 6}


def other_agent(kind: str) -> Agent:
    """Kinds that come from other libraries, and with a memory."""
    scaled = ScaledNormaliser(OBS.mean(axis=0), OBS.std(axis=0) + 1e-4, 5.0)
    if kind == "squashed":
        return Agent(CONTINUOUS, scaled, SquashedPolicy(mlp([4, 8, 2], KEY), *map(jnp.asarray, CONTINUOUS.actions[1:])))
    if kind == "greedy":
        return Agent(DISCRETE, ScaledNormaliser.identity((4,)), GreedyPolicy(mlp([4, 8, 2], KEY)))
    if kind == "pixels":
        value = ValueCritic(cnn((2, 10, 10), 1, KEY, **SMALL))
        return Agent(PICTURES, PixelNormaliser(), GreedyPolicy(cnn((2, 10, 10), 3, KEY, **SMALL)), {"value": value})
    spec = DISCRETE if kind == "recurrent categorical" else CONTINUOUS
    policy = RecurrentPolicy.create(4, 2, KEY, 8, None if spec is DISCRETE else 0.3)
    policy = eqx.tree_at(lambda p: p.network.embedding, policy, mlp([4, 8], KEY))
    return Agent(spec, scaled, policy, {"value": RecurrentCritic.create(4, KEY, 3)})


OTHERS = ["squashed", "greedy", "pixels", "recurrent gaussian", "recurrent categorical"]


@pytest.fixture(params=["gaussian", "categorical"])
def agent(request: pytest.FixtureRequest) -> Agent:
    return make_agent(request.param)


@pytest.mark.parametrize("kind", ["gaussian", "categorical", *OTHERS])
def test_a_saved_agent_comes_back_bit_for_bit(kind: str, tmp_path: Path) -> None:
    agent = make_agent(kind) if kind in ("gaussian", "categorical") else other_agent(kind)
    seen = np.random.default_rng(1).integers(0, 256, (6, 2, 10, 10), np.uint8) if kind == "pixels" else OBS
    agent.save(tmp_path / "a")
    again = load_agent(tmp_path / "a")
    for part in ("policy", "critics", "normaliser"):
        before, after = getattr(agent, part), getattr(again, part)
        assert jax.tree.structure(before) == jax.tree.structure(after)
        for x, y in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
            assert np.asarray(x).dtype == np.asarray(y).dtype
    assert jax.tree.all(jax.tree.map(np.array_equal, agent.spec, again.spec))
    assert again.meta == agent.meta
    np.testing.assert_array_equal(agent.predict(seen)[0], again.predict(seen)[0])
    again.save(tmp_path / "b")
    for name in ("agent.json", "agent.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_predict_takes_one_observation_or_a_batch(agent: Agent) -> None:
    batch, state = agent.predict(OBS, state="mine", episode_start=np.ones(6, bool), deterministic=True)
    assert state == "mine"
    assert batch.shape == ((6,) if agent.spec.actions.discrete else (6, 2))
    np.testing.assert_allclose(np.stack([agent.predict(o)[0] for o in OBS]), batch, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(batch, agent.policy.mode(agent.normaliser(OBS)), rtol=1e-5, atol=1e-7)
    assert agent.predict(OBS.tolist())[0].shape == batch.shape
    for wrong in (OBS[:, :3], OBS[None], OBS[0, :2]):
        with pytest.raises(ValueError, match=r"expected \(4,\)"):
            agent.predict(wrong)


@pytest.mark.parametrize("kind", ["squashed", "greedy"])
def test_a_deterministic_policy_acts_without_chance(kind: str) -> None:
    agent = other_agent(kind)
    z = agent.normaliser(OBS)
    np.testing.assert_allclose(agent.act(z, np.random.default_rng(0)), agent.policy.mode(z), rtol=1e-5, atol=1e-6)
    actions, state = agent.step(z, agent.start(6))
    np.testing.assert_array_equal(actions, agent.act(z))
    assert state is None
    assert not agent.recurrent


@pytest.mark.parametrize("kind", ["recurrent gaussian", "recurrent categorical"])
def test_predict_remembers_what_it_is_handed_back(kind: str) -> None:
    agent = other_agent(kind)
    seen = np.random.default_rng(1).normal(3, 2, (5, 6, 4))
    expected, state = [], agent.policy.start(6)
    for obs in seen:
        z = agent.normaliser(obs)
        expected.append(np.asarray(agent.held(state).mode(z)))
        _, state = agent.policy.step(z, state)
    actions, memory = [], None
    for obs in seen:
        action, memory = agent.predict(obs, memory)
        actions.append(action)
    np.testing.assert_allclose(actions, expected, rtol=1e-4, atol=1e-5)

    begins = np.array([True] + [False] * 5)
    after, _ = agent.predict(seen[0], memory, episode_start=begins)
    np.testing.assert_allclose(after[0], expected[0][0], rtol=1e-4, atol=1e-5)
    kept, _ = agent.predict(seen[0], memory)
    np.testing.assert_array_equal(after[1:], kept[1:])
    if kind == "recurrent gaussian":
        assert np.abs(kept[0] - after[0]).max() > 1e-4

    first, memory = agent.predict(seen[0, 0])
    second, _ = agent.predict(seen[1, 0], memory, episode_start=np.array([False]))
    np.testing.assert_allclose([first, second], [actions[0][0], actions[1][0]], rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match="recurrent"):
        agent.act(agent.normaliser(OBS))


def test_a_recurrent_agent_samples_around_its_mean() -> None:
    agent, n = other_agent("recurrent gaussian"), 4000
    z = np.broadcast_to(agent.normaliser(OBS[:1]), (n, 4))
    drawn, state = agent.step(z, agent.start(n), np.random.default_rng(0))
    mean, same = agent.step(z, agent.start(n))
    np.testing.assert_array_equal(state, same)
    np.testing.assert_allclose(drawn.mean(axis=0), mean[0], atol=0.03)
    np.testing.assert_allclose(drawn.std(axis=0), 0.3, atol=0.03)


def test_predict_can_sample_from_the_policy(agent: Agent) -> None:
    many = np.broadcast_to(OBS[0], (4000, 4))
    drawn = agent.predict(many, deterministic=False)[0]
    z = agent.normaliser(OBS[:1])
    if agent.spec.actions.discrete:
        probability = np.exp(agent.policy.log_prob(z, np.array([1])))[0]
        assert 0.05 < probability < 0.95
        assert abs(drawn.mean() - probability) < 0.03
    else:
        np.testing.assert_allclose(drawn.mean(axis=0), agent.policy.head(z)[0], atol=0.03)
        np.testing.assert_allclose(drawn.std(axis=0), 0.3, atol=0.03)


def test_acting_with_the_same_generator_gives_the_same_actions(agent: Agent) -> None:
    z = agent.normaliser(OBS)
    first, second = (agent.act(z, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.oracle
def test_stable_baselines3_can_evaluate_it() -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation", reason="Stable-Baselines3 is not installed")
    agent, env = make_agent("categorical"), gymnasium.make("CartPole-v1")
    mean, _ = evaluation.evaluate_policy(agent, env, n_eval_episodes=3, warn=False)
    assert 1 <= mean <= 500


def test_saving_replaces_an_agent_but_nothing_else(agent: Agent, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "a"
    agent.save(folder)
    agent.meta["note"] = "second"
    agent.save(folder)
    assert load_agent(folder).meta["note"] == "second"
    assert [p.name for p in folder.parent.iterdir()] == ["a"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for taken in ("thesis", "file"):
        with pytest.raises(UserError):
            agent.save(tmp_path / taken)
    assert (tmp_path / "thesis" / "chapter").read_text() == "years of work"
    assert (tmp_path / "file").read_text() == "x"
