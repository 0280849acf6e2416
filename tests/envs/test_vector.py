"""One interface: same physics, one meaning of step, truncation and auto-reset, whoever simulates."""

import sys

import gymnasium
import numpy as np
import pytest

from wocar.envs import env_seeds, env_spec, make_env
from wocar.envs.vector import GymnasiumVector
from wocar.types import Step, UserError, VectorEnv

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")


def uniform(env: VectorEnv, seed: int, size: int) -> np.ndarray:
    """Actions (size, n, ...) that any environment takes."""
    rng, n = np.random.default_rng(seed), env.n
    if env.spec.actions.discrete:
        return rng.integers(0, env.spec.actions.size, (size, n))
    return rng.uniform(-1, 1, (size, n, env.spec.actions.size)).astype(np.float32)


def same(a: Step, b: Step) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def put_state(env: VectorEnv, obs: np.ndarray, hidden: int) -> None:
    """Set the one MuJoCo environment to what an observation shows; `hidden` leading positions count as 0."""
    simulations = env._simulations  # type: ignore[attr-defined]
    shown = simulations.model.nq - hidden
    simulations.qpos[0, :hidden], simulations.qpos[0, hidden:] = 0, obs[:shown]
    simulations.qvel[0] = obs[shown : shown + simulations.model.nv]
    simulations.refresh(np.array([0]))


@pytest.mark.parametrize(
    ("id", "steps", "tolerance"),
    [("Hopper-v3", 60, 1e-11), ("Walker2d-v3", 60, 1e-9), ("HalfCheetah-v3", 30, 1e-9), ("Hopper-v5", 60, 1e-11)],
)
def test_envpool_agrees_on_planar_tasks(id: str, steps: int, tolerance: float) -> None:
    """Until chaos has grown rounding errors to the tolerance; EnvPool has an older MuJoCo."""
    pytest.importorskip("envpool")
    pool, env = (make_env(id, 1, 3, threads=1, backend=backend) for backend in ("envpool", "mujoco"))
    env.reset()
    put_state(env, pool.reset()[0], hidden=1)
    terminated = False
    for actions in uniform(pool, 0, steps):
        theirs, ours = pool.step(actions), env.step(actions)
        np.testing.assert_allclose(ours.obs, theirs.obs, atol=tolerance, rtol=tolerance)
        np.testing.assert_allclose(ours.rewards, theirs.rewards, atol=1e-5, rtol=1e-5)
        assert (ours.terminated, ours.truncated) == (theirs.terminated, theirs.truncated)
        if terminated := bool(ours.terminated[0]):
            break
    assert terminated == (not id.startswith("HalfCheetah"))


@pytest.mark.parametrize(("id", "size"), [("Ant-v3", 111), ("Ant-v5", 105), ("Humanoid-v3", 376)])
def test_envpool_agrees_on_contact_forces(id: str, size: int) -> None:
    """Step by step from EnvPool's state, because trajectories part: EnvPool brings MuJoCo 3.6, and MuJoCo 4 turns free
    bodies otherwise (1e-7 in one step, more in contact; under MuJoCo 3.6 a hundred steps agree to 1e-8). A foot that
    touches ground a moment earlier is rare and allowed.
    """
    pytest.importorskip("envpool")
    pool, env = (make_env(id, 1, 3, threads=1, backend=backend) for backend in ("envpool", "mujoco"))
    env.reset()
    obs = pool.reset()[0]
    assert obs.shape == env.spec.obs_shape == (size,)
    errors, forces = [], []
    for actions in 0.4 * uniform(pool, 0, 40):
        put_state(env, obs, hidden=2)
        theirs, ours = pool.step(actions), env.step(actions)
        obs = theirs.obs[0]
        errors.append(np.abs(obs - ours.obs[0]).max())
        forces.append(np.any(obs[-78:]))
        np.testing.assert_allclose(ours.rewards, theirs.rewards, atol=0.1)
        assert ours.terminated == theirs.terminated
        if ours.terminated[0]:
            break
    assert errors[0] < 1e-5
    assert np.median(errors) < 1e-3
    assert np.mean(np.array(errors) > 1e-2) < 0.1
    assert np.mean(forces) > 0.2


