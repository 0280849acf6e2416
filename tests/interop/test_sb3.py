"""Stable-Baselines3 zips: the same actions as the original's, and a plain word about what is not supported."""

import base64
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wocar.agent import Agent, load_agent
from wocar.interop import load
from wocar.types import UserError

AGENTS = ["a2c", "dqn", "dqn-cnn", "ppo", "ppo-cnn", "recurrent", "recurrent-discrete", "sac", "td3"]


def actions_of(agent: Agent, expected: Any) -> np.ndarray:
    if "starts" not in expected:
        return agent.predict(expected["obs"])[0]
    state, actions = None, []
    for obs, starts in zip(expected["obs"], expected["starts"], strict=True):
        action, state = agent.predict(obs, state, starts)
        actions.append(action)
    return np.array(actions)


@pytest.mark.parametrize("name", AGENTS)
def test_actions_are_those_of_the_original(sb3_data: Path, tmp_path: Path, name: str) -> None:
    expected = np.load(sb3_data / f"{name}-Toy-v0.npz")
    agent = load(sb3_data / f"{name}-Toy-v0.zip")
    assert agent.spec.id == "Toy-v0"
    agent.save(tmp_path / "agent")
    for one in (agent, load_agent(tmp_path / "agent")):
        np.testing.assert_allclose(actions_of(one, expected), expected["actions"], atol=1e-5)
    z = agent.normaliser(expected["obs"]) if "starts" not in expected else None
    if "head" in expected:
        np.testing.assert_allclose(agent.head(z), expected["head"], atol=1e-5)
        assert np.ptp(expected["head"]) > 0.1
    if "value" in expected:
        np.testing.assert_allclose(agent.critics["value"](z), expected["value"], atol=1e-5)


def test_gaussian_actions_are_cut_to_the_range(sb3_data: Path) -> None:
    agent = load(sb3_data / "ppo-Toy-v0.zip")
    expected = np.load(sb3_data / "ppo-Toy-v0.npz")
    raw = agent.head(agent.normaliser(expected["obs"]))
    assert np.any(raw < agent.spec.actions.low) or np.any(raw > agent.spec.actions.high)
    rng = np.random.default_rng(0)
    sampled = agent.act(agent.normaliser(expected["obs"]), rng)
    assert np.all((sampled >= agent.spec.actions.low) & (sampled <= agent.spec.actions.high))


def test_meta_and_spaces(sb3_data: Path) -> None:
    agent = load(sb3_data / "ppo-Toy-v0.zip")
    assert agent.meta["method"] == "ppo"
    assert agent.meta["reward_std"] == pytest.approx(2.5)  # sqrt(6.24 + 0.01)
    np.testing.assert_array_equal(agent.spec.actions.low, np.float32([-0.5, -2.0]))
    assert agent.normaliser.clip == 1.5
    assert load(sb3_data / "a2c-Toy-v0.zip").spec.obs_shape == (2, 3)
    assert load(sb3_data / "a2c-Toy-v0.zip").meta["method"] == "a2c"
    assert load(sb3_data / "dqn-cnn-Toy-v0.zip").normaliser.limits == (0.0, 1.0)


def test_statistics_are_found_or_given(sb3_data: Path, tmp_path: Path) -> None:
    zip, statistics = (sb3_data / name for name in ("ppo-Toy-v0.zip", "ppo-Toy-v0_vecnormalize.pkl"))
    expected = np.load(sb3_data / "ppo-Toy-v0.npz")
    for i, place in enumerate(["vecnormalize.pkl", "other_vecnormalize.pkl", "agent/vecnormalize.pkl", "x/given.pkl"]):
        folder = tmp_path / str(i)
        (folder / place).parent.mkdir(parents=True)
        shutil.copy(zip, folder / "agent.zip")
        shutil.copy(statistics, folder / place)
        agent = load(folder / "agent.zip", "Toy-v0", folder / place if "given" in place else None)
        np.testing.assert_allclose(agent.predict(expected["obs"])[0], expected["actions"], atol=1e-5)
    plain = tmp_path / "plain"
    plain.mkdir()
    shutil.copy(zip, plain / "agent.zip")
    agent = load(plain / "agent.zip", "Toy-v0")
    assert not np.allclose(agent.predict(expected["obs"])[0], expected["actions"])
    assert agent.meta.get("normaliser") is None
    with pytest.raises(UserError, match=r"agent\.zip does not tell its environment: give --env"):
        load(plain / "agent.zip")


