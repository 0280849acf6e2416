"""Atari: what an id means, and EnvPool and ale-py alone frame for frame."""

import numpy as np
import pytest

from wocar.envs import atari, make_env, make_gymnasium_env
from wocar.envs.envpool_vector import make_envpool
from wocar.types import Step, VectorEnv


@pytest.mark.parametrize(
    ("id", "meaning"),
    [
        ("Pong-v5", ("pong", 1)),
        ("ALE/Pong-v5", ("pong", 1)),
        ("Pong-stack4-v5", ("pong", 4)),
        ("BankHeist-v5", ("bank_heist", 1)),
        ("UpNDown-v5", ("up_n_down", 1)),
        ("Ant-v5", None),
        ("Pong-v4", None),
        ("CartPole-v1", None),
        ("Nowhere-v5", None),
    ],
)
def test_ids(id: str, meaning: tuple[str, int] | None) -> None:
    assert atari.parse(id) == meaning


@pytest.mark.parametrize("backend", ["envpool", "gymnasium"])
@pytest.mark.parametrize(("id", "stack"), [("Pong-v5", 1), ("Pong-stack3-v5", 3)])
def test_frames(backend: str, id: str, stack: int) -> None:
    env = make_env(id, 2, seed=0, threads=1, backend=backend)
    assert env.spec.obs_shape == (stack, 84, 84)
    assert env.spec.actions.discrete and env.spec.actions.size == 4
    assert env.spec.max_steps == atari.MAX_STEPS
    first = env.reset()
    assert first.dtype == np.uint8 and first.max() > 0
    assert (first == first[:, :1]).all()
    for _ in range(20):
        step = env.step(np.array([2, 3], np.int32))
    assert step.obs.shape == (2, stack, 84, 84) and not step.is_reset.any()
    assert not np.array_equal(step.obs[0], step.obs[1])
    env.close()


def play(env: VectorEnv, steps: int, seed: int = 0) -> list[Step]:
    rng = np.random.default_rng(seed)
    env.reset()
    played = [env.step(rng.integers(0, env.spec.actions.size, env.n).astype(np.int32)) for _ in range(steps)]
    env.close()
    return played


@pytest.mark.parametrize(("game", "steps"), [("Breakout", 250), ("Freeway", 30), ("RoadRunner", 200)])
def test_both_backends_show_the_same(game: str, steps: int) -> None:
    """The same actions, through lost lives and whole games; only the number of no-ops is chance, so there are none."""
    id, seeds = f"{game}-stack2-v5", [3]
    theirs = play(make_envpool(id, seeds, 1, training=True, noops=1), steps)

    from wocar.envs.vector import GymnasiumVector

    spec = make_env(id, 1, 0, threads=1).spec
    single = atari.AtariGame(*atari.parse(id), training=True, noops=1)  # type: ignore[misc]
    ours = play(GymnasiumVector(spec, lambda: single, seeds, raw=False, training=True), steps)
    for k, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        for name in ("rewards", "terminated", "truncated", "is_reset", "scores", "over"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=f"{name} at {k}")
        if not one.over.any():  # EnvPool shows an old frame where a game ends inside a step
            np.testing.assert_array_equal(one.obs, other.obs, err_msg=f"frames at {k}")
    if game == "Breakout":
        assert sum(int(step.over.sum()) for step in ours) >= 1
        assert sum(int(step.terminated.sum()) for step in ours) >= 5


@pytest.mark.parametrize("backend", ["envpool", "gymnasium"])
def test_training_cuts_rewards_and_lives_and_evaluation_does_not(backend: str) -> None:
    training = play(make_env("SpaceInvaders-v5", 1, seed=1, threads=1, backend=backend, training=True), 260)
    scores = np.array([step.scores for step in training if step.scores is not None])
    rewards = np.array([step.rewards for step in training])
    assert scores.max() >= 5
    np.testing.assert_array_equal(rewards, np.sign(scores))
    whole = play(make_env("SpaceInvaders-v5", 1, seed=1, threads=1, backend=backend), 260)
    assert max(float(step.rewards.max()) for step in whole) >= 5
    ends, lives = (sum(int(step.terminated.sum()) for step in steps) for steps in (whole, training))
    assert ends < lives


def test_starts_differ_and_repeat() -> None:
    for backend in ("envpool", "gymnasium"):
        one, two, same = (make_env("Breakout-v5", 3, seed, threads=1, backend=backend) for seed in (1, 2, 1))
        frames = [[env.step(np.zeros(3, np.int32)).obs for env in (one, two, same) if env.reset() is not None]]
        first, other, again = frames[0]
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)
        for env in (one, two, same):
            env.close()


def test_a_game_can_be_drawn() -> None:
    env = make_gymnasium_env("Pong-v5", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (210, 160, 3) and picture.dtype == np.uint8
    env.close()


def test_area_means_by_hand() -> None:
    """168 x 168 halves exactly; a constant stays; 105 rows cover 1.25 each."""
    image = np.arange(168 * 168, dtype=np.uint32).reshape(168, 168) % 200
    halves = image.reshape(84, 2, 84, 2).mean(axis=(1, 3))
    assert np.abs(atari.shrink(image.astype(np.uint8)).astype(float) - halves).max() <= 0.5
    assert (atari.shrink(np.full((210, 160), 77, np.uint8)) == 77).all()
    rows = np.repeat(np.arange(105, dtype=np.uint8)[:, None], 84, axis=1)
    assert atari.shrink(rows)[:3, 0].tolist() == [0, 1, 3]  # 0.2, 1.4 and 2.6
