"""Attacks by the critics that an agent was trained with."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.bounds import Ball
from wocar.envs import env_spec
from wocar.evaluation.attack_registry import attack_by_name, own_q
from wocar.networks import (
    ActionCritic,
    DiscreteCritic,
    GaussianPolicy,
    GreedyPolicy,
    RunningNormaliser,
    TwinCritic,
    mlp,
)
from wocar.threat import Threat
from wocar.types import UserError

SPEC = env_spec("Hopper-v4")


def agent_with(**critics: ActionCritic) -> Agent:
    policy = GaussianPolicy.create(11, 3, jax.random.key(0))
    return Agent(SPEC, RunningNormaliser.create((11,)), policy, critics)


def critic(k: int) -> ActionCritic:
    return ActionCritic.create(11, 3, jax.random.key(k))


@pytest.mark.parametrize("name", ["min-q", "own-worst-critic"])
def test_it_lowers_the_agents_own_value(name: str) -> None:
    own = "q" if name == "min-q" else "worst"
    agent = agent_with(**{own: critic(1), f"{own}-twin": critic(2)})
    attack, ball = attack_by_name(name, agent, Threat(0.2), 0), Threat(0.2).ball_for(agent)
    obs = jnp.asarray(np.random.default_rng(0).normal(size=(32, 11)), jnp.float32)
    shown = ball.project(obs, attack.perturb(agent.policy, ball, obs, jax.random.key(0)))
    value = TwinCritic(critic(1), critic(2))
    before, after = (np.asarray(value(obs, agent.policy.mode(x))) for x in (obs, shown))
    assert (after < before).all()


def test_a_targeted_search_takes_the_worst_action_within_reach() -> None:
    """Wherever a grid over the ball finds an action, so does the search; the expectation under softmax need not."""
    policy = GreedyPolicy(mlp([2, 32, 5], jax.random.key(3)))
    rng, ball = np.random.default_rng(0), Ball(0.4)
    obs = jnp.asarray(rng.normal(size=(40, 2)), jnp.float32)
    critic = DiscreteCritic(mlp([2, 16, 5], jax.random.key(4)))
    values = np.asarray(critic(obs))
    edge = np.linspace(-0.4, 0.4, 41)
    grid = np.stack(np.meshgrid(edge, edge), -1).reshape(-1, 1, 2).astype(np.float32)
    within = np.asarray(policy.mode(obs + grid))
    best = np.take_along_axis(values, within.T, axis=1).min(axis=1)

    def caused(attack: RobustSarsa) -> np.ndarray:
        shown = ball.project(obs, attack.perturb(policy, ball, obs, jax.random.key(0)))
        return values[np.arange(40), np.asarray(policy.mode(shown))]

    plain, targeted = caused(RobustSarsa(critic)), caused(RobustSarsa(critic, targeted=True))
    assert (targeted <= plain).all()
    assert np.mean(targeted <= best + 1e-6) >= 0.95 > np.mean(plain <= best + 1e-6)


@pytest.mark.parametrize("name", ["min-q", "own-worst-critic"])
def test_without_such_a_critic_it_does_not_apply(name: str) -> None:
    with pytest.raises(UserError, match="has no"):
        attack_by_name(name, agent_with(), Threat(0.1), 0)


def test_the_q_of_a_greedy_policy_is_its_network() -> None:
    policy = GreedyPolicy(mlp([4, 8, 2], jax.random.key(0)))
    agent = Agent(env_spec("CartPole-v1"), RunningNormaliser.create((4,)), policy)
    obs = jnp.ones((3, 4))
    np.testing.assert_array_equal(own_q(agent)(obs), policy.head(obs))


def test_a_critic_in_units_of_the_action() -> None:
    low, high = jnp.array([-2.0, 0.0, 1.0]), jnp.array([2.0, 1.0, 4.0])
    unit = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (6, 3)), jnp.float32)
    obs = jnp.asarray(np.random.default_rng(1).normal(size=(6, 11)), jnp.float32)
    scaled = low + (unit + 1) / 2 * (high - low)
    np.testing.assert_allclose(critic(0).in_units(low, high)(obs, scaled), critic(0)(obs, unit), atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("method", ["SAC", "TD3"])
def test_the_critics_of_a_zip_are_those_of_stable_baselines3(method: str, tmp_path: Path) -> None:
    sb3, torch = pytest.importorskip("stable_baselines3"), pytest.importorskip("torch")
    from wocar.loading import load

    model = getattr(sb3, method)("MlpPolicy", "Pendulum-v1", seed=0, device="cpu")
    model.save(tmp_path / "Pendulum-v1.zip")
    agent = load(tmp_path / "Pendulum-v1.zip")
    rng = np.random.default_rng(0)
    obs, unit = rng.normal(size=(5, 3)).astype(np.float32), rng.uniform(-1, 1, (5, 1)).astype(np.float32)
    with torch.no_grad():
        wanted = [x.numpy()[:, 0] for x in model.critic(torch.from_numpy(obs), torch.from_numpy(unit))]
    for name, values in zip(("q", "q-twin"), wanted, strict=True):
        np.testing.assert_allclose(agent.critics[name](jnp.asarray(obs), jnp.asarray(2 * unit)), values, atol=1e-5)