BOTH = [("Hopper-v4", "mujoco"), ("Hopper-v4", "gymnasium"), ("CartPole-v1", "auto"), ("Pendulum-v1", "auto")]


@pytest.mark.parametrize(("id", "backend"), BOTH)
def test_the_same_seed_gives_the_same_trajectory_and_another_another(id: str, backend: str) -> None:
    a, b, c = (make_env(id, 3, seed, backend=backend) for seed in (7, 7, 8))
    first = a.reset()
    np.testing.assert_array_equal(first, b.reset())
    assert np.all(np.any(first != c.reset(), axis=1))
    assert len({row.tobytes() for row in first}) == 3
    for actions in uniform(a, 0, 60):
        same(a.step(actions), b.step(actions))


@pytest.mark.parametrize(("id", "backend"), BOTH[:3])
def test_a_reset_follows_each_end_and_is_marked(id: str, backend: str) -> None:
    env = make_env(id, 4, 0, backend=backend)
    opening = env.reset()
    ended, resets = np.zeros(4, bool), 0
    for actions in uniform(env, 0, 120):
        step = env.step(actions)
        np.testing.assert_array_equal(step.is_reset, ended)
        assert np.all(np.abs(step.obs[step.is_reset] - opening[:1]) < 0.2)  # an opening, never the last state
        assert not np.any((step.terminated | step.truncated) & step.is_reset)
        assert not np.any(step.rewards[step.is_reset])
        ended, resets = step.terminated | step.truncated, resets + int(step.is_reset.sum())
    assert resets > 4


@pytest.mark.parametrize(("id", "backend"), [("HalfCheetah-v4", "mujoco"), ("Pendulum-v1", "gymnasium")])
def test_a_time_limit_truncates_and_shows_the_true_last_observation(id: str, backend: str) -> None:
    env = make_env(id, 1, 0, backend=backend)
    assert env.spec.max_steps == (1000 if backend == "mujoco" else 200)
    obs, still = env.reset(), np.zeros((1, env.spec.actions.size), np.float32)
    for t in range(env.spec.max_steps):
        step = env.step(still)
        assert not step.terminated[0]
        assert step.truncated[0] == (t == env.spec.max_steps - 1)
        before, obs = obs, step.obs
    if backend == "mujoco":  # the resting cheetah has all but stopped, an opening is drawn anew
        np.testing.assert_allclose(obs, before, atol=1e-2)
        assert np.abs(env.step(still).obs - obs).max() > 0.05


@pytest.mark.parametrize("id", ["Hopper-v4", "CartPole-v1"])
def test_stepping_some_environments_leaves_the_others_alone(id: str) -> None:
    whole, parts = make_env(id, 4, 0), make_env(id, 4, 0)
    np.testing.assert_array_equal(whole.reset(), parts.reset())
    for t, actions in enumerate(uniform(whole, 0, 40)):
        together = whole.step(actions)
        for ids in ([3, 1], [0, 2]) if t % 2 else ([2], [1, 0, 3]):
            some = parts.step(actions[ids], np.array(ids, np.int32))
            same(some, Step(*(x if x is None else x[ids] for x in together)))


def test_seeds_belong_to_one_environment_each() -> None:
    assert env_seeds(0, 8)[:4] == env_seeds(0, 4)
    assert len({*env_seeds(0, 50), *env_seeds(1, 50), *env_seeds(0, 50, stream=1)}) == 150
    few, many = make_env("Hopper-v4", 2, 0), make_env("Hopper-v4", 5, 0)
    np.testing.assert_array_equal(few.reset(), many.reset()[:2])
    assert np.any(make_env("Hopper-v4", 2, 0, stream=1).reset() != few.reset())


