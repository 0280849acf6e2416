"""Robust Sarsa: pairs, values and bounds that can be checked, and a trained victim that it hurts."""

from pathlib import Path

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.attacks import Attack, Perturbation, Random
from wocar.attacks.robust_sarsa import (
    RobustSarsa,
    SarsaConfig,
    SarsaData,
    critic_bounds,
    fit_robust_critic,
    sarsa_data,
    sarsa_targets,
    smoothness,
)
from wocar.bounds import Ball
from wocar.envs import env_spec
from wocar.episodes import run_episodes
from wocar.evaluation.worst_critic import collect_rollout
from wocar.mechanisms.worst_value import q_at
from wocar.methods.presets import make_algorithm
from wocar.networks import ActionCritic, DiscreteCritic
from wocar.networks.layers import linear
from wocar.training.loop import train
from wocar.training.ppo import PPOConfig
from wocar.training.run_config import RunConfig
from wocar.types import Interval, Transitions

KEY = jax.random.key(0)


def test_pairs_by_hand() -> None:
    """a' is missing at a time limit and at the rollout's end; at a terminal state it is not needed."""
    terminated = np.array([[False, True, False], [False, False, True]])
    truncated = np.array([[False, False, False], [True, False, False]])
    obs, rewards = np.arange(12.0).reshape(2, 3, 2), np.arange(6.0).reshape(2, 3)
    data = sarsa_data(Transitions(obs, np.zeros((2, 3, 1)), rewards, obs, terminated, truncated), scale=2.0)
    assert data.known.tolist() == [True, True, False, False, True, True]
    assert data.terminated.tolist() == [False, True, False, False, False, True]
    np.testing.assert_array_equal(data.obs, np.arange(12.0).reshape(6, 2))
    np.testing.assert_array_equal(data.rewards, np.arange(6) / 2)
    assert truncated.sum() == 1
    targets = sarsa_targets(jnp.array([1.0, 1.0]), jnp.array([False, True]), jnp.array([10.0, 10.0]), 0.5)
    assert targets.tolist() == [6.0, 1.0]


def ring(steps: int, seed: int, ending: bool) -> Transitions:
    """Three places in a ring; action 1 goes on, action 0 stays. From place 2 on: the end, or place 0 again.

    Each of four environments is cut off after the fourth step of an episode.
    """
    rng = np.random.default_rng(seed)
    place, age = np.zeros(4, int), np.zeros(4, int)
    rows = []
    for _ in range(steps):
        action = (rng.random(4) < 0.6).astype(np.int32)
        after = (place + action) % 3
        terminated = ending & (place == 2) & (action == 1)
        age += 1
        truncated = (age == 4) & ~terminated
        rows.append((np.eye(3)[place], action, 0.2 * place - 0.1 * action, np.eye(3)[after], terminated, truncated))
        place, age = (np.where(terminated | truncated, 0, x) for x in (after, age))
    return Transitions(*(np.stack(x, axis=1) for x in zip(*rows, strict=True)))


def exact_values(data: SarsaData, gamma: float) -> np.ndarray:
    """The fixed point of Sarsa's backup, averaged over the data: Q (3, 2) from six linear equations."""
    cell = data.obs.argmax(axis=1) * 2 + data.actions
    a, b = np.zeros((6, 6)), np.zeros(6)
    for i in np.flatnonzero(data.known):
        a[cell[i], cell[i]] += 1
        b[cell[i]] += data.rewards[i]
        if not data.terminated[i]:
            a[cell[i], cell[i + 1]] -= gamma
    return np.linalg.solve(a, b).reshape(3, 2)


@pytest.mark.parametrize("ending", [True, False])
def test_values_of_a_ring_are_exact(ending: bool) -> None:
    """With one weight per place and action the critic reaches the fixed point; a wrong pair would move it."""
    data = sarsa_data(ring(1000, 1, ending), scale=1.0)
    critic = DiscreteCritic(eqx.nn.Sequential([linear(np.zeros((2, 3)), np.zeros(2))]))
    config = SarsaConfig(lr=0.02, epochs=40, gamma=0.8)
    fitted = fit_robust_critic(critic, data, jnp.float32(0.1), jnp.float32(0.0), KEY, config)
    exact = exact_values(data, config.gamma)
    np.testing.assert_allclose(fitted(jnp.eye(3)), exact, atol=0.02)
    others = data._replace(known=np.ones_like(data.known))
    assert np.abs(exact_values(others._replace(terminated=data.terminated | ~data.known), 0.8) - exact).max() > 0.05


