"""The worst critic's memory of past transitions."""

import jax
import jax.numpy as jnp
import numpy as np

from wocar.mechanisms.critic_replay import SHARE, CriticReplay
from wocar.types import ActionSpace, Batch


def batch(first: int, n: int, scale: float) -> Batch:
    number = jnp.arange(first, first + n, dtype=jnp.float32)
    nothing = jnp.zeros(n)
    return Batch(
        obs=number[:, None],
        actions=number[:, None],
        rewards=number / scale,
        next_obs=number[:, None] + 1,
        terminated=number % 2 == 0,
        last=nothing,
        log_prob=nothing,
        value=nothing,
        advantage=nothing,
        returns=nothing,
        reward_scale=jnp.full(n, scale),
    )


def test_a_transition_stays_whole_and_its_reward_takes_the_units_of_the_day() -> None:
    replay = CriticReplay.create(64, (1,), ActionSpace(1, -np.ones(1), np.ones(1)))
    for k, scale in enumerate((0.5, 2.0, 4.0)):
        part = batch(100 * k, 8 * SHARE, scale)
        replay = replay.insert(part, part.actions, jax.random.key(k))
    assert int(replay.seen) == 24
    drawn = replay.sample(200, jnp.float32(1000.0), jax.random.key(9))
    number = np.asarray(drawn.obs[:, 0])
    np.testing.assert_array_equal(drawn.actions[:, 0], number)
    np.testing.assert_array_equal(drawn.next_obs[:, 0], number + 1)
    np.testing.assert_array_equal(drawn.terminated, number % 2 == 0)
    np.testing.assert_allclose(drawn.rewards, number / 1000, rtol=1e-6)
    assert {int(x) // 100 for x in number if x < 300} >= {0, 1, 2}, (
        "all batches are remembered, empty slots are not drawn"
    )


def test_the_oldest_go_first() -> None:
    replay = CriticReplay.create(8, (1,), ActionSpace(1))
    for k in range(3):
        part = batch(1000 * k, 4 * SHARE, 1.0)
        replay = replay.insert(part, jnp.zeros(4 * SHARE, jnp.int32), jax.random.key(k))
    assert np.asarray(replay.obs).min() >= 1000 and int(replay.seen) == 12
