"""Published `.model` files: forged ones of known weights, and the real ones where they are."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wocar.agent import load_agent
from wocar.api import default_threat
from wocar.attacks.learned import PAADAttack, learned_attack
from wocar.episodes import run_episodes
from wocar.interop import load, load_all
from wocar.networks import GaussianPolicy, RecurrentPolicy
from wocar.threat import Threat
from wocar.types import UserError

HOPPER = (11, 3)


def weights(call: Any) -> dict[str, np.ndarray]:
    return dict(call.args[0])


def write(path: Path, forge: SimpleNamespace, tree: Any, packer: str = "torch_zip") -> Path:
    path.write_bytes(getattr(forge, packer)(tree))
    return path


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.fixture
def tree(forge: SimpleNamespace) -> dict[str, Any]:
    return forge.model_tree(np.random.default_rng(0), HOPPER)


@pytest.mark.parametrize("packer", ["torch_zip", "torch_stream"])
def test_mlp_by_hand(tmp_path: Path, forge: SimpleNamespace, tree: dict[str, Any], packer: str) -> None:
    victim, adversary = load_all(write(tmp_path / "x.model", forge, tree, packer))
    obs = np.random.default_rng(1).normal(size=(5, 11)) * 4
    w = weights(tree["policy_model"])
    z = victim.normaliser(obs)
    assert np.abs(z).max() == 5.0  # the clip of the file
    hidden = np.tanh(z @ w["affine_layers.0.weight"].T + w["affine_layers.0.bias"])
    hidden = np.tanh(hidden @ w["affine_layers.1.weight"].T + w["affine_layers.1.bias"])
    expected = hidden @ w["final_mean.weight"].T + w["final_mean.bias"]
    np.testing.assert_allclose(victim.predict(obs)[0], expected, atol=1e-5)
    np.testing.assert_array_equal(victim.policy.log_std, w["log_stdev"])
    assert victim.spec.id == "Hopper-v4"
    assert victim.spec.max_steps == 700
    np.testing.assert_array_equal(victim.spec.actions.low, [-2, -2, -2])
    assert default_threat(victim) == Threat(0.075)
    assert victim.meta["reward_std"] == pytest.approx(2.0)  # sqrt(36 / 9)
    assert victim.critics["value"](z).shape == (5,)
    assert adversary is not None
    assert adversary.meta["attack"] == "sa-rl"
    assert adversary.spec.actions.size == 11
    np.testing.assert_array_equal(adversary.normaliser(z), z)


def test_a_director_is_loaded_with_our_sign(tmp_path: Path, forge: SimpleNamespace, tree: dict[str, Any]) -> None:
    """PA-AD's director has the size of an action; the release moves the victim against its output, we along it."""
    tree["adversary_policy_model"] = tree["policy_model"]
    victim, adversary = load_all(write(tmp_path / "x.model", forge, tree))
    assert adversary is not None
    assert (adversary.meta["attack"], adversary.spec.actions.size) == ("pa-ad", 3)
    z = np.random.default_rng(1).normal(size=(5, 11)).astype(np.float32)
    np.testing.assert_array_equal(adversary.policy.mode(z), -victim.policy.mode(z))
    assert isinstance(learned_attack(adversary, victim.spec), PAADAttack)


def test_normaliser_by_hand(tmp_path: Path, forge: SimpleNamespace, tree: dict[str, Any]) -> None:
    state = tree["envs"][0].state["state_filter"].state["rs"].state
    normaliser = load(write(tmp_path / "x.model", forge, tree)).normaliser
    obs = np.linspace(-2, 2, 11)
    expected = np.clip((obs - state["_M"]) / (np.sqrt(state["_S"] / 9) + 1e-8), -5, 5)
    np.testing.assert_allclose(normaliser(obs), expected, rtol=1e-6)


