"""Models in memory, hub folders, checkpoints, gSDE and activations, compared with Stable-Baselines3 itself."""

import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import wocar
from wocar.bounds import Ball, network_bounds
from wocar.cli import main
from wocar.interop import findings, load
from wocar.interop.hub_folder import yaml_pairs
from wocar.types import UserError

sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from stable_baselines3.common.callbacks import CheckpointCallback  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

pytestmark = pytest.mark.oracle
ENV = "Pendulum-v1"
OBS = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32) * [1, 1, 4]


def model_of(algorithm: str, normalised: bool = False, seed: int = 0, **options: Any) -> Any:
    env: Any = DummyVecEnv([lambda: gymnasium.make(ENV)])
    rng = np.random.default_rng(seed)
    if normalised:
        env = VecNormalize(env, clip_obs=1.5)
        env.obs_rms.mean, env.obs_rms.var = rng.normal(size=3), rng.uniform(0.2, 3.0, 3)
    more = {"n_steps": 4, "batch_size": 4, "n_epochs": 1} if algorithm == "PPO" else {"buffer_size": 8}
    kwargs = {"net_arch": [8, 6], **options.pop("policy_kwargs", {})}
    model = getattr(sb3, algorithm)("MlpPolicy", env, policy_kwargs=kwargs, device="cpu", **more, **options)
    torch.manual_seed(seed)
    with torch.no_grad():
        for weight in model.policy.parameters():
            weight.copy_(torch.randn(weight.shape) / (weight[0].numel() if weight.ndim > 1 else 4) ** 0.5)
    return model


def actions(model: Any) -> np.ndarray:
    env = model.get_vec_normalize_env()
    return model.predict(env.normalize_obs(OBS) if env else OBS.astype(np.float32), deterministic=True)[0]


@pytest.mark.parametrize(
    ("algorithm", "normalised", "options"),
    [
        ("PPO", True, {"use_sde": True}),
        ("SAC", False, {"use_sde": True}),
        ("SAC", True, {}),
        ("TD3", False, {"policy_kwargs": {"activation_fn": torch.nn.ELU}}),
        ("PPO", False, {"policy_kwargs": {"activation_fn": torch.nn.LeakyReLU}}),
        ("PPO", False, {"policy_kwargs": {"activation_fn": torch.nn.SiLU}}),
        ("SAC", False, {"policy_kwargs": {"activation_fn": torch.nn.GELU}}),
    ],
)
def test_a_model_in_memory_acts_the_same(algorithm: str, normalised: bool, options: dict, tmp_path: Path) -> None:
    model = model_of(algorithm, normalised, **options)
    agent = wocar.load(model)
    assert agent.spec.id == ENV
    expected = actions(model)
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(agent.predict(OBS)[0], expected, atol=1e-5)
    agent.save(tmp_path / "agent")
    np.testing.assert_allclose(wocar.load(tmp_path / "agent").predict(OBS)[0], expected, atol=1e-5)
    z = agent.normaliser(OBS)
    lower, upper = network_bounds(agent.policy.network, Ball(0.0), z, "crown")
    np.testing.assert_allclose(lower, agent.head(z), atol=1e-4)
    np.testing.assert_allclose(upper, agent.head(z), atol=1e-4)
    assert ("observations are normalised" in findings(agent)[0]) == normalised


def test_a_model_is_audited(tmp_path: Path) -> None:
    model = model_of("PPO", True)
    result = wocar.audit(model, attacks=["none", "random"], eps=0.1, episodes=1, out=tmp_path)
    assert result["env"] == ENV
    assert result["meta"]["normaliser"] == "the model's own VecNormalize"
    with pytest.raises(UserError, match="a list is not an agent"):
        wocar.load([])
    wocar.export(model, "sb3", tmp_path / "back.zip")
    again = sb3.PPO.load(tmp_path / "back.zip", device="cpu")
    norm = VecNormalize.load(str(tmp_path / "back_vec_normalize.pkl"), DummyVecEnv([lambda: gymnasium.make(ENV)]))
    found = again.predict(norm.normalize_obs(OBS), deterministic=True)[0]
    np.testing.assert_allclose(found, actions(model), atol=1e-5)


ARGS = """!!python/object/apply:collections.OrderedDict
- - - algo
    - ppo
  - - env
    - Pendulum-v1
  - - env_kwargs
    - null
"""
CONFIG = """!!python/object/apply:collections.OrderedDict
- - - batch_size
    - 64
  - - frame_stack
    - 4
  - - normalize
    - '{''norm_obs'': True}'
  - - env_wrapper
    - sb3_contrib.common.wrappers.TimeFeatureWrapper
"""


def test_a_hub_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = model_of("PPO", True)
    model.save(tmp_path / "ppo-agent.zip")
    model.get_vec_normalize_env().save(str(tmp_path / "vec_normalize.pkl"))
    with zipfile.ZipFile(tmp_path / "train_eval_metrics.zip", "w") as other:
        other.writestr("evaluations.npz", "")
    (tmp_path / "args.yml").write_text(ARGS)
    (tmp_path / "config.yml").write_text(CONFIG)
    (tmp_path / "env_kwargs.yml").write_text("g: 9.5\n")
    agent = wocar.load(tmp_path)
    assert agent.spec.id == ENV
    np.testing.assert_allclose(agent.predict(OBS)[0], actions(model), atol=1e-5)
    said = findings(agent)
    assert said[0] == "observations are normalised by vec_normalize.pkl"
    assert [line for line in said if "TimeFeatureWrapper, which is not applied" in line]
    assert [line for line in said if "frame_stack 4" in line]
    assert [line for line in said if "'g': 9.5" in line]
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(tmp_path), "--attacks", "none", "--eps", "0.1", "--episodes", "1"])
    assert not stop.value.code
    assert "normalised by vec_normalize.pkl" in capsys.readouterr().err
    shutil.copy(tmp_path / "ppo-agent.zip", tmp_path / "second.zip")
    with pytest.raises(UserError, match=r"several agents: name one of ppo-agent\.zip, second\.zip"):
        wocar.load(tmp_path)