def test_wrong_statistics_are_refused(sb3_data: Path, tmp_path: Path, forge: SimpleNamespace) -> None:
    statistics = sb3_data / "ppo-Toy-v0_vecnormalize.pkl"
    with pytest.raises(UserError, match=r"shape \(5,\), the agent's \(2, 3\)"):
        load(sb3_data / "a2c-Toy-v0.zip", normaliser=statistics)
    with pytest.raises(UserError, match="divides by 255 itself"):
        load(sb3_data / "dqn-cnn-Toy-v0.zip", normaliser=statistics)
    other = tmp_path / "other.pkl"
    for content, reason in {
        b"": "exhausted",
        forge.Writer().dump({"a": 1}): "holds a dict",
        forge.Writer().dump(forge.Call("m", "VecNormalize", (), {"epsilon": 1.0})): "no obs_rms",
    }.items():
        other.write_bytes(content)
        with pytest.raises(UserError, match=reason):
            load(sb3_data / "ppo-Toy-v0.zip", normaliser=other)
    other.write_bytes(forge.Writer().dump(forge.Call("m", "VecNormalize", (), {"epsilon": 1.0, "norm_obs": False})))
    unscaled = load(sb3_data / "ppo-Toy-v0.zip", normaliser=other).normaliser
    np.testing.assert_array_equal(unscaled(np.float32([[1, 2, 3, 4, 500]])), [[1, 2, 3, 4, 500]])


def rewritten(path: Path, out: Path, edit: Callable[[dict[str, Any]], Any], drop: str | None = None) -> Path:
    """The zip with its JSON edited, or an entry dropped."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if name != drop}
    data = json.loads(entries["data"])
    edit(data)
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in (entries | {"data": json.dumps(data).encode()}).items():
            archive.writestr(name, content)
    return out


def pickled(forge: SimpleNamespace, value: Any) -> dict[str, str]:
    return {":serialized:": base64.b64encode(forge.Writer().dump(value)).decode()}


CLASSES = {
    "stable_baselines3.common.policies ContinuousCritic": "ContinuousCritic is not supported",
    "sb3_contrib.qrdqn.policies QRDQNPolicy": "QRDQNPolicy is not supported",
    "__main__ MyPolicy": "__main__.MyPolicy is not supported",
}


@pytest.mark.parametrize("name", CLASSES)
def test_unsupported_policies_are_named(sb3_data: Path, tmp_path: Path, forge: SimpleNamespace, name: str) -> None:
    entry = pickled(forge, forge.Name(*name.split()))
    path = rewritten(sb3_data / "dqn-Toy-v0.zip", tmp_path / "Toy-v0.zip", lambda d: d.update(policy_class=entry))
    with pytest.raises(UserError, match=CLASSES[name]):
        load(path)


def test_unsupported_parts_are_named(sb3_data: Path, tmp_path: Path, forge: SimpleNamespace) -> None:
    def kwargs(**options: Any) -> Callable[[dict], None]:
        return lambda data: data.update(policy_kwargs=pickled(forge, options))

    def space(which: str, kind: str, **state: Any) -> Callable[[dict], None]:
        return lambda data: data.update({which: pickled(forge, forge.Call("gymnasium.spaces", kind, (), state))})

    edits: dict[str, Callable[[dict[str, Any]], Any]] = {
        "squashed output": kwargs(squash_output=True),
        "activation Softplus": kwargs(activation_fn=forge.Name("torch.nn.modules.activation", "Softplus")),
        "features extractor Mine": kwargs(features_extractor_class=forge.Name("__main__", "Mine")),
        "it has no spaces": space("observation_space", "Dict"),
        "action space MultiDiscrete": space("action_space", "MultiDiscrete"),
        "actions do not start at 0": space("action_space", "Discrete", n=3, start=1),
        "networks do not fit its actions": space("action_space", "Discrete", n=4),
        "it has no policy_class": lambda d: d.pop("policy_class"),
        "it has no action_space": lambda d: d.pop("action_space"),
    }
    for reason, edit in edits.items():
        path = rewritten(sb3_data / "dqn-Toy-v0.zip", tmp_path / "Toy-v0.zip", edit)
        with pytest.raises(UserError, match=reason) as caught:
            load(path)
        assert "\n" not in str(caught.value)
    bare = rewritten(sb3_data / "recurrent-Toy-v0.zip", tmp_path / "Toy-v0.zip", lambda d: None, drop="policy.pth")
    with pytest.raises(UserError, match=r"no data\.pkl"):
        load(bare)


def zip_of(path: Path, source: Path, weights: dict[str, np.ndarray], forge: SimpleNamespace) -> Path:
    """The zip of `source` with other weights."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(path, "w") as copy:
        copy.writestr("data", archive.read("data"))
        copy.writestr("policy.pth", forge.torch_zip(weights))
    return path