def test_lstm_by_hand(tmp_path: Path, forge: SimpleNamespace) -> None:
    tree = forge.model_tree(np.random.default_rng(2), HOPPER, lstm=True)
    victim, adversary = load_all(write(tmp_path / "x.model", forge, tree))
    assert isinstance(victim.policy, RecurrentPolicy)
    assert adversary is not None
    assert adversary.recurrent
    assert victim.critics == {}
    w = weights(tree["policy_model"])
    h = c = np.zeros((2, 5))
    state = None
    for obs in np.random.default_rng(3).normal(size=(4, 2, 11)):
        x = victim.normaliser(obs) @ w["embedding_layer.weight"].T + w["embedding_layer.bias"]
        gates = (
            x @ w["lstm.weight_ih_l0"].T + w["lstm.bias_ih_l0"] + h @ w["lstm.weight_hh_l0"].T + w["lstm.bias_hh_l0"]
        )
        i, f, g, o = np.split(gates, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        actions, state = victim.predict(obs, state)
        np.testing.assert_allclose(actions, h @ w["output_layer.weight"].T + w["output_layer.bias"], atol=1e-5)


def test_a_file_without_adversary(tmp_path: Path, forge: SimpleNamespace, tree: dict[str, Any]) -> None:
    plain = {name: part for name, part in tree.items() if "adversary" not in name}
    assert load_all(write(tmp_path / "x.model", forge, plain)).adversary is None


def test_saved_and_loaded_it_is_the_same(tmp_path: Path, forge: SimpleNamespace) -> None:
    for name, lstm in {"mlp": False, "lstm": True}.items():
        tree = forge.model_tree(np.random.default_rng(4), HOPPER, lstm)
        agents = load_all(write(tmp_path / f"{name}.model", forge, tree))
        obs = np.random.default_rng(5).normal(size=(3, 11)).astype(np.float32)
        for agent in agents:
            assert agent is not None
            agent.save(tmp_path / name)
            again = load_agent(tmp_path / name)
            np.testing.assert_array_equal(again.predict(obs)[0], agent.predict(obs)[0])
            assert again.meta == agent.meta


def test_the_environment_is_deduced(tmp_path: Path, forge: SimpleNamespace) -> None:
    def env_of(sizes: tuple[int, int], inner: str, name: str, env: str | None = None) -> str:
        tree = forge.model_tree(np.random.default_rng(0), sizes)
        tree["envs"][0].state["env"].state["env"].name = inner
        return load(write(tmp_path / name, forge, tree), env).spec.id

    assert env_of((17, 6), "Walker2dEnv", "cheetah-halfcheetah.model") == "Walker2d-v4"  # the class knows better
    assert env_of((17, 6), "Masked", "x-walker-y.model") == "Walker2d-v4"
    assert env_of((17, 6), "Masked", "HalfCheetah.model") == "HalfCheetah-v4"
    assert env_of((111, 8), "Masked", "x.model") == "Ant-v4"
    assert env_of((17, 6), "Masked", "x.model", env="Walker2d-v4") == "Walker2d-v4"
    for sizes, name in {(17, 6): "x.model", (4, 2): "walker.model"}.items():
        with pytest.raises(UserError, match=r"does not tell its environment .*: give --env"):
            env_of(sizes, "Masked", name)


def wrapper(tree: Any) -> dict[str, Any]:
    return tree["envs"][0].state


def filter_state(tree: Any) -> dict[str, Any]:
    return wrapper(tree)["state_filter"].state["rs"].state


def set_weight(tree: Any, index: int, *shape: int, value: float = 0.0, model: str = "policy_model") -> None:
    tree[model].args[0][index][1] = np.full(shape, value, np.float32)


FAULTY: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no envs": (lambda t: t.pop("envs"), "no policy_model and envs"),
    "empty envs": (lambda t: t.update(envs=[]), "no environment wrapper"),
    "no filter": (lambda t: wrapper(t).pop("state_filter"), "no state_filter"),
    "identity filter": (lambda t: setattr(wrapper(t)["state_filter"], "name", "Identity"), "filter Identity"),
    "short filter": (lambda t: filter_state(t).update(_M=np.zeros(3)), "observation filter has shape"),
    "no count": (lambda t: filter_state(t).update(_n=0), "at least two observations"),
    "nan filter": (lambda t: filter_state(t).update(_S=np.full(11, np.nan)), "at least two observations"),
    "nan weights": (lambda t: set_weight(t, 1, 6, 11, value=np.nan), "not finite"),
    "no weights": (lambda t: t["policy_model"].args[0].pop(3), "no weights affine_layers.1.weight"),
    "unfit layers": (lambda t: set_weight(t, 3, 5, 7), "do not fit together"),
    "unfit actions": (lambda t: set_weight(t, 0, 4), "action space has shape"),
    "unfit adversary": (lambda t: set_weight(t, 0, 4, model="adversary_policy_model"), "expected (11,)"),
}