class Own(gymnasium.Env):
    """A user's environment: shows the action it got; ends after three steps."""

    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 2, (1,), np.float32)

    def __init__(self, **spaces: gymnasium.Space) -> None:
        self.__dict__.update(spaces)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        self.t = 0
        return np.zeros(2), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        return np.array([self.t, action[0]]), 2.0, self.t == 3, self.t == 3, {}


gymnasium.register("Own-v0", Own)
SPACES = {
    "Tuple": {"observation_space": gymnasium.spaces.Tuple([Own.observation_space])},
    "MultiDiscrete": {"action_space": gymnasium.spaces.MultiDiscrete([2, 2])},
    "MultiBinary": {"action_space": gymnasium.spaces.MultiBinary(2)},
    "start=1": {"action_space": gymnasium.spaces.Discrete(3, start=1)},
    "2, 2": {"action_space": gymnasium.spaces.Box(-1, 1, (2, 2))},
}
for k, spaces in enumerate(SPACES.values()):
    gymnasium.register(f"Odd{k}-v0", Own, kwargs=spaces)


def test_a_users_own_environment() -> None:
    env = make_env("Own-v0", 2, 0)
    assert isinstance(env.inner, GymnasiumVector)
    assert env.spec.obs_shape == (2,)
    assert env.spec.max_steps is None
    assert not env.spec.actions.discrete
    np.testing.assert_array_equal(env.reset(), np.zeros((2, 2)))
    step = env.step(np.array([[5.0], [-5.0]]))
    np.testing.assert_array_equal(step.obs, [[1, 2], [1, -1]])  # actions are cut to the range
    np.testing.assert_array_equal(step.rewards, [2, 2])
    env.step(np.zeros((1, 1)), np.array([0]))
    step = env.step(np.zeros((2, 1)))
    np.testing.assert_array_equal(step.terminated, [True, False])
    np.testing.assert_array_equal(step.truncated, [False, False])  # what has terminated is not truncated
    np.testing.assert_array_equal(step.obs[:, 0], [3, 2])
    step = env.step(np.ones((2, 1)))
    np.testing.assert_array_equal(step.is_reset, [True, False])
    np.testing.assert_array_equal(step.obs, [[0, 0], [3, 1]])


def test_mujoco_actions_are_not_cut() -> None:
    """The control cost sees the action itself."""
    big = np.full((1, 6), 3.0, np.float32)
    for backend in ("mujoco", "gymnasium"):
        env = make_env("HalfCheetah-v4", 1, 0, backend=backend)
        env.reset()
        assert env.step(big).rewards[0] < -0.1 * 6 * 3.0**2 + 2


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("Nowhere-v0", "unknown environment 'Nowhere-v0'"),
        ("Hopper-v99", "unknown environment"),
        ("no_such_module:Thing-v0", "would import the module"),
        ("not an id", "unknown environment"),
        *((f"Odd{k}-v0", f"not supported: .*{word}") for k, word in enumerate(SPACES)),
    ],
)
def test_an_environment_that_cannot_be_used_is_told_in_one_line(id: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as error:
        env_spec(id)
    assert "\n" not in str(error.value)


def test_envpool_without_the_task_is_told() -> None:
    pytest.importorskip("envpool")
    with pytest.raises(UserError, match="EnvPool has no environment 'CartPole-v9'"):
        make_env("CartPole-v9", 1, 0, backend="envpool")


def test_without_envpool_everything_else_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "envpool", None)
    for id in ("Hopper-v4", "CartPole-v1", "Pong-v5"):
        make_env(id, 1, 0).reset()
    with pytest.raises(UserError, match=r"pip install 'wocar\[envpool\]'"):
        make_env("Pong-v5", 1, 0, backend="envpool")


@pytest.mark.parametrize("id", ["Hopper-v2", "Pusher-v4", "LunarLander-v3"])
def test_what_needs_another_package_is_told(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(UserError, match="needs a package that is not installed") as error:
        make_env(id, 1, 0, backend="gymnasium")
    assert "\n" not in str(error.value)
