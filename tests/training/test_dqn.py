"""DQN: its pieces by hand, its step against Stable-Baselines3's, its runs through the command line."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import load_agent
from wocar.cli import main
from wocar.episodes import run_episodes
from wocar.mechanisms.objective import Vanilla
from wocar.mechanisms.q_objective import QBatch
from wocar.networks import DiscreteCritic, GreedyPolicy, PixelNormaliser
from wocar.networks.layers import linear
from wocar.training.dqn import DQN, DQNConfig, bootstrap, create_network, td_loss
from wocar.types import ActionSpace, EnvSpec

SPEC = EnvSpec("toy", (5,), ActionSpace(3))
TINY = ["--n-envs", "2", "--n-steps", "8", "--hidden", "16", "--learning-starts", "64", "--batch-size", "16"]


def test_the_target_by_hand() -> None:
    choice, worth = jnp.array([[1.0, 2.0], [3.0, 0.0]]), jnp.array([[10.0, 20.0], [30.0, 40.0]])
    np.testing.assert_allclose(bootstrap(choice, worth), [20, 30])
    np.testing.assert_allclose(bootstrap(worth, worth), [20, 40])
    assert td_loss(jnp.array([0.5, -3.0]), jnp.array([1.0, 0.5])) == pytest.approx((0.125 + 0.5 * 2.5) / 2)
    squared = td_loss(jnp.array([0.5, -3.0]), jnp.array([1.0, 0.5]), "squared")
    assert squared == pytest.approx((0.125 + 0.5 * 4.5) / 2)


def arrays(tree: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def make_batch(seed: int = 0, n: int = 32) -> QBatch:
    rng = np.random.default_rng(seed)
    obs, next_obs = rng.normal(size=(2, n, 5)).astype(np.float32)
    terminated = rng.random(n) < 0.3
    rewards = rng.normal(size=n).astype(np.float32) * 3
    discounts = (0.95 * ~terminated).astype(np.float32)
    return QBatch(obs, rng.integers(0, 3, n).astype(np.int32), rewards, next_obs, discounts, np.ones(n, np.float32))


@pytest.mark.oracle
def test_a_step_is_that_of_stable_baselines() -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Blank(gymnasium.Env):
        observation_space, action_space = gymnasium.spaces.Box(-9, 9, (5,)), gymnasium.spaces.Discrete(3)

    model = sb3.DQN(
        "MlpPolicy", Blank(), learning_rate=1e-3, buffer_size=10, max_grad_norm=0.5, gamma=0.95, device="cpu", seed=0,
        policy_kwargs={"net_arch": [16, 16], "optimizer_kwargs": {"eps": 1e-5}},
    )  # fmt: skip
    model.set_logger(sb3.common.logger.configure(None, []))
    with torch.no_grad():
        for parameter in model.q_net_target.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))

    def copy(network: Any) -> DiscreteCritic:
        layers: list[Any] = []
        for module in network.q_net:
            if isinstance(module, torch.nn.Linear):
                layers.append(linear(*(x.detach().clone().numpy() for x in (module.weight, module.bias))))
            else:
                layers.append(eqx.nn.Lambda(jax.nn.relu))
        return DiscreteCritic(eqx.nn.Sequential(layers))

    settings = DQNConfig(
        learning_rate=1e-3, anneal_lr=False, max_grad_norm=0.5, double=False, target_update_interval=10**6
    )
    algorithm = DQN(settings, Vanilla())
    learner = algorithm.init(SPEC, jax.random.key(0), copy(model.q_net).network)
    learner = learner._replace(q=learner.q._replace(target=copy(model.q_net_target)))
    for k in range(3):
        batch = make_batch(k)
        tensors = [torch.tensor(x) for x in (batch.obs, batch.actions[:, None], batch.next_obs)]
        dones, rewards = torch.tensor((batch.discounts == 0)[:, None]).float(), torch.tensor(batch.rewards[:, None])
        sample = sb3.common.type_aliases.ReplayBufferSamples(tensors[0], tensors[1].long(), tensors[2], dones, rewards)
        model.replay_buffer.sample = lambda *_, sample=sample, **__: sample
        model.train(gradient_steps=1, batch_size=32)
        learner, _, info = algorithm.update(learner, batch, jax.random.key(k), jnp.float32(0.5))
        assert float(info["loss"]) == pytest.approx(model.logger.name_to_value["train/loss"], rel=1e-5)
    for a, b in zip(arrays(learner.q.online), arrays(copy(model.q_net)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_several_steps_in_one_call_are_the_same_steps() -> None:
    algorithm = DQN(DQNConfig(hidden=(8,), target_update_interval=2), Vanilla())
    batches = jax.tree.map(lambda *x: np.stack(x), *(make_batch(k) for k in range(5)))
    together, errors, _ = algorithm.updates(
        algorithm.init(SPEC, jax.random.key(1)), batches, jax.random.key(2), jnp.float32(0.1)
    )
    learner = algorithm.init(SPEC, jax.random.key(1))
    for k in range(5):
        learner, one, _ = algorithm.update(learner, make_batch(k), jax.random.key(k), jnp.float32(0.1))
        np.testing.assert_allclose(one, errors[k], rtol=1e-4, atol=1e-5)
    for a, b in zip(arrays(learner.q), arrays(together.q), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert together.done == 5


@pytest.mark.parametrize(("interval", "tau"), [(3, 1.0), (1, 0.25)])
def test_the_target_follows(interval: int, tau: float) -> None:
    algorithm = DQN(DQNConfig(hidden=(4,), target_update_interval=interval, tau=tau), Vanilla())
    learner = algorithm.init(SPEC, jax.random.key(0))

    def first(network: DiscreteCritic) -> np.ndarray:
        return np.asarray(network.network.layers[0].weight).copy()

    target = first(learner.q.target)
    for k in range(1, 7):
        learner, _, _ = algorithm.update(learner, make_batch(k), jax.random.key(k), jnp.float32(0))
        if k % interval == 0:
            target = target + tau * (first(learner.q.online) - target)
        np.testing.assert_allclose(first(learner.q.target), target, rtol=1e-5, atol=1e-7)


def test_weights_scale_the_gradient() -> None:
    """A sample of weight 0 teaches nothing."""
    algorithm = DQN(DQNConfig(hidden=(4,)), Vanilla())
    batch = make_batch()
    half = np.arange(32) < 16
    cut = jax.tree.map(lambda x: x[half], batch)
    some = batch._replace(weights=half.astype(np.float32) * 2)  # the mean is over 32
    results = [
        algorithm.update(algorithm.init(SPEC, jax.random.key(0)), b, jax.random.key(0), jnp.float32(0))[0]
        for b in (some, cut)
    ]
    for a, b in zip(*(arrays(r.q.online) for r in results), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_dueling_puts_a_value_and_leads_together_and_keeps_doing_so() -> None:
    algorithm = DQN(DQNConfig(hidden=(8,), dueling=True), Vanilla())
    learner = algorithm.init(SPEC, jax.random.key(0))
    for k in range(3):
        learner, _, _ = algorithm.update(learner, make_batch(k), jax.random.key(k), jnp.float32(0))
    *body, combine = learner.policy.network.layers
    obs = make_batch(9).obs
    heads = jax.vmap(eqx.nn.Sequential(body))(obs)
    value, leads = heads[:, :1], heads[:, 1:]
    wanted = value + leads - leads.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(learner.policy.head(obs), wanted, rtol=1e-5, atol=1e-6)
    assert combine.weight.shape == (3, 4)


def test_both_networks_for_pixels() -> None:
    spec = EnvSpec("toy", (1, 84, 84), ActionSpace(6))
    sizes = {}
    for name in ("nature", "small"):
        network = create_network(spec, jax.random.key(0), DQNConfig(network=name))  # type: ignore[arg-type]
        assert jax.vmap(network)(jnp.zeros((2, 1, 84, 84))).shape == (2, 6)
        sizes[name] = sum(x.size for x in jax.tree.leaves(eqx.filter(network, eqx.is_array)))
    dense, convolutions = 3136 * 512 + 512 + 512 * 6 + 6, 32 * 64 + 32 + 64 * 32 * 16 + 64 + 64 * 64 * 9 + 64
    assert sizes["nature"] == dense + convolutions
    assert sizes["small"] == 16 * 64 + 16 + 32 * 16 * 16 + 32 + 2592 * 256 + 256 + 256 * 6 + 6


def test_frames_of_bytes_are_the_frames_an_agent_sees() -> None:
    spec = EnvSpec("toy", (1, 84, 84), ActionSpace(3))
    algorithm = DQN(DQNConfig(network="small"), Vanilla())
    rng, n = np.random.default_rng(0), 4
    raw, later = rng.integers(0, 256, (2, n, 1, 84, 84), np.uint8)
    ones = np.ones(n, np.float32)
    stored = QBatch(raw, np.arange(n, dtype=np.int32) % 3, ones, later, 0.9 * ones, ones)
    seen = stored._replace(obs=PixelNormaliser()(raw), next_obs=PixelNormaliser()(later))
    key, now = jax.random.key(0), jnp.zeros(())
    after = [algorithm.update(algorithm.init(spec, key), batch, key, now) for batch in (stored, seen)]
    for one, other in zip(*(arrays((learner, errors)) for learner, errors, _ in after), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def train(method: str, out: Path, *options: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["train", method, "--env", "CartPole-v1", "--steps", "640", *TINY, "--out", str(out), *options])
    return int(stop.value.code or 0)


def metrics(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("dqn", ["--per-alpha", "0.6", "--n-step", "3", "--dueling"]),
        ("sa-dqn", ["--reg-solver", "convex"]),
        ("wocar-dqn", ["--n-step", "3"]),
    ],
)
def test_a_run_leaves_an_agent_and_no_replay(method: str, options: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert train(method, out, "--normalise-obs", *options) == 0
    rows = metrics(out)
    assert rows[-1]["steps"] == 640
    assert {"loss", "value", "return", "length"} <= set(rows[-1])
    agent = load_agent(out / "agent")
    assert isinstance(agent.policy, GreedyPolicy)
    assert agent.normaliser.count > 600
    assert set(agent.critics) == ({"natural", "worst"} if method == "wocar-dqn" else set())
    assert agent.predict(np.zeros(4))[0] in (0, 1)
    assert not (out / "replay").exists()


@pytest.mark.parametrize(("method", "options"), [("wocar-dqn", []), ("dqn", ["--per-alpha", "0.6", "--n-step", "2"])])
def test_a_run_goes_on_as_if_it_had_not_stopped(
    method: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle of a segment, its replay of 200 written over by then, it ends with the same bytes."""
    whole, out = tmp_path / "whole", tmp_path / "run"
    settings = ["--buffer-size", "200", "--checkpoint-every", "160", *options]
    assert train(method, whole, *settings) == 0

    from wocar.training.dqn_trainer import DQNTrainer

    iterate = DQNTrainer.iterate

    def stop_late(self: DQNTrainer, iteration: int) -> Any:
        if iteration == 37:
            raise KeyboardInterrupt
        return iterate(self, iteration)

    monkeypatch.setattr(DQNTrainer, "iterate", stop_late)
    assert train(method, out, *settings) == 130
    monkeypatch.undo()
    assert (out / "replay" / "frames").exists()
    assert train(method, out, *settings, "--resume") == 0
    name = "agent.safetensors"
    assert (out / "agent" / name).read_bytes() == (whole / "agent" / name).read_bytes()