def test_a_zip_without_statistics_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model_of("PPO").save(tmp_path / "x.zip")
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(tmp_path / "x.zip"), "--env", ENV, "--attacks", "none", "--eps", "0.1", "--episodes", "1"])
    assert not stop.value.code
    assert "no VecNormalize statistics given or found" in capsys.readouterr().err
    words = [str(tmp_path / "x.zip"), "--env", ENV, "--out", str(tmp_path / "out")]
    for command, code in ((["export", "--to", "sb3"], 0), (["harden", "--keep-natural", "90"], 2)):
        with pytest.raises(SystemExit) as stop:
            main([*command, *words])
        said = capsys.readouterr().err
        assert (stop.value.code or 0) == code
        assert "no VecNormalize statistics given or found" in said
    assert "--keep-natural must be a share between 0 and 1, not 90" in said


def test_checkpoints_find_the_statistics_of_their_step(tmp_path: Path) -> None:
    model = model_of("PPO", True)
    model.learn(16, CheckpointCallback(8, str(tmp_path), "run", save_vecnormalize=True))
    assert {file.name for file in tmp_path.iterdir()} == {
        *("run_8_steps.zip", "run_16_steps.zip"),
        *("run_vecnormalize_8_steps.pkl", "run_vecnormalize_16_steps.pkl"),
    }
    for step in (8, 16):
        agent = load(tmp_path / f"run_{step}_steps.zip", ENV)
        assert agent.meta["normaliser"] == f"run_vecnormalize_{step}_steps.pkl"
    saved = sb3.PPO.load(tmp_path / "run_16_steps.zip", device="cpu")
    saved.set_env(model.get_vec_normalize_env())
    np.testing.assert_allclose(agent.predict(OBS)[0], actions(saved), atol=1e-5)


def test_yaml_pairs_are_plain_values() -> None:
    assert yaml_pairs(CONFIG)["normalize"] == "{''norm_obs'': True}"
    text = "a: 1\nb: 0.5\nc: true\nd: null\ne: 'x'\nf:\n  - 1\ng: !!python/object/apply:os.system ['id']\n"
    found = yaml_pairs(text)
    assert {name: found[name] for name in "abcde"} == {"a": 1, "b": 0.5, "c": True, "d": None, "e": "x"}
    assert found["g"].startswith("!!python")  # text, and nothing else
    assert yaml_pairs("{}\n") == {} and yaml_pairs("a:   \nb: x y\n") == {"a": None, "b": "x y"}
    assert yaml_pairs(CONFIG)["batch_size"] == 64
    first = (
        "!!python/object/apply:collections.OrderedDict\n- - - env_wrapper\n    - - a.Wrapper\n  - - n_envs\n    - 4\n"
    )
    assert yaml_pairs(first) == {"env_wrapper": "a.Wrapper", "n_envs": 4}


LONG = {"empty": "\n", "blank": " \n", "keys": "- - a\n", "pairs": "a: b\n", "spaces": " ", "signs": "- ", "digit": "9"}


@pytest.mark.parametrize("part", LONG.values(), ids=LONG)
def test_settings_take_time_by_their_length_only(part: str) -> None:
    start = time.process_time()
    for head in ("", "- - a\n", "a: "):
        yaml_pairs(head + part * (2**20 // len(part)))
    assert time.process_time() - start < 5  # hours, where empty lines were tried from each of them


class Arm(gymnasium.Env):
    """Pendulum's numbers as a dictionary."""

    observation_space = gymnasium.spaces.Dict(
        {name: gymnasium.spaces.Box(-9, 9, size) for name, size in {"velocity": (1,), "angle": (1, 2)}.items()}
    )
    action_space = gymnasium.spaces.Box(-2, 2, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}


@pytest.mark.parametrize("algorithm", ["PPO", "SAC"])
def test_a_dictionary_is_seen_as_gymnasium_flattens_it(algorithm: str) -> None:
    env = VecNormalize(DummyVecEnv([Arm]), clip_obs=1.5)
    rng, space = np.random.default_rng(1), Arm.observation_space
    for name, moments in env.obs_rms.items():
        moments.mean, moments.var = rng.normal(size=space[name].shape), rng.uniform(0.2, 3, space[name].shape)
    more = {"n_steps": 4, "batch_size": 4} if algorithm == "PPO" else {"buffer_size": 8}
    model = getattr(sb3, algorithm)("MultiInputPolicy", env, policy_kwargs={"net_arch": [8]}, device="cpu", **more)
    agent = wocar.load(model, env=ENV)
    seen = [space.sample() for _ in range(20)]
    theirs = model.predict(
        env.normalize_obs({name: np.stack([o[name] for o in seen]) for name in space}), None, None, True
    )
    flat = np.stack([gymnasium.spaces.flatten(space, o) for o in seen])
    np.testing.assert_allclose(agent.predict(flat)[0], theirs[0], atol=1e-5)
    del env.obs_rms["angle"]
    with pytest.raises(UserError, match="does not normalise angle"):
        wocar.load(model, env=ENV)
