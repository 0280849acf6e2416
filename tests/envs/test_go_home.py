"""Figure 1 holds: two ways home, nearly the same natural return, and only one of them survives an attack."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from wocar.envs import go_home, go_home_grid
from wocar.envs.go_home import (
    BOMB,
    BOMB_PENALTY,
    HOME,
    ROCK,
    ROCK_COST,
    START,
    START_SPREAD,
    STEP_COST,
    GoHomeDiscrete,
    move,
)
from wocar.envs.go_home_grid import CELLS, LEFT, MOVES, GoHomeGrid, neighbours, outcome, start_state
from wocar.envs.tabular import optimal_attack, policy_evaluation, policy_iteration, reachable_actions

IDS = ["GoHome-v0", "GoHomeDiscrete-v0", "GoHomeGrid-v0"]
SHORT = [(-0.75, 0), (0, -0.25), (0.75, 0)]
SAFE = [(-0.75, 0), (-0.35, 0.4), (0, 0.56), (0.35, 0.4), (0.75, 0)]
EPS = 0.1


def follow(path):
    """A policy on positions (..., 2): head for the point of the path that lies a little to the right."""
    xs, ys = np.array(path).T

    def policy(position):
        ahead = np.minimum(position[..., 0] + 0.15, xs[-1])
        heading = np.stack([ahead, np.interp(ahead, xs, ys)], axis=-1) - position
        return heading / np.maximum(np.linalg.norm(heading, axis=-1, keepdims=True), 1e-9)

    return policy


def eight_moves(policy):
    """The same policy, rounded to the nearest of the eight discrete moves."""
    directions = GoHomeDiscrete.directions
    return lambda position: directions[(policy(position) @ directions.T).argmax(axis=-1)]


def perturbations(eps, n=5):
    axis = np.linspace(-eps, eps, n)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def rollouts(position, policy, shown, hold, horizon):
    """Returns of showing each perturbation for `hold` steps and the truth afterwards."""
    position = np.broadcast_to(position, shown.shape)
    returns, alive = np.zeros(len(shown)), np.ones(len(shown), dtype=bool)
    for t in range(horizon):
        moved = move(position, policy(position + shown * (t < hold)))
        returns += moved.reward * alive
        alive = alive & ~(moved.home | moved.bomb)
        position = moved.position
        if not alive.any():
            break
    return returns


def episode(policy, eps, seed, horizon=100):
    """(return, how it ended) against an attacker that shows, at each step, the perturbation with the worst rollout."""
    env = gymnasium.make("GoHome-v0")
    env.reset(seed=seed)
    total = 0.0
    for t in range(horizon):
        position, shown = env.unwrapped.position, np.zeros(2)
        if eps:
            choices = perturbations(eps)
            returns = [rollouts(position, policy, choices, hold, horizon - t) for hold in (2, 4, 8, 16)]
            shown = choices[np.min(returns, axis=0).argmin()]
        _, reward, terminated, truncated, info = env.step(policy(position + shown))
        total += reward
        if terminated or truncated:
            break
    return total, "bomb" if info["bomb"] else "home" if info["home"] else "late"


def may_reach_bomb(policy, eps, cell=0.03):
    """False: up to the spacing of the perturbations, no attack leads from the start region to the bomb.

    Positions are rounded to cells. A move goes from a cell's centre, under every perturbation of that centre that some
    point of the cell could suffer, to the 3 x 3 cells around where it ends: rounding adds attacks and hides none.
    """
    shown = perturbations(eps + cell / 2, n=24)
    around = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    frontier = np.unique(np.floor((START + perturbations(START_SPREAD, 21)) / cell).astype(int), axis=0)
    visited = set(map(tuple, frontier))
    while len(frontier):
        centre = (frontier[:, None] + 0.5) * cell
        end = move(centre, policy(centre + shown)).position.reshape(-1, 2)
        if (BOMB.distance(end) < 1.5 * cell).any():
            return True
        cells = np.unique(np.floor(end[HOME.distance(end) > -1.5 * cell] / cell).astype(int), axis=0)
        reached = set(map(tuple, (cells[:, None] + around).reshape(-1, 2))) - visited
        visited |= reached
        frontier = np.array(sorted(reached))
    return False


@pytest.mark.parametrize("style", [lambda policy: policy, eight_moves], ids=["continuous", "discrete"])
def test_the_story(style):
    short, safe = style(follow(SHORT)), style(follow(SAFE))
    natural = [np.mean([episode(p, 0.0, seed)[0] for seed in range(8)]) for p in (short, safe)]
    assert 0.93 * natural[0] < natural[1] < natural[0]
    attacked = [[episode(p, EPS, seed) for seed in range(3)] for p in (short, safe)]
    assert all(end == "bomb" and total < -9 for total, end in attacked[0]), attacked
    assert all(end == "home" and total > 0.75 * natural[1] for total, end in attacked[1]), attacked


@pytest.mark.parametrize("style", [lambda policy: policy, eight_moves], ids=["continuous", "discrete"])
def test_no_attack_at_all_pushes_the_safe_policy_into_the_bomb(style):
    assert not may_reach_bomb(style(follow(SAFE)), EPS)
    assert may_reach_bomb(style(follow(SHORT)), EPS)


def test_geometry_leaves_a_gap_narrower_than_the_attack_and_a_home_wider():
    gap = np.hypot(ROCK.x - BOMB.x, ROCK.y - BOMB.y) - ROCK.radius - BOMB.radius
    assert 0 < gap / 2 < EPS < HOME.radius / np.sqrt(2)
    assert 100 * (STEP_COST + ROCK_COST) < BOMB_PENALTY, "no delay is as bad as the bomb"
    corners = START + START_SPREAD * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    assert all((disk.distance(corners) > 0.1).all() for disk in (HOME, ROCK, BOMB))


def test_moves_by_hand():
    free = move([-0.5, 0.5], [5.0, 0.0])
    np.testing.assert_allclose(free.position, [-0.45, 0.5])
    np.testing.assert_allclose(np.linalg.norm(move([-0.5, 0.5], [1.0, 1.0]).position - [-0.5, 0.5]), 0.05)
    np.testing.assert_allclose(free.reward, np.hypot(1.25, 0.5) - np.hypot(1.2, 0.5) - 0.05)
    np.testing.assert_allclose(move([1.0, 0.9], [1.0, 0.0]).position, [1.0, 0.9])
    bump = move([-0.31, 0.1], [1.0, 0.0])
    assert bump.rock and not bump.bomb
    np.testing.assert_allclose(bump.position, [-0.3, 0.1])
    assert move([0.0, -0.28], [0.0, -1.0]).bomb and move([0.0, -0.28], [0.0, -1.0]).reward < -9.9
    assert move([0.53, 0.0], [1.0, 0.0]).home and move([0.53, 0.0], [1.0, 0.0]).reward > 9.9


def test_discrete_moves_are_the_continuous_ones():
    plane, eight = gymnasium.make("GoHome-v0"), gymnasium.make("GoHomeDiscrete-v0")
    plane.reset(seed=3)
    eight.reset(seed=3)
    for action in [0, 1, 7, 2, 3, 4, 5, 6]:
        a, b = plane.step(GoHomeDiscrete.directions[action]), eight.step(action)
        np.testing.assert_array_equal(a[0], b[0])
        assert a[1:] == b[1:]


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_contract(name):
    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", IDS)
def test_the_time_limit_truncates(name):
    env = gymnasium.make(name)
    env.reset(seed=0)
    still = np.zeros(2, dtype=np.float32) if name == "GoHome-v0" else 4 if name == "GoHomeDiscrete-v0" else LEFT
    ends = [env.step(still)[2:4] for _ in range(100)]
    assert ends == [(False, False)] * 99 + [(False, True)]


def test_starts_follow_the_seed_and_stay_in_their_region():
    env = gymnasium.make("GoHome-v0")
    starts = np.array([env.reset(seed=seed)[0] for seed in range(20)])
    np.testing.assert_array_equal(starts[7], env.reset(seed=7)[0])
    assert len(np.unique(starts, axis=0)) == 20
    assert (np.abs(starts - START) <= START_SPREAD + 1e-6).all()


def test_registering_twice_is_silent(recwarn):
    go_home.register()
    go_home_grid.register()
    assert not recwarn.list and set(IDS) <= set(gymnasium.registry)


def test_render_shows_the_agent_where_it_is_and_where_it_believes_to_be():
    env = gymnasium.make("GoHome-v0", render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    assert before.shape == (256, 256, 3) and before.dtype == np.uint8
    env.step(np.array([0.0, 1.0]))
    plain = env.render()
    env.unwrapped.perceived = env.unwrapped.position + np.array([0.3, 0.3])
    x, y = env.unwrapped.position
    row, column = int((1 - y) * 128), int((x + 1) * 128)
    np.testing.assert_array_equal(plain[row, column], [43, 108, 196])
    changed = np.argwhere((env.render() != plain).any(axis=2))
    ring_row, ring_column = row - 0.3 * 128, column + 0.3 * 128
    assert abs(changed[:, 0].min() - ring_row) < 10 and abs(changed[:, 1].max() - ring_column) < 10
    np.testing.assert_array_equal(plain[192, 128], [38, 38, 46])


ARROWS = (
    ">>>>>>vv",
    ">>>>>>vv",
    "^^^>>>vv",
    "^^^>>>vv",
    "^^^>>>>>",
    "^^^>>>>>",
    "^^^>>>>^",
    "^^^^^^^^",
)
SAFE_GRID = np.array(["^>v<".index(arrow) for row in ARROWS for arrow in row])


def test_the_story_on_the_grid():
    """The optimal policy is the short one, and an error of one cell blows it up."""
    mdp, start = GoHomeGrid().table(), start_state()
    short, natural = policy_iteration(mdp)
    safe = policy_evaluation(mdp, SAFE_GRID)
    assert 0.9 * natural[start] < safe[start] < natural[start]
    shown, attacked = optimal_attack(mdp, short, neighbours(1))
    assert attacked[start] < -9
    state = start
    while not mdp.terminal[state]:
        state = outcome(state, short[shown[state]])[0]
    assert CELLS.flat[state] == "*"
    assert optimal_attack(mdp, SAFE_GRID, neighbours(1))[1][start] > 0.85 * safe[start]


def test_the_safe_grid_policy_cannot_reach_the_bomb():
    can = reachable_actions(SAFE_GRID, neighbours(1), len(MOVES))
    reached, frontier = set(), {start_state()}
    while frontier:
        reached |= frontier
        after = {outcome(s, a)[0] for s in frontier if CELLS.flat[s] in ".S" for a in np.flatnonzero(can[s])}
        frontier = after - reached
    assert "*" not in {CELLS.flat[s] for s in reached}


@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_grid_steps_follow_the_table(slip):
    env = GoHomeGrid(slip)
    env.reset(seed=0)
    mdp = env.table()
    samples = 400 if slip else 1
    for state in np.flatnonzero(~mdp.terminal)[:: 4 if slip else 1]:
        for action in range(len(MOVES)):
            counts, rewards = np.zeros(CELLS.size), 0.0
            for _ in range(samples):
                env.state = state
                obs, reward, terminated, _, _ = env.step(action)
                counts[env.state] += 1 / samples
                rewards += reward / samples
                assert terminated == mdp.terminal[env.state] and env.observation_space.contains(obs)
            np.testing.assert_allclose(counts, mdp.transitions[state, action], atol=0.12 if slip else 0)
            np.testing.assert_allclose(rewards, mdp.rewards[state, action], atol=1.5 if slip else 1e-12)


def test_grid_neighbours_by_hand():
    assert (neighbours(0) == np.eye(CELLS.size, dtype=bool)).all()
    assert set(np.flatnonzero(neighbours(1)[0])) == {0, 1, 8, 9}
    assert neighbours(1)[9].sum() == 9 and (neighbours(2) == neighbours(2).T).all()
    assert neighbours(7).all() and not neighbours(6).all()