def test_unsupported_layers_are_named(sb3_data: Path, tmp_path: Path, forge: SimpleNamespace) -> None:
    one, path = np.ones((3, 3), np.float32), tmp_path / "Toy-v0.zip"
    cases = {
        "q_net.q_net has other layers": ("dqn", {"q_net.q_net.0.weight": one, "q_net.q_net.1.weight": one}),
        "it is not NatureCNN": ("dqn", {"q_net.features_extractor.mine.weight": one}),
        "more than one layer": (
            "recurrent",
            {"lstm_actor.weight_ih_l1": one, "action_net.weight": one} | {"log_std": one[0, :2]},
        ),
        "log_std have shape": ("ppo", {"action_net.weight": one, "log_std": one}),
    }
    for reason, (name, weights) in cases.items():
        weights |= {"action_net.bias": one[0]}
        with pytest.raises(UserError, match=reason):
            load(zip_of(path, sb3_data / f"{name}-Toy-v0.zip", weights, forge))


def test_layers_shared_by_policy_and_value_of_old_versions(
    sb3_data: Path, tmp_path: Path, forge: SimpleNamespace
) -> None:
    rng = np.random.default_rng(0)
    sizes = {
        "mlp_extractor.shared_net.0": (3, 5),
        "mlp_extractor.policy_net.0": (4, 3),
        "action_net": (2, 4),
        "value_net": (1, 3),
    }
    w = {f"{name}.weight": rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    w |= {f"{name}.bias": rng.normal(size=size[0]).astype(np.float32) for name, size in sizes.items()}
    w["log_std"] = np.zeros(2, np.float32)
    agent = load(zip_of(tmp_path / "Toy-v0.zip", sb3_data / "ppo-Toy-v0.zip", w, forge))

    def layer(name: str, x: np.ndarray) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    z = rng.normal(size=(6, 5)).astype(np.float32)
    shared = np.maximum(layer("mlp_extractor.shared_net.0", z), 0)
    mean = layer("action_net", np.maximum(layer("mlp_extractor.policy_net.0", shared), 0))
    np.testing.assert_allclose(agent.head(z), mean, atol=1e-5)
    np.testing.assert_allclose(agent.critics["value"](z), layer("value_net", shared)[:, 0], atol=1e-5)


def test_pickles_in_the_json_are_not_run(sb3_data: Path, tmp_path: Path, forge: SimpleNamespace) -> None:
    mark = tmp_path / "mark"
    entry = pickled(forge, forge.Call("os", "system", (f"touch {mark}",)))
    for name in ("policy_class", "policy_kwargs", "observation_space", "action_space", "lr_schedule"):
        path = tmp_path / "Toy-v0.zip"
        rewritten(sb3_data / "ppo-Toy-v0.zip", path, lambda d, name=name: d.update({name: entry}))
        if name == "lr_schedule":
            load(path)
        else:
            with pytest.raises(UserError, match="cannot read"):
                load(path)
    assert not mark.exists()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_zips_only_raise_user_errors(sb3_data: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Mutations of an entry rather than of the zip, whose checksums would catch them all."""
    with zipfile.ZipFile(sb3_data / "ppo-Toy-v0.zip") as archive:
        entries = {name: bytearray(archive.read(name)) for name in ("data", "policy.pth")}
    entries["statistics"] = bytearray((sb3_data / "ppo-Toy-v0_vecnormalize.pkl").read_bytes())
    target = entries[data.draw(st.sampled_from(sorted(entries)))]
    where = st.integers(0, len(target) - 1)
    for at, byte in data.draw(st.lists(st.tuples(where, st.integers(0, 255)), min_size=1, max_size=20)):
        target[at] = byte
    (tmp_path / "vecnormalize.pkl").write_bytes(entries.pop("statistics"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, bytes(content))
    path = tmp_path / "Toy-v0.zip"
    path.write_bytes(buffer.getvalue())
    try:
        load(path)
    except UserError as error:
        assert "\n" not in str(error)
