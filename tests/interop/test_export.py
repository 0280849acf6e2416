"""Exported agents act as ours do, in the libraries that they are written for."""

import io
import pickle
from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wocar
from wocar.agent import Agent
from wocar.black_box import black_box
from wocar.cli import main
from wocar.interop import load
from wocar.interop.pickle_writer import PickleWriter, torch_file
from wocar.interop.torch_files import read_torch
from wocar.interop.weights import read_weights
from wocar.networks import (
    SMALL_CNN,
    ActionCritic,
    CategoricalPolicy,
    GaussianPolicy,
    GreedyPolicy,
    PixelNormaliser,
    RecurrentNetwork,
    RecurrentPolicy,
    RunningNormaliser,
    ScaledNormaliser,
    SquashedGaussianPolicy,
    SquashedPolicy,
    ValueCritic,
    cnn,
    forward,
    mlp,
)
from wocar.types import ActionSpace, EnvSpec, UserError

LOW, HIGH = np.float32([-0.5, -2]), np.float32([1, 0.5])
CONTINUOUS, DISCRETE, IMAGE = ActionSpace(2, LOW, HIGH), ActionSpace(3), (4, 36, 36)
KEYS = [jax.random.key(k) for k in range(4)]


def normaliser(rng: np.random.Generator) -> RunningNormaliser:
    """With a dimension that never moved."""
    return RunningNormaliser(rng.normal(size=5), np.append(rng.uniform(20, 900, 4), 0.0), 100.0, 2.5)


def images(n: int = 40) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (n, *IMAGE), np.uint8)


def varied_cnn(key: jax.Array) -> eqx.nn.Sequential:
    """Outputs with mean 0 over the images, so that the largest is not always the same."""
    network = cnn(IMAGE, 3, key, dense=16)
    bias = -jnp.mean(forward(network, images() / np.float32(255)), axis=0)
    return eqx.tree_at(lambda network: network.layers[-1].bias, network, bias)


def agents() -> dict[str, Agent]:
    rng = np.random.default_rng(0)
    vector, image = ("Toy-v0", (5,)), ("Toy-v0", IMAGE)
    gaussian = GaussianPolicy(mlp([5, 8, 6, 2], KEYS[0], 2.0), jnp.array([-0.5, 0.3]))
    value = ValueCritic(mlp([5, 7, 1], KEYS[1]))
    body, other = mlp([5, 8, 8, 4], KEYS[0], activation="relu"), mlp([5, 8, 2], KEYS[0], activation="relu")
    critics = {
        name: ActionCritic(mlp([7, 9, 1], key, activation="relu")).in_units(jnp.asarray(LOW), jnp.asarray(HIGH))
        for name, key in zip(("q", "q-twin"), KEYS[2:], strict=True)
    }
    plain = ScaledNormaliser.identity((5,))
    clipped = {"method": "ppo", "clip_actions": True, "reward_std": 3.0, "steps": 77, "seed": 4}
    low, high = jnp.asarray(LOW), jnp.asarray(HIGH)
    return {
        "ppo": Agent(EnvSpec(*vector, CONTINUOUS), normaliser(rng), gaussian, {"value": value}, clipped),
        "ppo-novalue": Agent(EnvSpec(*vector, CONTINUOUS), normaliser(rng), gaussian, {}, {"method": "wocar-ppo"}),
        "a2c": Agent(
            EnvSpec(*vector, DISCRETE), plain, CategoricalPolicy(mlp([5, 8, 3], KEYS[0], 2.0)), {}, {"method": "a2c"}
        ),
        "ppo-cnn": Agent(
            EnvSpec(*image, DISCRETE),
            PixelNormaliser(),
            CategoricalPolicy(varied_cnn(KEYS[0])),
            {"value": ValueCritic(cnn(IMAGE, 1, KEYS[1], dense=16))},
        ),
        "dqn": Agent(
            EnvSpec(*vector, DISCRETE), normaliser(rng), GreedyPolicy(mlp([5, 8, 8, 3], KEYS[0], activation="relu"))
        ),
        "dqn-cnn": Agent(EnvSpec(*image, DISCRETE), PixelNormaliser(), GreedyPolicy(varied_cnn(KEYS[0]))),
        "sac": Agent(EnvSpec(*vector, CONTINUOUS), plain, SquashedGaussianPolicy(body, low, high), critics),
        "td3": Agent(EnvSpec(*vector, CONTINUOUS), normaliser(rng), SquashedPolicy(other, low, high), critics),
        **{
            f"ppo-{name}": Agent(
                EnvSpec(*vector, DISCRETE), plain, CategoricalPolicy(mlp([5, 8, 3], KEYS[0], 2.0, activation=name))
            )
            for name in ("elu", "leaky-relu", "silu", "gelu")
        },
        "td3-nocritics": Agent(EnvSpec(*vector, CONTINUOUS), plain, SquashedPolicy(other, low, high)),
    }


