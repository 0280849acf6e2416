"""Recordings: what is drawn beside a frame, what a GIF says of itself, and the command on real environments."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from PIL import Image

from wocar.agent import Agent, load_agent
from wocar.cli import main as train
from wocar.cli.record_command import main
from wocar.envs import env_spec
from wocar.envs.render import make_rendered, offscreen_backend
from wocar.evaluation.attack_registry import attack_by_name
from wocar.evaluation.recording import episode
from wocar.evaluation.worst_case import importance
from wocar.networks import (
    CategoricalPolicy,
    GaussianPolicy,
    PixelNormaliser,
    RunningNormaliser,
    ScaledNormaliser,
    linear,
)
from wocar.networks.layers import ACTIVATIONS
from wocar.report.clips import DOWN, PAPER, UP, bars, pixels, read_clip, still, write_clip
from wocar.threat import Threat
from wocar.training.run_folder import load_run_agent
from wocar.types import UserError


def homing(folder: Path) -> Path:
    """Walks to the right on the plane of go_home, whatever it sees; an attack may tilt it."""
    policy = GaussianPolicy(
        eqx.nn.Sequential([linear(np.array([[0.0, 0.0], [0.0, -2.0]]), np.array([1.0, 0.0]))]), jax.numpy.zeros(2)
    )
    agent = Agent(env_spec("GoHome-v0"), ScaledNormaliser.identity((2,)), policy, {}, {"method": "ppo", "eps": 0.1})
    agent.save(folder)
    return folder


def test_bars_point_where_the_perturbation_goes() -> None:
    panel = bars(np.array([1.0, -0.5, 0.0]), 200, ["a", "b"])
    assert panel.shape[0] == 200
    up, down = (np.argwhere((panel == colour).all(-1)) for colour in (UP, DOWN))
    middle = (24 + panel.shape[1] - 12) / 2
    assert up[:, 1].min() >= middle - 1 and down[:, 1].max() <= middle + 1
    assert np.ptp(up[:, 1]) == pytest.approx(2 * np.ptp(down[:, 1]), abs=3)
    assert up[:, 0].max() < down[:, 0].min()


def test_pixels_magnify() -> None:
    clean = np.full((84, 84), 0.5, np.float32)
    shown = clean.copy()
    shown[:42] += 1 / 255
    picture = pixels(clean, shown, 1 / 255, [])
    third = picture[:, 2 * 248 + 20 : 2 * 248 + 220]
    assert (third[40] == 255).all() and (third[200] == 128).all()
    assert (picture[:, 0] == PAPER).any()


def test_a_gif_says_what_it_shows(tmp_path: Path) -> None:
    about = {"env": "Hopper-v4", "attack": "maxdiff", "eps": 0.075, "command": "x" * 600}
    frames = [np.roll(np.eye(20, 30, dtype=np.uint8)[..., None].repeat(3, -1) * 255, i, axis=1) for i in range(7)]
    write_clip(tmp_path / "a.gif", frames, about)
    found = read_clip(tmp_path / "a.gif")
    assert (found.about, found.env) == (about, "Hopper-v4")
    with Image.open(tmp_path / "a.gif") as image:
        assert (image.n_frames, image.size) == (7, (30, 20))
    assert still(tmp_path / "a.gif").startswith(b"\x89PNG")
    (tmp_path / "b.gif").write_bytes(b"GIF89a")
    assert read_clip(tmp_path / "b.gif").about == {}


def test_an_episode_is_attacked_inside_the_ball(tmp_path: Path) -> None:
    agent = load_agent(homing(tmp_path / "agent"))
    attack = attack_by_name("maxdiff", agent, Threat(0.1), 0)
    moments = list(episode(agent, make_rendered("GoHome-v0", 3), attack, Threat(0.1), 3, 12))
    assert [m.step for m in moments] == list(range(13))
    assert all(np.abs(m.shown - m.z).max() <= 0.1 + 1e-6 for m in moments)
    assert max(np.abs(m.shown - m.z).max() for m in moments) == pytest.approx(0.1, abs=1e-5)
    clean = list(episode(agent, make_rendered("GoHome-v0", 3), None, Threat(0.0), 3, 500))
    assert all((m.shown == m.z).all() for m in clean)
    assert clean[-1].step < 100 and clean[-1].total > 5  # it comes home, and the last moment is shown
    np.testing.assert_array_equal(moments[0].z, clean[0].z)
    assert not np.array_equal(moments[0].frame, clean[0].frame)  # where it believes itself to be is drawn


def test_the_command_on_go_home(tmp_path: Path) -> None:
    agent, out = homing(tmp_path / "agent"), tmp_path / "clip.gif"
    assert main([str(agent), "--attack", "random", "--steps", "6", "--seed", "5", "--out", str(out)]) == 0
    about = read_clip(out).about
    assert (about["env"], about["attack"], about["eps"], about["steps"]) == ("GoHome-v0", "random", 0.1, 6)
    with Image.open(out) as image:
        assert image.n_frames == 7


def test_atari(tmp_path: Path) -> None:
    spec = env_spec("Pong-v5")
    size = int(np.prod(spec.obs_shape))
    weights = np.random.default_rng(0).normal(size=(spec.actions.size, size)) / size
    network = eqx.nn.Sequential([eqx.nn.Lambda(ACTIVATIONS["flatten"]), linear(weights, np.zeros(spec.actions.size))])
    Agent(spec, PixelNormaliser(), CategoricalPolicy(network), {}, {"method": "dqn"}).save(tmp_path / "agent")
    out = tmp_path / "pong.gif"
    assert (
        main([str(tmp_path / "agent"), "--attack", "minbest", "--eps", "0.01", "--steps", "4", "--out", str(out)]) == 0
    )
    with Image.open(out) as image:
        assert image.n_frames == 5 and image.size[0] > 2.9 * 240


def test_mujoco(tmp_path: Path) -> None:
    try:
        offscreen_backend()
    except UserError as error:
        pytest.skip(str(error))
    spec = env_spec("Hopper-v4")
    policy = GaussianPolicy.create(11, 3, jax.random.key(0), (8,))
    Agent(spec, RunningNormaliser.create((11,)), policy, {}, {"method": "ppo"}).save(tmp_path / "agent")
    out = tmp_path / "hopper.gif"
    assert main([str(tmp_path / "agent"), "--attack", "random", "--steps", "10", "--out", str(out)]) == 0
    with Image.open(out) as image:
        assert image.n_frames == 3
        frame = np.asarray(image.convert("RGB"))
    assert frame[:, :240].std() > 5  # something is to be seen


def test_the_camera_follows() -> None:
    try:
        offscreen_backend()
    except UserError as error:
        pytest.skip(str(error))
    rendered = make_rendered("Hopper-v4", 0)
    obs = rendered.env.reset()
    body = rendered.frame(obs[0])[60:180, 80:160]
    simulation = rendered.env.envs[0].unwrapped
    simulation.set_state(simulation.data.qpos + np.array([9.0, 0, 0, 0, 0, 0]), simulation.data.qvel)
    after = rendered.frame(obs[0])[60:180, 80:160]
    orange = [np.mean(picture[..., 0] > 2.0 * picture[..., 2] + 20) for picture in (body, after)]
    assert orange[0] > 0.02 and orange[1] == pytest.approx(orange[0], rel=0.3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "clip.avi"], "must end in .gif or .mp4"),
        (["--out", "no/clip.gif"], "its folder does not exist"),
        (["--steps", "0"], "--steps must be positive"),
        (["--eps", "-1"], "--eps must be a number from 0 up"),
        (["--attack", "nonsense"], "unknown attack 'nonsense'"),
        (["--attack", "sa-rl"], "must be trained first"),
        (["--attack", "action-random"], "does not change what the agent sees"),
        (["--attack", "minbest"], "does not apply"),
    ],
)
def test_mistakes_are_one_line(options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=words) as told:
        main([str(homing(tmp_path / "agent")), *options])
    assert "\n" not in str(told.value)


def test_importance_of_wocar_dqn(tmp_path: Path) -> None:
    """By the values without an attacker, which weigh its regulariser."""
    tiny = ["--n-envs", "4", "--learning-starts", "24", "--batch-size", "4", "--buffer-size", "100", "--steps", "48"]
    with pytest.raises(SystemExit) as stop:
        train(["train", "wocar-dqn", "--env", "Pong-v5", "--preset", "small", *tiny, "--out", str(tmp_path / "run")])
    assert not stop.value.code
    out = tmp_path / "states.png"
    assert main([str(tmp_path / "run"), "--importance", "--steps", "12", "--out", str(out)]) == 0
    with Image.open(out) as image:
        assert np.asarray(image.convert("RGB")).std() > 5
    agent = load_run_agent(tmp_path / "run")
    z = np.random.default_rng(0).random((3, *agent.spec.obs_shape), np.float32)
    q = np.asarray(agent.critics["natural"](z))
    np.testing.assert_allclose(importance(agent, Threat(0.1), z), np.ptp(q, axis=-1), rtol=1e-5)


@pytest.mark.skipif(find_spec("pygame") is not None, reason="pygame is installed")
def test_a_missing_library_of_drawing_is_one_line(tmp_path: Path) -> None:
    policy = CategoricalPolicy(eqx.nn.Sequential([linear(np.zeros((2, 4)), np.zeros(2))]))
    Agent(env_spec("CartPole-v1"), ScaledNormaliser.identity((4,)), policy, {}, {}).save(tmp_path / "agent")
    with pytest.raises(UserError, match="CartPole-v1 cannot be drawn: pygame is not installed"):
        main([str(tmp_path / "agent"), "--out", str(tmp_path / "clip.gif")])


def test_mp4_by_ffmpeg_or_not_at_all(tmp_path: Path) -> None:
    agent, out = homing(tmp_path / "agent"), tmp_path / "clip.mp4"
    if shutil.which("ffmpeg") is None:
        with pytest.raises(UserError, match="ffmpeg"):
            main([str(agent), "--out", str(out)])
    else:
        assert main([str(agent), "--steps", "3", "--out", str(out)]) == 0
        assert b"ftyp" in out.read_bytes()[:16]


def test_what_cannot_be_drawn_says_so() -> None:
    with pytest.raises(UserError, match="GoHomeGrid-v0 cannot be drawn"):
        make_rendered("GoHomeGrid-v0", 0)


def test_neither_egl_nor_osmesa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wocar.envs.render.BACKENDS", ("no-such-backend",))
    with pytest.raises(UserError, match="neither EGL nor OSMesa works"):
        offscreen_backend()
