"""CAR: its weights by hand, its search against the exact answer, PPO where it must be PPO, and its presets."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from equinox import nn

from wocar.config_base import configured
from wocar.mechanisms.car import Car, CarConfig, softmax_weighted
from wocar.methods.presets import default_config, make_algorithm
from wocar.networks import GaussianPolicy
from wocar.networks.layers import linear
from wocar.training.ppo import ppo_loss
from wocar.training.run_config import RunConfig, from_json, to_json
from wocar.types import ActionSpace, Batch, EnvSpec, Transitions

WHOLE = {"eps_begin": 0.0, "eps_end": 0.5}


def test_softmax_weights_by_hand() -> None:
    """λ = 1 / ln 2: weights 2^l, here 1 : 2 : 8."""
    losses = jnp.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(softmax_weighted(losses, 1 / np.log(2)), (1 * 0 + 2 * 1 + 8 * 3) / 11, rtol=1e-5)
    np.testing.assert_allclose(softmax_weighted(losses, 1e6), 4 / 3, rtol=1e-5)
    np.testing.assert_allclose(softmax_weighted(losses, 1e-3), 3, rtol=1e-5)
    weights = jax.grad(lambda x: softmax_weighted(x, 1 / np.log(2)))(losses)
    np.testing.assert_allclose(weights, np.array([1, 2, 8]) / 11, rtol=1e-5)  # the weights are data


def by_hand(**settings: Any) -> tuple[float, float]:
    """The base loss and CAR's. μ(s) = 2 s, σ = 1; s = 0, actions ±1, advantages 1 and -2, ratio 1, no entropy bonus."""
    policy = GaussianPolicy(nn.Sequential([linear(jnp.array([[2.0]]), jnp.zeros(1))]), jnp.zeros(1))
    obs, actions, none = jnp.zeros((2, 1)), jnp.array([[1.0], [-1.0]]), jnp.zeros(2)
    log_prob, advantages = policy.log_prob(obs, actions), jnp.array([1.0, -2.0])
    batch = Batch(obs, actions, none, obs, none, none, log_prob, none, advantages, none)
    base = ppo_loss(policy, batch, advantages, clip_range=0.2, ent_coef=0.0)
    car = Car(configured(CarConfig, **WHOLE, **settings))
    loss, _ = car.loss(base, policy, batch, None, jax.random.key(0), jnp.float32(1.0))
    return float(base.value), float(loss)


def losses_at(shift: float) -> np.ndarray:
    """Of both samples where their worst direction has gone so far: by 0.2 in the mean for eps 0.1 and shift 1.

    For a = 1, A = 1 that is away from a, for a = -1, A = -2 towards it.
    """
    log_ratio = (1 - (1 + 0.2 * shift) ** 2) / 2, (1 - (1 - 0.2 * shift) ** 2) / 2
    return np.array([-1, 2]) * np.exp(log_ratio)


def test_the_loss_by_hand() -> None:
    """Ten steps of eps / 10: from a corner of the ball's tenth they end at 0.9 or 1 of the way, of each sample."""
    settings: dict[str, Any] = {"eps": 0.1, "car_form": "alone"}
    clean, even = by_hand(**settings, car_temperature=1e6)
    assert clean == pytest.approx(0.5)
    assert losses_at(0.9).mean() - 1e-4 <= even <= losses_at(1.0).mean() + 1e-4
    _, worst = by_hand(**settings, car_temperature=1e-2)
    assert losses_at(0.9).max() - 1e-4 <= worst <= losses_at(1.0).max() + 1e-4
    _, beside = by_hand(eps=0.1, car_weight=0.3, car_temperature=1e6)
    assert beside == pytest.approx(clean + 0.3 * even, rel=1e-5)
    _, searched = by_hand(**settings, car_temperature=1e6, car_solver="pgd")
    assert clean < searched <= losses_at(1.0).mean() + 1e-4
    assert searched != pytest.approx(even, rel=1e-6)  # another start, no noise


SPEC = EnvSpec("toy", (4,), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32)))
SMALL = {"n_envs": 4, "n_steps": 16, "hidden": (8, 8), "policy_epochs": 2, "value_epochs": 2, "minibatches": 4}


def config(method: str, **robust: Any) -> RunConfig:
    made = default_config(method, "toy")
    algorithm = dataclasses.replace(made.algorithm, **SMALL, ent_coef=0.01)
    settings = configured(made.robust, **WHOLE, **robust) if made.robust else None
    return dataclasses.replace(made, algorithm=algorithm, robust=settings)


def trained(settings: RunConfig) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(4, 17, 4)).astype(np.float32)
    actions, rewards = rng.normal(size=(4, 16, 2)).astype(np.float32), rng.normal(size=(4, 16)).astype(np.float32)
    ends = rng.uniform(size=(4, 16)) < 0.1
    rollout = Transitions(obs[:, :-1], actions, rewards, obs[:, 1:], ends, np.zeros_like(ends))
    algorithm = make_algorithm(settings, SPEC)
    learner, _ = algorithm.update(algorithm.init(SPEC, jax.random.key(3)), rollout, jax.random.key(0), jnp.float32(0.8))
    return [np.asarray(x) for x in jax.tree.leaves(eqx.filter(learner.policy, eqx.is_array))]


def test_ppo_where_it_must_be() -> None:
    """Weight 0: bit for bit. No ball and even weights: up to the order of sums. Else not."""
    plain = trained(config("ppo"))
    for a, b in zip(plain, trained(config("car-ppo", car_weight=0.0)), strict=True):
        np.testing.assert_array_equal(a, b)
    even = {"car_form": "alone", "car_temperature": 1e9}
    for a, b in zip(plain, trained(config("car-ppo", eps=0.0, **even)), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)
    for changed in ({"eps": 0.3, **even}, {"eps": 0.0, "car_form": "alone", "car_temperature": 0.1}):
        moved = trained(config("car-ppo", **changed))
        assert max(np.abs(a - b).max() for a, b in zip(plain, moved, strict=True)) > 1e-4


def test_presets_are_the_published_ones_and_survive_json() -> None:
    wanted = {
        "Hopper": (3e-4, 2.5e-4, 0.0, 0.075, 1.0, 100, 2_000_000),
        "Walker2d": (4e-4, 3e-4, 0.0, 0.05, 0.1, 10, 2_000_000),
        "HalfCheetah": (1e-4, 1e-3, 1e-4, 0.15, 0.1, 100, 2_000_000),
        "Ant": (5e-5, 1e-5, 0.0, 0.15, 0.1, 1e4, 10_000_000),
    }
    for task, numbers in wanted.items():
        made = default_config("car-ppo", f"{task}-v4")
        a, r = made.algorithm, made.robust
        assert isinstance(r, CarConfig)
        rates = a.policy_lr, a.value_lr, a.ent_coef  # type: ignore[union-attr]
        assert (*rates, r.threat.eps, r.car_weight, r.car_temperature, made.steps) == numbers
        assert (r.eps_begin, r.eps_end, r.eps_schedule, r.car_solver, r.car_form) == (
            0,
            0.75,
            "linear",
            "sgld",
            "beside",
        )
        made.check()
        assert from_json(to_json(made), made.out) == dataclasses.replace(made, resume=True)