def smooth_data(n: int = 1024) -> SarsaData:
    rng = np.random.default_rng(0)
    obs, actions = (rng.standard_normal((n, k)).astype(np.float32) for k in (3, 2))
    rewards = np.sin(2 * obs[:, 0]) + actions[:, 0]
    return SarsaData(obs, actions, rewards.astype(np.float32), np.ones(n, bool), np.ones(n, bool))


def test_the_regulariser_keeps_the_critic_from_changing_in_the_ball() -> None:
    data, radius = smooth_data(), 0.2
    critic, config = ActionCritic.create(3, 2, KEY, (16, 16)), SarsaConfig(lr=3e-3, epochs=30)
    at = jnp.concatenate([data.obs, data.actions], axis=1)[:256]
    near = jax.vmap(lambda k: Ball(radius).sample_extreme(k, at))(jax.random.split(KEY, 20))

    def change(reg: float) -> tuple[float, float]:
        fitted = fit_robust_critic(critic, data, jnp.float32(radius), jnp.float32(reg), KEY, config)
        values = jax.vmap(lambda x: fitted(x[:, :3], x[:, 3:]))(near)
        error = fitted(data.obs, data.actions) - data.rewards
        return float(jnp.abs(values - fitted(at[:, :3], at[:, 3:])).max(axis=0).mean()), float(jnp.mean(error**2))

    (free, free_error), (tied, tied_error) = change(0.0), change(3.0)
    assert free_error < 0.05 * np.var(data.rewards)
    assert tied < 0.5 * free
    assert tied_error > free_error


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_bounds_hold_the_critic_over_the_joint_ball(share: float, discrete: bool) -> None:
    obs, actions, radius = jax.random.normal(KEY, (5, 3)), jax.random.normal(KEY, (5, 2)), 0.3
    if discrete:
        critic, actions = DiscreteCritic.create(3, 2, KEY, (8,)), jnp.array([0, 1, 1, 0, 1])
    else:
        critic = ActionCritic.create(3, 2, KEY, (8,))
    low, high = critic_bounds(critic, obs, actions, jnp.float32(radius), share)
    for key in jax.random.split(KEY, 20):
        o = Ball(radius).sample_extreme(key, obs)
        a = actions if discrete else Ball(radius).sample_extreme(jax.random.fold_in(key, 1), actions)
        values = q_at(critic, o, a)
        assert ((values >= low - 1e-5) & (values <= high + 1e-5)).all()
    assert (high - low > 0).all()


def test_smoothness_by_hand() -> None:
    found = smoothness(jnp.array([1.0, 1.0]), Interval(jnp.array([0.0, 0.5]), jnp.array([1.5, 3.0])))
    assert found.tolist() == [1.0, 4.0]


class Balance(gymnasium.Env):
    """A place and a speed that grow by themselves; a push keeps them small. Reward 1 - place², 60 steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.age = 0
        self.state = self.np_random.uniform(-0.3, 0.3, 2)
        return self.state.astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        place, speed = self.state
        push = 2 * float(np.clip(action[0], -1, 1)) + 0.1 * self.np_random.standard_normal()
        self.state = np.array([place + 0.1 * speed, speed + 0.1 * (push + place)])
        self.age += 1
        lost = bool(abs(self.state[0]) > 2)
        return self.state.astype(np.float32), 1 - float(place**2), lost, self.age == 60, {}


gymnasium.register("Balance-v0", Balance)


def test_it_hurts_a_trained_victim_more_than_chance(tmp_path: Path) -> None:
    spec, eps = env_spec("Balance-v0"), 0.7
    algorithm = PPOConfig(n_envs=8, minibatches=4, policy_lr=1e-3, value_lr=1e-3, init_std=0.5)
    config = RunConfig(method="ppo", env=spec.id, seed=2, steps=16_384, out=tmp_path / "run", algorithm=algorithm)
    victim = train(config, make_algorithm(config, spec), spec)
    data = sarsa_data(collect_rollout(victim, 4096, 0), scale=10.0)

    def critic(gamma: float) -> ActionCritic:
        fresh, settings = ActionCritic.create(2, 1, KEY, (32, 32)), SarsaConfig(epochs=30, gamma=np.float32(gamma))
        return fit_robust_critic(fresh, data, jnp.float32(0.02), jnp.float32(0.1), KEY, settings)

    def mean_return(attack: Attack | None) -> float:
        perturb = None if attack is None else Perturbation(attack, Ball(eps), 0)
        return float(run_episodes(victim, 16, 3, perturb=perturb).returns.mean())

    natural, chance = mean_return(None), mean_return(Random(extreme=True))
    sarsa = min(mean_return(RobustSarsa(critic(gamma))) for gamma in (0.9, 0.99))  # which one finds a way is luck
    assert natural > 50  # at most 60, untrained far less
    assert chance > sarsa + 5
    assert natural > chance
