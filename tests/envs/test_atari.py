"""Atari through EnvPool behind the same interface."""

import numpy as np

from wocar.envs import make_env


def test_pong_shows_frames_and_steps() -> None:
    env = make_env("Pong-v5", 2, seed=0)
    assert env.spec.obs_shape == (4, 84, 84) and env.spec.actions.discrete
    first = env.reset()
    assert first.dtype == np.uint8 and first.max() > 0
    for _ in range(20):
        step = env.step(np.array([2, 3], np.int32))
    assert step.obs.shape == (2, 4, 84, 84) and not step.is_reset.any()
    assert not np.array_equal(step.obs[0], step.obs[1])
    env.close()