AGENTS = agents()
CLASSES = {"ppo": "PPO", "a2c": "A2C", "dqn": "DQN", "sac": "SAC", "td3": "TD3"}
FEW = {"n_steps": 4, "batch_size": 4, "n_epochs": 1}
REPLAY = {"buffer_size": 20, "learning_starts": 2, "batch_size": 4}
QUICK: dict[str, dict[str, Any]] = {"ppo": FEW, "a2c": {"n_steps": 4}, "dqn": REPLAY, "sac": REPLAY, "td3": REPLAY}


def observations(agent: Agent, n: int = 40) -> np.ndarray:
    if isinstance(agent.normaliser, PixelNormaliser):
        return images(n)
    return np.random.default_rng(1).normal(size=(n, *agent.spec.obs_shape), scale=4).astype(np.float32)


def within_range(agent: Agent, actions: np.ndarray) -> np.ndarray:
    return actions if agent.spec.actions.discrete else np.clip(actions, agent.spec.actions.low, agent.spec.actions.high)


@pytest.mark.oracle
@pytest.mark.parametrize("name", AGENTS)
def test_stable_baselines_loads_the_zip_and_acts_the_same(name: str, tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    agent, path = AGENTS[name], tmp_path / "agent.zip"
    done = wocar.export(agent, "sb3", path)
    kind = name.split("-")[0]
    model = getattr(sb3, CLASSES[kind]).load(path, device="cpu", **QUICK[kind])
    obs = seen = observations(agent)
    env: Any = DummyVecEnv([lambda: Toy(model.observation_space, model.action_space)])
    statistics = tmp_path / "agent_vec_normalize.pkl"
    assert done.files == ([path, statistics] if isinstance(agent.normaliser, RunningNormaliser) else [path])
    if statistics.exists():
        env = VecNormalize.load(str(statistics), env)
        seen = env.normalize_obs(obs)
        np.testing.assert_allclose(env.reset(), env.normalize_obs(env.get_original_obs()))
    found, ours = model.predict(seen, deterministic=True)[0], within_range(agent, agent.predict(obs)[0])
    assert len({*map(tuple, np.atleast_2d(ours.T).T.round(4))}) > 1
    np.testing.assert_allclose(found, ours, atol=1e-5)
    model.set_env(env)
    if "cnn" not in name:
        model.learn(8, log_interval=None)  # optimisers and buffers are there too
    np.testing.assert_allclose(load(path, "Toy-v0").predict(obs)[0], ours, atol=1e-5)


class Toy(gymnasium.Env):
    """Spaces without a world."""

    def __init__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space) -> None:
        self.observation_space, self.action_space = observation_space, action_space

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        return self.observation_space.sample(), 0.0, False, False, {}