def test_fine_tuning_starts_from_the_given_agent(tmp_path: Path) -> None:
    assert train("dqn", tmp_path / "natural", "--normalise-obs") == 0
    options = ["--init-from", str(tmp_path / "natural"), "--learning-rate", "0", "--normalise-obs"]
    assert train("wocar-dqn", tmp_path / "robust", *options) == 0
    natural, robust = (load_agent(tmp_path / name / "agent") for name in ("natural", "robust"))
    for network in (robust.policy.network, robust.critics["natural"].network, robust.critics["worst"].network):
        for a, b in zip(arrays(natural.policy.network), arrays(network), strict=True):
            np.testing.assert_array_equal(a, b)
    assert robust.normaliser.count > natural.normaliser.count


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--env", "Pendulum-v1"], "discrete"),
        (["--train-freq", "7"], "--train-freq"),
        (["--batch-size", "0"], "--batch-size"),
        (["--exploration-final-eps", "2"], "--exploration-final-eps"),
        (["--init-from", "nowhere"], "nowhere"),
        (["--hidden", "0"], "--hidden"),
    ],
)
def test_mistakes_are_told(options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("dqn", tmp_path / "run", *options) == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_it_learns_the_way_home(tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ["--env", "GoHomeGrid-v0", "--steps", "8000", "--hidden", "64", "64", "--batch-size", "64"]
    assert train("dqn", out, *options) == 0
    assert json.loads((out / "run.json").read_text())["config"]["algorithm"]["gamma"] == 0.95  # of the last --env
    assert run_episodes(load_agent(out / "agent"), 3, seed=0, n_envs=3).returns.min() > 9
