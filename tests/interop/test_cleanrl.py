"""CleanRL's checkpoints, compared with PyTorch modules of the layout that its scripts write."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wocar.agent import Agent
from wocar.interop import findings, load
from wocar.types import ActionSpace, EnvSpec, UserError

LOW, HIGH = np.float32([-0.5, -2]), np.float32([1, 0.5])
SPECS = {
    "Flat-v0": EnvSpec("Flat-v0", (5,), ActionSpace(2, LOW, HIGH)),
    "Pick-v0": EnvSpec("Pick-v0", (5,), ActionSpace(3)),
    "Pixels-v0": EnvSpec("Pixels-v0", (4, 36, 36), ActionSpace(3)),
}
RNG = np.random.default_rng(0)


def read(path: Path, env: str | None = None) -> Agent:
    return load(path, env, None, SPECS.__getitem__)


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def sequential(torch: Any, sizes: list[int], between: Any) -> Any:
    layers: list[Any] = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [torch.nn.Linear(fan_in, fan_out), between()]
    return torch.nn.Sequential(*layers[:-1])


@pytest.mark.oracle
@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "stream"])
def test_continuous_ppo(torch: Any, legacy: bool, tmp_path: Path) -> None:
    agent = torch.nn.Module()
    agent.critic, agent.actor_mean = (sequential(torch, [5, 8, 8, n], torch.nn.Tanh) for n in (1, 2))
    agent.actor_logstd = torch.nn.Parameter(torch.tensor([[-0.5, 0.25]]))
    folder = tmp_path / "Flat-v0__ppo_continuous_action__1__17"
    folder.mkdir()
    path = folder / "ppo_continuous_action.cleanrl_model"
    torch.save(agent.state_dict(), path, _use_new_zipfile_serialization=not legacy)
    found, obs = read(path), RNG.normal(size=(20, 5)).astype("f4")
    x = torch.as_tensor(obs)
    np.testing.assert_allclose(found.head(obs), agent.actor_mean(x).detach().numpy(), atol=1e-5)
    np.testing.assert_allclose(found.critics["value"](obs), agent.critic(x).detach().numpy()[:, 0], atol=1e-5)
    np.testing.assert_allclose(found.policy.log_std, [-0.5, 0.25])
    assert np.all((found.predict(9 * obs)[0] >= LOW) & (found.predict(9 * obs)[0] <= HIGH))
    assert "statistics that its file does not hold" in findings(found)[0]


@pytest.mark.oracle
def test_discrete_ppo_and_dqn(torch: Any, tmp_path: Path) -> None:
    agent, obs = torch.nn.Module(), RNG.normal(size=(20, 5)).astype("f4")
    agent.critic, agent.actor = (sequential(torch, [5, 8, 8, n], torch.nn.Tanh) for n in (1, 3))
    q = torch.nn.Module()
    q.network = sequential(torch, [5, 12, 8, 3], torch.nn.ReLU)
    for module, head, name in ((agent, agent.actor, "ppo"), (q, q.network, "dqn")):
        torch.save(module.state_dict(), tmp_path / "Pick-v0.pt")
        found = read(tmp_path / "Pick-v0.pt")
        assert found.meta["method"] == name
        np.testing.assert_allclose(found.head(obs), head(torch.as_tensor(obs)).detach().numpy(), atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("script", ["ppo", "dqn"])
def test_images(torch: Any, script: str, tmp_path: Path) -> None:
    nn, module = torch.nn, torch.nn.Module()
    layers = [nn.Conv2d(4, 32, 8, stride=4), nn.ReLU(), nn.Conv2d(32, 64, 4, stride=2), nn.ReLU()]
    layers += [nn.Conv2d(64, 64, 3, stride=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 16), nn.ReLU()]
    obs = RNG.integers(0, 256, (6, 4, 36, 36), np.uint8)
    x = torch.as_tensor(obs / np.float32(255))
    if script == "ppo":
        module.network, module.actor, module.critic = nn.Sequential(*layers), nn.Linear(16, 3), nn.Linear(16, 1)
        head = module.actor(module.network(x))
    else:
        module.network = nn.Sequential(*layers, nn.Linear(16, 3))
        head = module.network(x)
    torch.save(module.state_dict(), tmp_path / "x.cleanrl_model")
    found = read(tmp_path / "x.cleanrl_model", "Pixels-v0")
    np.testing.assert_allclose(found.head(found.normaliser(obs)), head.detach().numpy(), atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("script", ["sac", "td3"])
def test_squashed_actors(torch: Any, script: str, tmp_path: Path) -> None:
    nn, last = torch.nn, "fc_mean" if script == "sac" else "fc_mu"
    actor, critics = nn.Module(), [nn.Module(), nn.Module()]
    actor.fc1, actor.fc2 = nn.Linear(5, 8), nn.Linear(8, 8)
    setattr(actor, last, nn.Linear(8, 2))
    if script == "sac":
        actor.fc_logstd = nn.Linear(8, 2)
    actor.register_buffer("action_scale", torch.as_tensor((HIGH - LOW) / 2)[None])
    actor.register_buffer("action_bias", torch.as_tensor((HIGH + LOW) / 2)[None])
    for critic in critics:
        critic.fc1, critic.fc2, critic.fc3 = nn.Linear(7, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    states = [module.state_dict() for module in (actor, *critics)]
    torch.save(states[0] if script == "sac" else tuple(states), tmp_path / "x.pt")
    found, obs = read(tmp_path / "x.pt", "Flat-v0"), RNG.normal(size=(20, 5)).astype("f4")
    relu, x = torch.relu, torch.as_tensor(obs)
    action = torch.tanh(getattr(actor, last)(relu(actor.fc2(relu(actor.fc1(x)))))) * actor.action_scale
    action = (action + actor.action_bias).detach()
    np.testing.assert_allclose(found.predict(obs)[0], action.numpy(), atol=1e-5)
    if script == "td3":
        for name, critic in zip(("q", "q-twin"), critics, strict=True):
            q = critic.fc3(relu(critic.fc2(relu(critic.fc1(torch.cat([x, action], 1))))))
            np.testing.assert_allclose(found.critics[name](obs, action.numpy()), q.detach().numpy()[:, 0], atol=1e-5)


@pytest.mark.oracle
def test_whole_modules_and_programs_say_what_to_save(torch: Any, tmp_path: Path) -> None:
    model = sequential(torch, [5, 4, 3], torch.nn.Tanh)
    torch.save(model, tmp_path / "whole.pt")
    torch.jit.script(model).save(tmp_path / "program.pt")
    for name, reason in (("whole", "a whole module; save its state_dict"), ("program", "a program of torch.jit")):
        with pytest.raises(UserError, match=reason):
            read(tmp_path / f"{name}.pt", "Pick-v0")


def test_other_files_are_one_line(tmp_path: Path, forge: SimpleNamespace) -> None:
    one, mark = np.ones((3, 5), "f4"), tmp_path / "mark"
    cases = {
        b"": "not a torch file",
        b"\x80junk": "cannot read",
        forge.torch_zip({"a": one}): "other names than those of CleanRL",
        forge.torch_zip({"network.0.weight": one}): "no weights network.0.bias",
        forge.torch_zip({"network.0.weight": one, "network.0.bias": one}): "have shape",
        forge.torch_zip({"network.0.weight": one.T, "network.0.bias": one[:, 0]}): "shape|fit",
        forge.torch_zip({"actor_mean.0.weight": one}): "continuous, those of Pick-v0 are not",
        forge.torch_zip({"fc_mu.weight": one}): "no weights action_scale",
        forge.torch_zip(forge.Call("os", "system", (f"touch {mark}",))): "no weights",
        forge.torch_zip([]): "cannot read",
    }
    for data, reason in cases.items():
        (tmp_path / "x.pt").write_bytes(data)
        with pytest.raises(UserError, match=reason) as caught:
            read(tmp_path / "x.pt", "Pick-v0")
        assert "\n" not in str(caught.value)
    assert not mark.exists()
    with pytest.raises(UserError, match="give --env"):
        (tmp_path / "x.pt").write_bytes(forge.torch_zip({"a": one}))
        load(tmp_path / "x.pt", None, None, SPECS.__getitem__)
