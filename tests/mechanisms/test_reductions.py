"""PPO, SA-PPO and WocaR-PPO are one algorithm with the doors closed, one open, all open; A2C likewise. Bit for bit."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.config_base import configured
from wocar.methods.presets import default_config, make_algorithm
from wocar.training.run_config import RunConfig
from wocar.types import ActionSpace, EnvSpec, Transitions

SPECS = {
    "continuous": EnvSpec("toy", (4,), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32))),
    "discrete": EnvSpec("toy", (4,), ActionSpace(3)),
}


def config(method: str, **robust: Any) -> RunConfig:
    base = default_config(method, "toy", "paper")
    small: dict[str, Any] = {"n_envs": 4, "n_steps": 16, "hidden": (8, 8)}
    if "ppo" in method:
        small |= {"policy_epochs": 2, "value_epochs": 2, "minibatches": 4}
    algorithm = dataclasses.replace(base.algorithm, **small)
    if method.endswith("a2c"):
        algorithm = dataclasses.replace(algorithm, normalise_advantage=True)
    if base.robust is None:
        return dataclasses.replace(base, algorithm=algorithm)
    settings = {"reg_steps": 2, **robust}
    return dataclasses.replace(base, algorithm=algorithm, robust=configured(base.robust, **settings))


def rollout(spec: EnvSpec) -> Transitions:
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(4, 17, 4)).astype(np.float32)
    actions = rng.integers(0, 3, (4, 16)) if spec.actions.discrete else rng.normal(size=(4, 16, 2))
    actions = actions.astype(np.int32 if spec.actions.discrete else np.float32)
    ends = rng.uniform(size=(4, 16)) < 0.1
    rewards = rng.normal(size=(4, 16)).astype(np.float32)
    return Transitions(obs[:, :-1], actions, rewards, obs[:, 1:], ends, np.zeros_like(ends))


@functools.cache
def trained(settings: RunConfig, kind: str, updates: int = 2) -> list[np.ndarray]:
    """Weights of policy and value after some updates late in training, when every schedule is open."""
    spec = SPECS[kind]
    algorithm = make_algorithm(settings, spec)
    learner = algorithm.init(spec, jax.random.key(3))
    for k in range(updates):
        learner, _ = algorithm.update(learner, rollout(spec), jax.random.key(k), jnp.float32(0.8))
    return [np.asarray(x) for x in jax.tree.leaves(eqx.filter((learner.policy, learner.value), eqx.is_array))]


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("base", ["ppo", "a2c"])
@pytest.mark.parametrize("kind", list(SPECS))
def test_doors_closed_one_by_one(base: str, kind: str) -> None:
    plain = trained(config(base), kind)
    assert same(plain, trained(config(f"sa-{base}", kappa_reg=0.0), kind))
    regularised = trained(config(f"sa-{base}", kappa_reg=0.3), kind)
    assert not same(plain, regularised)
    assert same(regularised, trained(config(f"wocar-{base}", kappa_reg=0.3, kappa_wst=0.0, importance=False), kind))
    assert same(plain, trained(config(f"wocar-{base}", reg=False, kappa_wst=0.0, importance=False), kind))
    everything = trained(config(f"wocar-{base}", kappa_reg=0.3), kind)
    assert not same(regularised, everything)


@pytest.mark.parametrize(
    "switch",
    [
        {"importance": False},
        {"reg": False},
        {"kappa_wst": 0.0},
        {"bounds": "ibp"},
        {"threat": "action"},
        {"worst_form": "td"},
        {"worst_form": "gradient"},
        {"importance_from": "critic"},
        {"importance_floor": 0.9},
        {"critic_twin": True},
        {"critic_lag": True, "importance_from": "critic"},
        {"set_share": 0.5, "importance_from": "critic"},
        {"reg_search": "minibatch"},
        {"reg_std": True},
        {"reg_solver": "convex"},
    ],
    ids=str,
)
def test_every_switch_changes_the_result(switch: dict[str, Any]) -> None:
    kind = "continuous"
    whole = trained(config("wocar-ppo", kappa_reg=0.3, eps=0.3), kind)
    assert not same(whole, trained(config("wocar-ppo", kappa_reg=0.3, eps=0.3, **switch), kind))


def test_eps_zero_leaves_nothing_to_regularise() -> None:
    kind = "continuous"
    for a, b in zip(trained(config("sa-ppo", eps=0.0), kind), trained(config("ppo"), kind), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_the_doors_of_an_lstm() -> None:
    """wocar-lstm-ppo with every door closed is lstm-ppo, bit for bit; with all open it is not, and its numbers are."""
    small = {"policy_epochs": 1, "value_epochs": 1, "minibatches": 2, "hidden": (4,)}
    closed = {"reg": False, "kappa_wst": 0.0, "importance": False}

    def config_of(method: str, **robust: Any) -> RunConfig:
        made = config(method, **robust)
        return dataclasses.replace(made, algorithm=dataclasses.replace(made.algorithm, **small))

    plain = trained(config_of("lstm-ppo"), "continuous", 1)
    assert same(plain, trained(config_of("wocar-lstm-ppo", **closed), "continuous", 1))
    everything = trained(config_of("wocar-lstm-ppo", kappa_reg=0.3), "continuous", 1)
    assert not same(plain, everything)
    assert all(np.isfinite(x).all() for x in everything)


def test_state_importance_alone_is_wocar_without_its_worst_value() -> None:
    kind = "continuous"
    alone = trained(config("sa-ppo-w", kappa_reg=0.3, eps=0.3), kind)
    assert same(alone, trained(config("wocar-ppo", kappa_reg=0.3, eps=0.3, kappa_wst=0.0), kind))
    assert not same(alone, trained(config("sa-ppo", kappa_reg=0.3, eps=0.3), kind))
