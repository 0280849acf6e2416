"""The replay against a plain list of transitions, and what it draws against the chances it promises."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from wocar.envs import make_env
from wocar.training.replay_buffer import ReplayBuffer
from wocar.training.sum_tree import SumTree
from wocar.types import ActionSpace, EnvSpec, Step, UserError

N, GAMMA = 3, 0.5
SPEC = EnvSpec("toy", (2,), ActionSpace(4))


class Moment(NamedTuple):
    """A transition as it happened: the row and the environment, s, a, r, s', and whether it ended an episode."""

    row: int
    env: int
    obs: tuple[float, ...]
    action: int
    reward: float
    next_obs: tuple[float, ...]
    terminated: bool
    truncated: bool


class World:
    """Environments whose observations count the episode and the step in it, with EnvPool's way to reset."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.obs = np.zeros((N, 2), np.float32)
        self.obs[:, 0] = np.arange(N) * 1000
        self.ended = np.zeros(N, bool)

    def reset(self) -> np.ndarray:
        self.obs[:, 0] += 1
        self.obs[:, 1] = 0
        self.ended[:] = False
        return self.obs.copy()

    def step(self) -> Step:
        resets = self.ended.copy()
        ends, time_is_up = self.rng.random(N) < 0.2, self.rng.random(N) < 0.5
        rewards = np.where(resets, 0, self.rng.integers(1, 9, N)).astype(np.float32)
        self.obs[:, 1] += 1
        self.obs[resets, 0] += 1
        self.obs[resets, 1] = 0
        self.ended = ends & ~resets
        return Step(self.obs.copy(), rewards, self.ended & ~time_is_up, self.ended & time_is_up, resets)


def fill(replay: ReplayBuffer, world: World, steps: int, begin: bool = True) -> list[Moment]:
    """Play and record; the row of each transition counts as the replay's do."""
    moments = []
    if begin:
        before = world.reset()
        replay.begin(before)
    else:
        before = world.obs.copy()
    for _ in range(steps):
        actions, row = world.rng.integers(0, 4, N), replay.head
        step = world.step()
        replay.add(actions, step)
        for e in np.flatnonzero(~step.is_reset):
            ends = bool(step.terminated[e]), bool(step.truncated[e])
            happened = int(actions[e]), float(step.rewards[e]), tuple(step.obs[e])
            moments.append(Moment(row, int(e), tuple(before[e]), *happened, *ends))
        before = step.obs
    return moments


def expected(moments: list[Moment], first: Moment, n_step: int) -> tuple[float, tuple[float, ...], float]:
    """Reward, next observation and discount of up to n steps from the first, by the list."""
    following = {(m.row, m.env): m for m in moments}
    reward, discount, moment = 0.0, 1.0, first
    for k in range(n_step):
        reward += discount * moment.reward
        discount *= GAMMA * (not moment.terminated)
        after = following.get((moment.row + 1, moment.env))
        if moment.terminated or moment.truncated or k == n_step - 1 or after is None:
            break
        moment = after
    return reward, moment.next_obs, discount


def make(folder: Path, capacity: int, slack: int = 20, anew: bool = True, **options: float) -> ReplayBuffer:
    replay = ReplayBuffer(SPEC, N, capacity, slack, GAMMA, **options)  # type: ignore[arg-type]
    replay.open(folder, anew)
    return replay


@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_every_sample_is_a_transition_that_happened(tmp_path: Path, n_step: int, alpha: float) -> None:
    world, replay = World(0), make(tmp_path, 60, n_step=n_step, alpha=alpha)
    moments = fill(replay, world, 50) + fill(replay, world, 37)  # the ring of 20 rows and its slack come round twice
    drawn = replay.sample(4000, np.random.default_rng(0))
    by_obs = {m.obs: m for m in moments}
    window = range(replay.head - 19, replay.head - n_step + 1)
    possible = {m.obs for m in moments if m.row in window}
    assert {tuple(obs) for obs in drawn.obs} == possible
    for k in range(200):
        first = by_obs[tuple(drawn.obs[k])]
        reward, next_obs, discount = expected(moments, first, n_step)
        assert drawn.actions[k] == first.action
        assert drawn.rewards[k] == pytest.approx(reward)
        assert tuple(drawn.next_obs[k]) == next_obs
        assert drawn.discounts[k] == pytest.approx(discount)
    one_step = replay.outcome(drawn.slots[:200], 1)
    for k, got in enumerate(zip(*one_step, strict=True)):
        reward, next_obs, discount = expected(moments, by_obs[tuple(drawn.obs[k])], 1)
        assert (got[0], tuple(got[1]), got[2]) == (pytest.approx(reward), next_obs, pytest.approx(discount))


