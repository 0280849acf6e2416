"""RADIAL: its bounds hold what a search finds, its loss by hand, and its presets."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from equinox import nn
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.bounds import Ball, network_bounds
from wocar.config_base import configured
from wocar.mechanisms.objective import Info, PolicyLoss
from wocar.mechanisms.radial import (
    Radial,
    RadialConfig,
    gaussian_log_prob_bounds,
    largest_loss,
    log_prob_bounds,
    mixture,
)
from wocar.methods.presets import default_config
from wocar.networks import CategoricalPolicy, GaussianPolicy
from wocar.networks.layers import linear
from wocar.training.ppo import PPO, PPOConfig, clipped_surrogate, ppo_loss
from wocar.training.run_config import from_json, to_json
from wocar.types import ActionSpace, Batch, EnvSpec, Interval, Transitions

POLICIES: dict[str, Any] = {"gaussian": GaussianPolicy, "categorical": CategoricalPolicy}


@pytest.mark.parametrize("kind", list(POLICIES))
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), eps=st.floats(0, 0.5), scale=st.floats(0.1, 10))
def test_bounds_hold_the_log_probabilities_of_the_ball(kind: str, seed: int, eps: float, scale: float) -> None:
    key = jax.random.key(seed)
    made = POLICIES[kind].create(4, 3, key, hidden=(8,))
    policy = jax.tree.map(lambda x: scale * x if eqx.is_array(x) else x, made)
    obs = jax.random.normal(jax.random.fold_in(key, 1), (5, 4))
    actions = jnp.arange(5) % 3 if policy.discrete else jax.random.normal(jax.random.fold_in(key, 2), (5, 3))
    ball = Ball(eps)
    box = network_bounds(policy.network, ball, obs, "ibp")
    lower, upper = log_prob_bounds(policy, policy.head(obs), policy.log_prob(obs, actions), box, actions)
    for k in range(8):
        sample = ball.sample_extreme if k % 2 else ball.sample
        found = policy.log_prob(sample(jax.random.fold_in(key, 3 + k), obs), actions)
        slack = 1e-4 * (1 + jnp.abs(found))
        assert bool(jnp.all((lower - slack <= found) & (found <= upper + slack)))


def test_gaussian_bounds_by_hand() -> None:
    """σ = 2, own mean 0, box [-1, 3]; for a = 1 nearest is 1 and farthest 3 (or -1), for a = 5 they are 3 and -1."""
    mean, actions = jnp.zeros((2, 1)), jnp.array([[1.0], [5.0]])
    box = Interval(jnp.full((2, 1), -1.0), jnp.full((2, 1), 3.0))
    log_std = jnp.log(jnp.array([2.0]))
    density = GaussianPolicy(nn.Sequential([linear(jnp.zeros((1, 1)), jnp.zeros(1))]), log_std).log_prob
    bounds = gaussian_log_prob_bounds(mean, density(mean, actions), box, actions, log_std)
    peak = -np.log(2 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(bounds.lower, [peak - 2**2 / 8, peak - 6**2 / 8], rtol=1e-5)
    np.testing.assert_allclose(bounds.upper, [peak, peak - 2**2 / 8], rtol=1e-5)


def test_the_largest_loss_and_the_mixture_by_hand() -> None:
    worst = largest_loss(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 5.0, 4.0]), jnp.array([2.0, 1.0, -6.0]))
    np.testing.assert_array_equal(worst, [2.0, 5.0, 4.0])
    assert mixture(jnp.float32(1.0), jnp.float32(3.0), 0.25) == 1.5


def by_hand(eps: float, weight: float = 0.5, advantage: float = 2.0) -> jax.Array:
    """μ(s) = 2 s, σ = 1; s = 0, actions ±1, advantages ±A, standardised ±1, old log-probabilities the policy's."""
    policy = GaussianPolicy(nn.Sequential([linear(jnp.array([[2.0]]), jnp.zeros(1))]), jnp.zeros(1))
    obs, actions = jnp.zeros((2, 1)), jnp.array([[1.0], [-1.0]])
    log_prob, none = policy.log_prob(obs, actions), jnp.zeros(2)
    batch = Batch(obs, actions, none, obs, none, none, log_prob, none, advantage * jnp.array([1.0, -1.0]), none)
    base = ppo_loss(policy, batch, jnp.array([1.0, -1.0]), clip_range=0.2, ent_coef=0.5)
    radial = Radial(configured(RadialConfig, eps=eps, radial_weight=weight, eps_begin=0, eps_end=0.5))
    return radial.loss(base, policy, batch, None, jax.random.key(0), jnp.float32(1.0))[0] - base.value


