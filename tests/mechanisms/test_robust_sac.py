"""Robust SAC: reductions to SAC bit for bit, the adversary inside its ball, the worst critic's target by hand."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.bounds import Ball
from wocar.config_base import configured
from wocar.mechanisms.robust_sac import gaussian_kl, worst_shown
from wocar.mechanisms.sac_objective import SACBatch
from wocar.methods.presets import default_config, make_algorithm
from wocar.networks import SquashedGaussianPolicy
from wocar.types import ActionSpace, EnvSpec

SPEC = EnvSpec("toy", (4,), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32)))
CLOSED = {"eps": 0.0, "kappa_reg": 0.0}
NO_CONTEXTS = {"kappa_wst": 0.0, "kappa_director": 0.0, "kappa_natural": 0.0}


def batch(n: int = 16) -> SACBatch:
    rng = np.random.default_rng(0)
    obs, next_obs = rng.standard_normal((2, n, 4)).astype(np.float32)
    actions, rewards = rng.uniform(-1, 1, (n, 2)).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    discounts = np.where(rng.uniform(size=n) < 0.2, 0, 0.99).astype(np.float32)
    return SACBatch(obs, actions, rewards, next_obs, discounts, np.ones(n, np.float32))


def algorithm(method: str, **robust: Any) -> Any:
    config = default_config(method, "toy")
    own = dataclasses.replace(config.algorithm, hidden=(8, 8), loss="squared")
    part = configured(config.robust, **robust) if config.robust else None
    return make_algorithm(dataclasses.replace(config, algorithm=own, robust=part), SPEC)


def trained(method: str, updates: int = 3, **robust: Any) -> tuple[Any, dict[str, jax.Array]]:
    sac = algorithm(method, **robust)
    learner, info = sac.init(SPEC, jax.random.key(3)), {}
    step = eqx.filter_jit(sac.update)
    for k in range(updates):
        learner, _, info = step(learner, batch(), jax.random.key(k), jnp.float32(0.9))
    return learner, info


def weights(learner: Any) -> list[np.ndarray]:
    networks = [critic.network for critic in (*learner.critics, *learner.target)]
    parts = learner.policy, networks, learner.log_alpha
    return [np.asarray(x) for x in jax.tree.leaves(eqx.filter(parts, eqx.is_array))]


@pytest.mark.parametrize(
    ("method", "closed", "opened"),
    [
        ("sa-sac", {"kappa_reg": 0.0}, {"kappa_reg": 3.0, "eps": 0.3}),
        ("valt-eps-sac", CLOSED, {"kappa_reg": 0.0, "eps": 0.3}),
        ("wocar-sac", CLOSED | NO_CONTEXTS, {**NO_CONTEXTS, "kappa_wst": 1.0, "eps": 0.3}),
        ("wocar-sac", {**CLOSED, **NO_CONTEXTS, "see_context": False}, {"see_context": False, "eps": 0.3}),
    ],
)
def test_closed_doors_leave_sac_and_open_ones_do_not(
    method: str, closed: dict[str, Any], opened: dict[str, Any]
) -> None:
    plain = weights(trained("sac")[0])
    for mine, other in zip(weights(trained(method, **closed)[0]), plain, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert any(not np.array_equal(a, b) for a, b in zip(weights(trained(method, **opened)[0]), plain, strict=True))


def test_what_is_shown_lies_in_the_ball_and_lowers_the_value() -> None:
    policy = SquashedGaussianPolicy.create(4, -np.ones(2), np.ones(2), jax.random.key(0), (8, 8))
    obs, ball = jax.random.normal(jax.random.key(1), (64, 4)), Ball(0.2)

    def value(obs: Any, actions: Any) -> jax.Array:
        return actions @ jnp.array([1.0, -2.0])

    shown = worst_shown(policy, value, ball, obs, jax.random.key(2), steps=3)
    assert float(jnp.abs(shown - obs).max()) <= 0.2 + 1e-6
    lower = value(obs, policy.unit_mode(shown)) < value(obs, policy.unit_mode(obs))
    assert float(lower.mean()) > 0.95


def test_the_divergence_of_gaussians_by_hand() -> None:
    """KL(N(0, 1) || N(1, 2)) = log 2 + (1 + 1) / 8 - 1 / 2."""
    one, other = (jnp.zeros((1, 1)), jnp.zeros((1, 1))), (jnp.ones((1, 1)), jnp.full((1, 1), math.log(2)))
    assert float(gaussian_kl(one, other)[0]) == pytest.approx(math.log(2) + 0.25 - 0.5)
    assert float(gaussian_kl(other, other)[0]) == 0