def test_a_fresh_start_cuts_like_a_time_limit(tmp_path: Path) -> None:
    world, replay = World(3), make(tmp_path, 60, n_step=3)
    last = [m for m in fill(replay, world, 5) if m.row == 4 and not m.terminated]
    fill(replay, world, 8)
    drawn = replay.sample(3000, np.random.default_rng(0))
    for m in last:
        k = [tuple(obs) for obs in drawn.obs].index(m.obs)
        assert (drawn.rewards[k], tuple(drawn.next_obs[k]), drawn.discounts[k]) == (m.reward, m.next_obs, GAMMA)


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_a_checkpoint_still_finds_its_transitions(tmp_path: Path, alpha: float) -> None:
    """A run is killed after a checkpoint, with many more rows written; the resumed one draws as if it had not been."""
    world, replay = World(1), make(tmp_path, 60, slack=40, alpha=alpha)
    fill(replay, world, 90)
    drawn = replay.sample(64, np.random.default_rng(5))
    replay.learnt(drawn.slots, np.linspace(0.1, 3, 64))
    replay.flush()
    head, largest = replay.head, replay.largest
    leaves = None if replay.priorities is None else replay.priorities.leaves.copy()
    at_checkpoint = replay.sample(64, np.random.default_rng(6), 0.4)
    fill(replay, world, 38)

    again = make(tmp_path, 60, slack=40, anew=False, alpha=alpha)
    again.head, again.largest = head, largest
    if again.priorities is not None and leaves is not None:
        again.priorities.leaves = leaves
        again.priorities.rebuild()
    for one, other in zip(at_checkpoint, again.sample(64, np.random.default_rng(6), 0.4), strict=True):
        np.testing.assert_array_equal(one, other)


def test_files_of_another_size_are_refused(tmp_path: Path) -> None:
    make(tmp_path, 60)
    with pytest.raises(UserError, match="frames is damaged"):
        make(tmp_path, 90, anew=False)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_priorities_are_chances(tmp_path: Path, alpha: float) -> None:
    """Each ready transition is drawn in proportion to (|error| + 1e-6) ** alpha, and weighed by its inverse ** beta."""
    world, replay = World(2), make(tmp_path, 300, alpha=alpha)
    fill(replay, world, 60)
    assert replay.priorities is not None
    ready = np.flatnonzero(replay.priorities.leaves.reshape(-1))
    assert set(ready) == {row * N + e for row in range(60) for e in range(N) if replay.live[row * N + e]}
    errors = np.random.default_rng(1).normal(size=len(ready)) * 2
    replay.learnt(ready, errors)
    chances = (np.abs(errors) + 1e-6) ** alpha
    chances /= chances.sum()
    drawn = np.concatenate([replay.sample(100, np.random.default_rng(k)).slots for k in range(200)])
    counts = np.array([(drawn == slot).sum() for slot in ready])
    assert counts.sum() == len(drawn)  # nothing else was drawn
    often = chances * len(drawn) > 5
    expected = chances[often] / chances[often].sum() * counts[often].sum()
    assert stats.chisquare(counts[often], expected).pvalue > 1e-3
    sample = replay.sample(32, np.random.default_rng(9), beta=0.4)
    weights = chances[np.searchsorted(ready, sample.slots)] ** -0.4
    np.testing.assert_allclose(sample.weights, weights / weights.max(), rtol=1e-5)


def test_new_transitions_are_as_likely_as_the_largest_error(tmp_path: Path) -> None:
    world, replay = World(2), make(tmp_path, 300, alpha=1.0)
    fill(replay, world, 10)
    assert replay.priorities is not None
    replay.learnt(np.flatnonzero(replay.priorities.leaves.reshape(-1))[:1], np.array([7.0]))
    fill(replay, world, 5, begin=False)
    assert replay.priorities.leaves.max() == pytest.approx(7.0, abs=1e-5)
    assert (replay.priorities.leaves.reshape(-1)[11 * N : 14 * N] > 6).any()


def test_a_tree_by_hand() -> None:
    tree = SumTree(40_000)
    tree.set(np.array([3, 500, 39_999]), np.array([1.0, 2.0, 1.0]))
    shares = np.array([0.0, 0.2499, 0.25, 0.5, 0.7499, 0.75, 1 - 1e-16])
    assert tree.draw(shares).tolist() == [3, 3, 500, 500, 500, 39_999, 39_999]
    tree.set(np.array([500, 500]), 0.0)
    assert tree.draw(np.array([0.4999, 0.5])).tolist() == [3, 39_999]


def test_a_tree_never_draws_what_weighs_nothing() -> None:
    rng, tree = np.random.default_rng(0), SumTree(50_000)
    for _ in range(30):
        slots = rng.integers(0, 50_000, 400)
        tree.set(slots, np.where(rng.random(400) < 0.3, 0, rng.random(400) * 10.0 ** rng.integers(-9, 9, 400)))
        assert (tree[tree.draw(rng.random(2000))] > 0).all()
    sums = tree._blocks.copy(), tree._groups.copy()
    tree.rebuild()
    assert all(np.array_equal(a, b) for a, b in zip(sums, (tree._blocks, tree._groups), strict=True))


@pytest.mark.parametrize("stack", [1, 4])
def test_frames_stored_once_are_the_stacks_that_were_seen(tmp_path: Path, stack: int) -> None:
    """Breakout with random actions, through lost lives and whole games."""
    id = f"Breakout-stack{stack}-v5" if stack > 1 else "Breakout-v5"
    env = make_env(id, 2, seed=0, threads=1, training=True)
    replay = ReplayBuffer(env.spec, 2, 700, 10, 0.99)
    replay.open(tmp_path, anew=True)
    rng = np.random.default_rng(0)
    shown = [env.reset()]
    replay.begin(shown[0])
    ends = 0
    for _ in range(300):
        step = env.step(rng.integers(0, 4, 2, dtype=np.int32))
        replay.add(np.zeros(2), step)
        shown.append(step.obs)
        ends += int(step.terminated.sum())
    env.close()
    assert ends > 12  # more than a game of five lives each
    slots = np.arange(2 * 300)
    np.testing.assert_array_equal(replay._observe(slots), np.concatenate(shown[:-1]))
    assert replay.frames.nbytes == replay.rows * 2 * 84 * 84
