"""Agents that can only be called: evaluated as they are, attacked without gradients."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wocar
from wocar.attacks.random_search import RandomSearch
from wocar.black_box import black_box
from wocar.bounds import Ball
from wocar.types import ActionSpace, EnvSpec, UserError

CART = EnvSpec("CartPole-v1", (4,), ActionSpace(2))
ARM = EnvSpec("Pendulum-v1", (3,), ActionSpace(1, np.float32([-2]), np.float32([2])))


def lean(obs: np.ndarray) -> int:
    """Of one observation: push to where the pole falls."""
    return int(3 * obs[2] + obs[3] > 0)


class Leaning:
    """Of batches, with Stable-Baselines3's signature."""

    def predict(self, obs: np.ndarray, deterministic: bool = False) -> tuple[np.ndarray, None]:
        assert deterministic
        return (3 * obs[..., 2] + obs[..., 3] > 0).astype(int), None


def test_functions_of_one_observation_and_of_batches_act_alike() -> None:
    obs = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    wanted = (3 * obs[:, 2] + obs[:, 3] > 0).astype(int)
    for policy in (lean, Leaning()):
        agent = black_box(policy, CART)
        np.testing.assert_array_equal(agent.act(obs), wanted)
        np.testing.assert_array_equal(agent.predict(obs[0])[0], wanted[0])
        np.testing.assert_array_equal(jax.jit(agent.policy.mode)(jnp.asarray(obs)), wanted)
    assert black_box(lean, CART).digest() != black_box(lean, CART).digest()


def test_what_is_no_policy_is_said_in_one_line() -> None:
    cases: list[tuple[Any, EnvSpec, str]] = [
        (lambda obs: 7, CART, "actions outside 0 to 1"),
        (lambda obs: 0.5, CART, "expected .* whole numbers"),
        (lambda obs: obs, ARM, r"shape \(3,\), expected \(1,\)"),
        (lambda obs: np.full((*obs.shape[:-1], 1), np.nan), ARM, "not finite"),
        (lambda obs: {}["x"], ARM, "KeyError"),
    ]
    for policy, spec, reason in cases:
        with pytest.raises(UserError, match=reason) as caught:
            black_box(policy, spec)
        assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="give env, its id"):
        wocar.load(lean)
    with pytest.raises(UserError, match="cannot be written"):
        black_box(lean, CART).save("anywhere")


def test_random_search_finds_the_corner_that_matters() -> None:
    agent = black_box(lambda obs: obs[..., :1] * [2.0] - obs[..., 1:2], ARM)
    obs = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)), jnp.float32)
    found = RandomSearch(64).perturb(agent.policy, Ball(0.1), obs, jax.random.key(0))
    moved = np.asarray(found - obs)
    np.testing.assert_allclose(np.abs(moved), 0.1, atol=1e-6)
    assert (np.sign(moved[:, 0]) == -np.sign(moved[:, 1])).all()
    cart = black_box(lean, CART)
    near = jnp.asarray([[0.0, 0.0, 0.01, 0.0]])  # one of two corners of the angle flips the action
    seen = RandomSearch(32).perturb(cart.policy, Ball(0.05), near, jax.random.key(0))
    assert cart.act(np.asarray(near))[0] == 1
    assert cart.act(np.asarray(seen))[0] == 0


def test_a_function_is_audited_and_what_cannot_be_run_is_named(tmp_path: Path) -> None:
    result = wocar.audit(lean, "black-box-v1", env="CartPole-v1", eps=0.2, episodes=2, budget_steps=256, out=tmp_path)
    assert result["suite"]["name"] == "black-box-v1"
    assert {"none", "random", "random-corner", "random-search", "sa-rl"} == set(result["attacks"])
    assert {"pgd-10", "director", "worst-critic", "robust-sarsa", "maxdiff-plain"} == set(result["skipped"])
    assert set(result["skipped"].values()) == {"it needs the policy's network, and this agent can only be called"}
    assert "certified" not in result
    assert result["attacks"]["none"]["mean"] > result["attacks"]["random-search"]["mean"]
    with pytest.raises(UserError, match="pgd-10 does not apply: it needs the policy's network"):
        wocar.audit(lean, env="CartPole-v1", attacks=["pgd-10"], eps=0.2, episodes=2)
