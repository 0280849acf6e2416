"""MuJoCo tasks on the batch of simulations: Gymnasium's to the last bit, and independent of threads."""

import re
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

from wocar.envs import make_env, make_gymnasium_env
from wocar.envs.mujoco.models import load_model
from wocar.envs.mujoco.tasks import TASKS
from wocar.types import Step, VectorEnv

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
IN_GYMNASIUM = [id for id in TASKS if not id.endswith("-v3")]
NEVER_UNHEALTHY = ("HalfCheetah", "Swimmer", "HumanoidStandup", "Reacher", "Pusher")


def out_of_range(env: VectorEnv, steps: int, seed: int = 0) -> np.ndarray:
    """Actions (steps, n, size), wild and tame by turns, so that bodies fall and stand up to the time limit."""
    high = env.spec.actions.high
    assert high is not None
    actions = np.random.default_rng(seed).uniform(-1.5, 1.5, (steps, env.n, env.spec.actions.size)) * high
    actions[::2] *= 0.2
    return actions.astype(np.float32)


def same(a: Step, b: Step) -> None:
    for name, x, y in zip(Step._fields, a, b, strict=True):
        np.testing.assert_array_equal(x, y, err_msg=name)


@pytest.mark.parametrize("id", IN_GYMNASIUM)
def test_every_step_is_gymnasiums(id: str) -> None:
    """From the same seeds: observations, rewards, ends, openings and time limits, bit for bit."""
    ours, theirs = (make_env(id, 2, 3, backend=backend) for backend in ("mujoco", "gymnasium"))
    assert ours.spec.obs_shape == theirs.spec.obs_shape and ours.spec.max_steps == theirs.spec.max_steps
    for bound, other in zip(ours.spec.actions, theirs.spec.actions, strict=True):
        np.testing.assert_array_equal(bound, other)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    limited = id.startswith(("Reacher", "Pusher", "Swimmer", "HalfCheetah"))
    terminated = truncated = 0
    for actions in out_of_range(ours, 1 + ours.spec.max_steps if limited else 300):
        step = ours.step(actions)
        same(step, theirs.step(actions))
        terminated, truncated = terminated + step.terminated.sum(), truncated + step.truncated.sum()
    assert (terminated > 2) == (not id.startswith(NEVER_UNHEALTHY))
    assert (truncated > 0) == limited


def test_contact_forces_are_shown() -> None:
    env = make_env("Ant-v4", 2, 0)
    assert env.spec.obs_shape == (111,) and make_env("Ant27-v4", 2, 0).spec.obs_shape == (27,)
    assert not env.reset()[:, 27:].any()
    forces = np.array([env.step(actions).obs[:, 27:] for actions in out_of_range(env, 30)])
    assert np.abs(forces).max() == 1 and (forces.any(axis=(0, 2))).all()


@pytest.mark.parametrize("id", ["Hopper-v4", "Ant-v4", "Humanoid-v5", "Reacher-v4"])
def test_threads_and_company_do_not_matter(id: str) -> None:
    """One thread or three, three environments or one."""
    one, many, alone = (make_env(id, n, 0, threads=threads) for n, threads in ((3, 1), (3, 3), (1, 2)))
    first = one.reset()
    np.testing.assert_array_equal(first, many.reset())
    np.testing.assert_array_equal(first[:1], alone.reset())
    for actions in out_of_range(one, 60):
        step = one.step(actions)
        same(step, many.step(actions))
        same(Step(*(None if x is None else x[:1] for x in step)), alone.step(actions[:1]))


@pytest.mark.parametrize("id", ["Walker2d-v5", "Ant-v5", "HumanoidStandup-v4", "Reacher-v4"])
def test_some_of_them_in_any_order(id: str) -> None:
    whole, parts = make_env(id, 4, 0), make_env(id, 4, 0)
    np.testing.assert_array_equal(whole.reset(), parts.reset())
    for t, actions in enumerate(out_of_range(whole, 60)):
        together = whole.step(actions)
        for ids in ([3, 1], [0, 2]) if t % 2 else ([2], [1, 0, 3]) if t % 3 else ([3, 1, 0, 2],):
            same(parts.step(actions[ids], np.array(ids)), Step(*(x if x is None else x[ids] for x in together)))


def test_what_is_returned_stays() -> None:
    """Arrays of a step are not written to by the next."""
    env = make_env("Hopper-v4", 2, 0)
    kept = [env.reset()]
    copies = [kept[0].copy()]
    for actions in out_of_range(env, 60):
        step = env.step(actions)
        kept += [x for x in step if x is not None]
        copies += [x.copy() for x in step if x is not None]
    for x, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(x, copy)


@pytest.mark.parametrize("name", sorted({task.model for task in TASKS.values()}))
def test_models_make_the_contacts_of_their_files(name: str) -> None:
    """Predefined pairs touch with the same parameters as MuJoCo's own search finds, robots thrown at the floor."""
    quick = load_model(name)
    file = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / name
    slow = mujoco.MjModel.from_xml_string(re.sub(r' settotalmass="\d+"', "", file.read_text()))
    rng, touched = np.random.default_rng(0), 0
    for _ in range(200):
        ours, theirs = mujoco.MjData(quick), mujoco.MjData(slow)
        pose = slow.qpos0 + rng.normal(size=slow.nq) * rng.choice([0.1, 0.5])
        for model, data in ((quick, ours), (slow, theirs)):
            data.qpos[:] = pose
            mujoco.mj_fwdPosition(model, data)
        assert ours.ncon == theirs.ncon
        touched += ours.ncon
        for field in ("geom", "dist", "pos", "frame", "includemargin", "friction", "solref", "solimp", "dim"):
            np.testing.assert_array_equal(getattr(ours.contact, field), getattr(theirs.contact, field), err_msg=field)
    assert touched > 50 or name in ("reacher.xml", "swimmer.xml")
    assert bool(quick.npair) == name.startswith(("hopper", "walker2d", "half_cheetah", "ant"))


def test_loading_is_silent(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo warns of what is old in Gymnasium's files, and writes it to a log where one stands."""
    monkeypatch.chdir(tmp_path)
    load_model.cache_clear()
    make_env("HalfCheetah-v4", 1, 0).reset()
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())


def test_the_paper_s_ant_is_the_one_that_is_drawn() -> None:
    assert make_gymnasium_env("Ant-v4").observation_space.shape == (111,)
    assert make_gymnasium_env("Ant27-v4").observation_space.shape == (27,)
