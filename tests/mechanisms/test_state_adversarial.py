"""The state-adversarial regulariser: its bound is never below what the search finds, for either kind of policy."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.config_base import configured
from wocar.mechanisms.policy_config import RobustConfig
from wocar.mechanisms.state_adversarial import RegNotes, StateAdversarial
from wocar.networks import CategoricalPolicy, GaussianPolicy

POLICIES: dict[str, Any] = {"gaussian": GaussianPolicy, "categorical": CategoricalPolicy}
SOLVERS: list[Any] = ["convex", "sgld"]
SEARCH: dict[str, Any] = {"reg_search": "minibatch"}


@eqx.filter_jit
def penalties(policy: Any, obs: jax.Array, key: jax.Array, progress: jax.Array) -> tuple[jax.Array, ...]:
    """The regulariser by either solver; eps is 0.5 at the end of training."""
    objectives = [
        StateAdversarial(configured(RobustConfig, eps=0.5, eps_ramp=1.0, kappa_reg=1.0, reg_solver=s, **SEARCH))
        for s in SOLVERS
    ]
    return tuple(objective.regularisation(policy, obs, RegNotes(), key, progress) for objective in objectives)


@pytest.mark.parametrize("kind", list(POLICIES))
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), progress=st.floats(0, 1), scale=st.floats(0.1, 5))
def test_the_bound_is_never_below_what_the_search_finds(kind: str, seed: int, progress: float, scale: float) -> None:
    key = jax.random.key(seed)
    made = POLICIES[kind].create(3, 2, key, hidden=(6,))
    policy = jax.tree.map(lambda x: scale * x if eqx.is_array(x) else x, made)
    obs = jax.random.normal(jax.random.fold_in(key, 1), (4, 3))
    bound, found = penalties(policy, obs, jax.random.fold_in(key, 2), jnp.float32(progress))
    assert found <= bound * (1 + 1e-4) + 1e-6
