"""Random actions: how many there are, how long they last, what they reach."""

import numpy as np
import pytest

from wocar.envs import make_env
from wocar.training.dqn import DQNConfig
from wocar.training.exploration import RandomActions, random_share


def drawn(share: float, hold: int, steps: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    explorer, rng = RandomActions(3, 2, hold), np.random.default_rng(0)
    actions, taken = zip(*(explorer.draw(share, rng) for _ in range(steps)), strict=True)
    return np.array(actions), np.array(taken)


@pytest.mark.parametrize(
    ("end", "shares"),
    [(None, [1.0, 0.6, 0.2, 0.2, 0.2]), (0.0, [1.0, 0.6, 0.2, 0.1, 0.0])],
)
def test_random_actions_become_rarer_and_stay_so_or_end(end: float | None, shares: list[float]) -> None:
    cfg = DQNConfig(exploration_fraction=0.2, exploration_final_eps=0.2, exploration_end_eps=end)
    assert [random_share(cfg, p) for p in (0.0, 0.1, 0.2, 0.6, 1.0)] == pytest.approx(shares)


def test_exploration_may_begin_at_its_final_share() -> None:
    assert random_share(DQNConfig(exploration_fraction=0.0), 0.0) == 0.05


@pytest.mark.parametrize("hold", [1, 8])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.7, 1.0])
def test_the_share_of_random_steps(share: float, hold: int) -> None:
    assert drawn(share, hold)[1].mean() == pytest.approx(share, abs=0.02)


def test_an_action_is_held_for_up_to_so_many_steps() -> None:
    actions, taken = drawn(0.02, 8)
    borders = np.flatnonzero(np.diff(taken[:, 0])) + 1
    runs = [a for a, t in zip(np.split(actions[:, 0], borders), np.split(taken[:, 0], borders), strict=True) if t[0]]
    lengths = [len(run) for run in runs]
    assert np.bincount(lengths)[1:9].min() > 0
    assert np.mean(lengths) == pytest.approx(4.5, rel=0.2)
    assert np.mean([len(set(run)) == 1 for run in runs if len(run) > 1]) > 0.9


def test_held_actions_cross_the_road_of_freeway() -> None:
    crossed = {}
    for hold in (1, 64):
        env = make_env("Freeway-v5", 8, 0, threads=1)
        env.reset()
        explorer, rng = RandomActions(env.spec.actions.size, 8, hold), np.random.default_rng(0)
        crossed[hold] = sum(env.step(explorer.draw(1.0, rng)[0]).rewards.sum() for _ in range(400))
    assert crossed[1] == 0
    assert crossed[64] >= 4