def test_what_the_mixture_adds_by_hand() -> None:
    """eps 0.1: means within ±0.2, so distances to an action of ±1 lie in [0.8, 1.2], own 1.

    log-ratios: high (1 - 0.64) / 2 = 0.18, low (1 - 1.44) / 2 = -0.22; ratios 1.197 and 0.803, within the clip.
    The clean surrogates are 1 and -1, those at the bounds A times 0.803 or 1.197. A = 2: the least are 1 and -2.394,
    A = 0.5: 0.401 and -1.
    """
    low, high = np.exp(-0.22), np.exp(0.18)
    np.testing.assert_allclose(by_hand(0.1), 0.5 * (2 * high - 1) / 2, rtol=1e-4)
    np.testing.assert_allclose(by_hand(0.1, 0.25), 0.25 * (2 * high - 1) / 2, rtol=1e-4)
    np.testing.assert_allclose(by_hand(0.1, advantage=0.5), 0.5 * (1 - 0.5 * low) / 2, rtol=1e-4)
    assert by_hand(0.0) == 0


class Penalty(Radial):
    """The same loss as a penalty: L + k (L_worst - L)."""

    def loss(
        self, base: PolicyLoss, policy: Any, batch: Batch, notes: None, key: jax.Array, progress: jax.Array
    ) -> tuple[jax.Array, Info]:
        box = network_bounds(policy.network, self.ball(progress), batch.obs, "ibp")
        bounds = log_prob_bounds(policy, policy.head(batch.obs), base.log_prob, box, batch.actions)
        clean, low, high = (
            clipped_surrogate(jnp.exp(x - batch.log_prob), advantages, 0.2)
            for x, advantages in zip((base.log_prob, *bounds), (base.advantages, *[batch.advantage] * 2), strict=True)
        )
        return base.value + self.config.radial_weight * jnp.mean(clean - jnp.minimum(clean, jnp.minimum(low, high))), {}


def test_one_update_is_that_of_the_penalty() -> None:
    rng, size = np.random.default_rng(0), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32))
    obs, spec = rng.normal(size=(4, 17, 4)).astype(np.float32), EnvSpec("toy", (4,), size)
    actions, rewards = rng.normal(size=(4, 16, 2)).astype(np.float32), rng.normal(size=(4, 16)).astype(np.float32)
    ends = np.zeros((4, 16), bool)
    rollout = Transitions(obs[:, :-1], actions, rewards, obs[:, 1:], ends, ends)
    ppo = PPOConfig(n_envs=4, n_steps=16, hidden=(8, 8), policy_epochs=1, minibatches=1, ent_coef=0.01, policy_lr=0.01)
    policies = []
    for kind in (Radial, Penalty):
        algorithm = PPO(ppo, kind(configured(RadialConfig, eps=0.2)))
        learner = algorithm.init(spec, jax.random.key(3))
        learner, _ = algorithm.update(learner, rollout, jax.random.key(0), jnp.float32(0.9))
        policies.append(jax.tree.leaves(eqx.filter(learner.policy, eqx.is_array)))
    for mixed, penalised in zip(*policies, strict=True):
        np.testing.assert_allclose(mixed, penalised, rtol=1e-6, atol=1e-8)


def test_presets_are_the_published_ones_and_survive_json() -> None:
    wanted = {
        "Hopper": (3e-4, 2.5e-4, 0.075, "smoothed", True),
        "Walker2d": (4e-4, 3e-4, 0.075, "exponential", True),
        "HalfCheetah": (1e-4, 1e-3, 0.15, "exponential", False),
    }
    for task, numbers in wanted.items():
        config = default_config("radial-ppo", f"{task}-v4")
        a, r = config.algorithm, config.robust
        assert isinstance(r, RadialConfig)
        assert (a.policy_lr, a.value_lr, r.threat.eps, r.eps_schedule, a.anneal_lr) == numbers  # type: ignore[union-attr]
        assert (r.eps_begin, r.eps_end, r.radial_weight, config.steps) == (0.25, 0.75, 0.5, 4_096_000)
        config.check()
        assert from_json(to_json(config), config.out) == dataclasses.replace(config, resume=True)