@pytest.mark.oracle
def test_critics_and_exploration_survive_the_journey(tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    import torch

    wocar.export(AGENTS["sac"], "sb3", tmp_path / "sac.zip")
    wocar.export(AGENTS["ppo"], "sb3", tmp_path / "ppo.zip")
    rng = np.random.default_rng(0)
    obs, unit = rng.normal(size=(9, 5)).astype("f4"), rng.uniform(-1, 1, (9, 2)).astype("f4")
    actions = LOW + (unit + 1) / 2 * (HIGH - LOW)
    model = sb3.SAC.load(tmp_path / "sac.zip", device="cpu")
    back = load(tmp_path / "sac.zip", "Toy-v0")
    with torch.no_grad():
        theirs = [q.numpy()[:, 0] for q in model.critic(torch.as_tensor(obs), torch.as_tensor(unit))]
        mean, log_std, _ = model.actor.get_action_dist_params(torch.as_tensor(obs))
    for agent in (AGENTS["sac"], back):
        for name, values in zip(("q", "q-twin"), theirs, strict=True):
            np.testing.assert_allclose(agent.critics[name](obs, actions), values, atol=1e-5)
        np.testing.assert_allclose(agent.policy.moments(obs), [mean.numpy(), log_std.numpy()], atol=1e-5)
    ppo = sb3.PPO.load(tmp_path / "ppo.zip", device="cpu")
    z = AGENTS["ppo"].normaliser(obs)
    with torch.no_grad():
        values = ppo.policy.predict_values(torch.as_tensor(z)).numpy()[:, 0]
    np.testing.assert_allclose(AGENTS["ppo"].critics["value"](z), values, atol=1e-5)
    np.testing.assert_allclose(ppo.policy.log_std.detach().numpy(), AGENTS["ppo"].policy.log_std)
    assert ppo.num_timesteps == 77
    assert load(tmp_path / "ppo.zip", "Toy-v0").meta["reward_std"] == pytest.approx(3.0)


@pytest.mark.oracle
def test_the_zip_declares_the_observations_of_its_environment(tmp_path: Path) -> None:
    """`PPO.load(..., env=env)` refuses an environment of another space."""
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    cart = EnvSpec("CartPole-v1", (4,), ActionSpace(2))
    agent = Agent(cart, ScaledNormaliser.identity((4,)), CategoricalPolicy(mlp([4, 8, 2], KEYS[0])))
    wocar.export(agent, "sb3", tmp_path / "cart")
    model = sb3.PPO.load(tmp_path / "cart.zip", env=gymnasium.make("CartPole-v1"), device="cpu")
    assert model.observation_space == gymnasium.make("CartPole-v1").observation_space
    assert model.action_space == gymnasium.make("CartPole-v1").action_space


@pytest.mark.parametrize("name", AGENTS)
def test_onnxruntime_acts_the_same(name: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    agent, path = AGENTS[name], tmp_path / "agent.onnx"
    assert wocar.export(agent, "onnx", path).files == [path]
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [x.name for x in session.get_inputs()] == ["observation"]
    obs = observations(agent)
    for batch in (obs, obs[:1]):
        action, head = session.run(["action", "head"], {"observation": batch})
        np.testing.assert_allclose(action, agent.predict(batch)[0], atol=1e-5)
        np.testing.assert_allclose(head, agent.head(agent.normaliser(batch)), atol=1e-5)
    assert session.get_modelmeta().custom_metadata_map["env"] == "Toy-v0"


def test_what_cannot_be_expressed_is_refused_in_one_line(tmp_path: Path) -> None:
    spec, plain = EnvSpec("Toy-v0", (5,), DISCRETE), ScaledNormaliser.identity((5,))
    small = Agent(
        EnvSpec("Toy-v0", IMAGE, DISCRETE), PixelNormaliser(), GreedyPolicy(cnn(IMAGE, 3, KEYS[0], **SMALL_CNN))
    )
    mixed = mlp([5, 8, 8, 3], KEYS[0])
    mixed = type(mixed)([*mixed.layers[:3], mlp([1, 1, 1], KEYS[0], activation="relu").layers[1], mixed.layers[-1]])
    recurrent = Agent(spec, plain, RecurrentPolicy(RecurrentNetwork.create(5, 3, KEYS[0], 4), None))
    cases: dict[str, tuple[Agent, Any]] = {
        "not NatureCNN's": (small, "sb3"),
        "one activation between": (Agent(spec, plain, GreedyPolicy(mixed)), "sb3"),
        "no policy for a RecurrentPolicy": (recurrent, "sb3"),
        "has a memory": (recurrent, "onnx"),
        "not divided by 255": (
            Agent(
                EnvSpec("Toy-v0", IMAGE, DISCRETE),
                PixelNormaliser(128.0),
                GreedyPolicy(cnn(IMAGE, 3, KEYS[0], dense=16)),
            ),
            "sb3",
        ),
        "unknown format": (AGENTS["dqn"], "keras"),
        "no weights to write": (black_box(lambda obs: 0, spec), "onnx"),
    }
    for reason, (agent, to) in cases.items():
        with pytest.raises(UserError, match=reason) as caught:
            wocar.export(agent, to, tmp_path / "out")
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_export_as_a_user_runs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    AGENTS["ppo-novalue"].save(tmp_path / "agent")

    def run(*words: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stop:
            main(["export", *map(str, words)])
        return int(stop.value.code or 0), capsys.readouterr().err

    asked = (tmp_path / "agent", "--to", "sb3", "--out", tmp_path / "x.zip")
    code, said = run(*asked)
    assert code == 0
    assert "a new one, which does not act" in said
    assert "cuts actions to their range" in said
    assert f"wrote {tmp_path / 'x_vec_normalize.pkl'}" in said
    code, said = run(*asked)
    assert (code, said.count("\n")) == (2, 1)
    assert "exists: choose another name" in said
    AGENTS["sac"].save(tmp_path / "sac")
    code, said = run(tmp_path / "sac", "--to", "sb3", "--out", tmp_path / "x.zip", "--overwrite")
    assert code == 0
    assert not (tmp_path / "x_vec_normalize.pkl").exists()  # it belonged to the other agent
    code, said = run(tmp_path / "sac", "--to", "sb3", "--out", tmp_path / "no" / "x.zip")
    assert code == 2
    assert "its folder does not exist" in said


def test_our_reader_reads_what_our_writer_writes() -> None:
    weights = {"a.weight": np.arange(6, dtype="f4").reshape(2, 3), "b": np.zeros(0, "f4"), "c": np.float32([[1]])}
    found = read_weights(read_torch(torch_file(weights), "test"))
    assert found.keys() == weights.keys()
    for name, value in weights.items():
        np.testing.assert_array_equal(found[name], value)
    plain = {"x": [1, 2.5, None, True], "y": (np.arange(3), "ä\n")}
    back = pickle.load(io.BytesIO(PickleWriter().dump(plain)))
    assert back["x"] == plain["x"]
    np.testing.assert_array_equal(back["y"][0], np.arange(3))
    assert back["y"][1] == "ä\n"
    with pytest.raises(TypeError, match="set has no pickle"):
        PickleWriter().dump({1})


def test_samples_of_a_squashed_gaussian_are_those_of_its_policy() -> None:
    agent, z = AGENTS["sac"], observations(AGENTS["sac"])
    noise = np.random.default_rng(7).standard_normal((len(z), 2), dtype=np.float32)
    expected = agent.policy.scaled(agent.policy.sample(z, noise)[0])
    np.testing.assert_allclose(agent.act(z, np.random.default_rng(7)), expected, atol=1e-5)
    assert not np.allclose(expected, agent.act(z))