@pytest.mark.parametrize("what", FAULTY)
def test_what_is_wrong_is_said(tmp_path: Path, forge: SimpleNamespace, tree: dict[str, Any], what: str) -> None:
    edit, reason = FAULTY[what]
    edit(tree)
    path = write(tmp_path / "x.model", forge, tree)
    with pytest.raises(UserError) as caught:
        load(path)
    assert str(caught.value).startswith(f"cannot read {path}: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_only_raise_user_errors(tmp_path: Path, forge: SimpleNamespace, data: st.DataObject) -> None:
    packer = data.draw(st.sampled_from(["torch_zip", "torch_stream"]))
    packed = bytearray(getattr(forge, packer)(forge.model_tree(np.random.default_rng(0), HOPPER)))
    where = st.integers(0, len(packed) - 1)
    for at, byte in data.draw(st.lists(st.tuples(where, st.integers(0, 255)), min_size=1, max_size=30)):
        packed[at] = byte
    path = tmp_path / "mutated.model"
    path.write_bytes(packed)
    try:
        load(path)
    except UserError as error:
        assert "\n" not in str(error)


CHECKS = {
    "model-ppo-halfcheetah": ("HalfCheetah-v4", 2001776, 8, 4.901, 2.463),
    "model-ppo-walker": ("Walker2d-v4", 2003645, 0, 1.220, 0.099),
}


@pytest.mark.parametrize("name", CHECKS)
def test_real_files_have_the_known_filters(published_folder: Path, name: str) -> None:
    env, count, i, mean, std = CHECKS[name]
    agent = load(published_folder / f"{name}.model")
    assert agent.spec.id == env
    assert isinstance(agent.policy, GaussianPolicy)
    assert agent.normaliser.count == count
    assert agent.normaliser.mean[i] == pytest.approx(mean, abs=1e-3)
    assert agent.normaliser.std[i] == pytest.approx(std, abs=1e-3)


def test_real_attack_files_hold_their_victim(published_folder: Path) -> None:
    obs = np.random.default_rng(0).normal(size=(8, 17))
    for task in ("ppo-halfcheetah", "ppo-walker", "sappo-convex-halfcheetah"):
        victim, adversary = load_all(published_folder / f"attack-{task}.model")
        alone = load(published_folder / f"model-{task}.model")
        np.testing.assert_array_equal(victim.predict(obs)[0], alone.predict(obs)[0])
        assert adversary is not None
        assert adversary.spec.actions.size == 17
    lstm = load_all(published_folder / "model-atla-lstm-sappo-walker.model")
    assert all(agent is not None and agent.recurrent for agent in lstm)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("model-ppo-halfcheetah", 6500, 7500),
        ("model-sappo-convex-halfcheetah", 3500, 3700),
        ("model-ppo-walker", 4300, 4800),
        ("model-atla-lstm-sappo-walker", 3300, 4200),
    ],
)
def test_real_victims_walk(published_folder: Path, name: str, low: float, high: float) -> None:
    agent = load(published_folder / f"{name}.model")
    returns = run_episodes(agent, episodes=4, seed=1, n_envs=4).returns
    assert low < np.median(returns) < high
