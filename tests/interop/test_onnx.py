"""ONNX files as agents, compared with onnxruntime; and files that are none."""

import io
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wocar
from wocar.agent import Agent
from wocar.interop import load
from wocar.networks import (
    CategoricalPolicy,
    GaussianPolicy,
    GreedyPolicy,
    PixelNormaliser,
    RunningNormaliser,
    SquashedPolicy,
    cnn,
    mlp,
)
from wocar.types import ActionSpace, EnvSpec, UserError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
KEY = jax.random.key(0)
ARM = EnvSpec("Pendulum-v1", (3,), ActionSpace(1, np.float32([-2]), np.float32([2])))
CART = EnvSpec("CartPole-v1", (4,), ActionSpace(2))
PIXELS = EnvSpec("Pixels-v0", (4, 36, 36), ActionSpace(3))
SPECS = {spec.id: spec for spec in (ARM, CART, PIXELS)}
RNG = np.random.default_rng(0)
STATISTICS = RunningNormaliser(RNG.normal(size=3), RNG.uniform(20, 900, 3), 100.0, 1.5)


def read(path: Path, env: str | None = None) -> Agent:
    return load(path, env, None, SPECS.__getitem__)


@pytest.mark.parametrize(
    "agent",
    [
        Agent(ARM, STATISTICS, GaussianPolicy(mlp([3, 8, 6, 1], KEY, 3.0), jnp.zeros(1)), {}, {"clip_actions": True}),
        Agent(
            ARM, STATISTICS, SquashedPolicy(mlp([3, 8, 1], KEY, activation="elu"), jnp.array([-2.0]), jnp.array([2.0]))
        ),
        Agent(CART, STATISTICS._replace(mean=np.zeros(4), square=np.ones(4)), CategoricalPolicy(mlp([4, 8, 2], KEY))),
        Agent(PIXELS, PixelNormaliser(), GreedyPolicy(cnn(PIXELS.obs_shape, 3, KEY, dense=16))),
    ],
    ids=["gaussian", "squashed", "discrete", "pixels"],
)
def test_what_we_export_we_import_as_a_network(agent: Agent, tmp_path: Path) -> None:
    wocar.export(agent, "onnx", tmp_path / "x.onnx")
    back = read(tmp_path / "x.onnx")
    shape = (20, *agent.spec.obs_shape)
    obs: Any = (
        RNG.integers(0, 256, shape, np.uint8) if len(shape) == 4 else RNG.normal(size=shape).astype(np.float32) * 3
    )
    np.testing.assert_allclose(back.predict(obs)[0], agent.predict(obs)[0], atol=1e-5)
    z = agent.normaliser(obs)
    np.testing.assert_allclose(back.normaliser(obs), z, atol=1e-5)
    np.testing.assert_allclose(back.head(z), agent.head(z), atol=1e-5)
    assert not back.black_box


@pytest.mark.oracle
@pytest.mark.parametrize("plain", [True, False], ids=["network", "black box"])
def test_a_model_of_torch(plain: bool, tmp_path: Path) -> None:
    """What people export: a Sequential becomes a network; one with a residual connection is called."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    layers = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3), torch.nn.Tanh())
    last = torch.nn.Linear(3, 1)

    class Residual(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.last = layers, last

        def forward(self, x: Any) -> Any:
            return self.last(x + self.layers(x))

    model, obs = (torch.nn.Sequential(layers, last) if plain else Residual()), RNG.normal(size=(9, 3)).astype("f4")
    buffer, axes = io.BytesIO(), {"obs": {0: "batch"}}
    names: dict[str, Any] = {"input_names": ["obs"], "dynamic_axes": axes, "dynamo": False}
    torch.onnx.export(model, (torch.as_tensor(obs),), buffer, **names)
    (tmp_path / "m.onnx").write_bytes(buffer.getvalue())
    agent = read(tmp_path / "m.onnx", "Pendulum-v1")
    assert agent.black_box != plain
    np.testing.assert_allclose(agent.predict(obs)[0], model(torch.as_tensor(obs)).detach().numpy(), atol=1e-5)
    if not plain:
        assert "Add" in agent.meta["notes"][0]
        assert agent.digest() == read(tmp_path / "m.onnx", "Pendulum-v1").digest()


def graph_of(nodes: list[Any], constants: dict[str, np.ndarray], shape: Any = ("batch", 3), **model: Any) -> bytes:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    tensors = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    ends = [helper.make_tensor_value_info(name, kind, size) for name, size in (("x", list(shape)), ("y", None))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def test_products_and_sums_are_dense_layers(tmp_path: Path) -> None:
    """As TensorFlow writes them: MatMul and Add; then a scaled tanh."""
    node, w, v = onnx.helper.make_node, RNG.normal(size=(3, 5)).astype("f4"), RNG.normal(size=(5, 1)).astype("f4")
    nodes = [
        *(node("MatMul", ["x", "w"], ["a"]), node("Add", ["b", "a"], ["c"]), node("Tanh", ["c"], ["d"])),
        *(node("MatMul", ["d", "v"], ["e"]), node("Tanh", ["e"], ["f"]), node("Mul", ["f", "two"], ["y"])),
    ]
    data = graph_of(nodes, {"w": w, "v": v, "b": RNG.normal(size=5).astype("f4"), "two": np.float32(2)})
    (tmp_path / "m.onnx").write_bytes(data)
    agent, obs = read(tmp_path / "m.onnx", "Pendulum-v1"), RNG.normal(size=(7, 3)).astype("f4")
    assert not agent.black_box
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(agent.head(obs), session.run(None, {"x": obs})[0], atol=1e-5)


def test_a_graph_for_single_observations(tmp_path: Path) -> None:
    """As exported without dynamic axes; a fixed batch of several cannot be used."""
    node, w = onnx.helper.make_node, RNG.normal(size=(3, 1)).astype("f4")
    nodes = [node("Sin", ["x"], ["a"]), node("MatMul", ["a", "w"], ["y"])]
    for size in (1, 4):
        (tmp_path / f"{size}.onnx").write_bytes(graph_of(nodes, {"w": w}, (size, 3)))
    agent, obs = read(tmp_path / "1.onnx", "Pendulum-v1"), RNG.normal(size=(7, 3)).astype("f4")
    assert agent.black_box
    np.testing.assert_allclose(agent.predict(obs)[0], np.sin(obs) @ w, atol=1e-5)
    with pytest.raises(UserError, match="batches of 4"):
        read(tmp_path / "4.onnx", "Pendulum-v1")


def test_hostile_files_are_one_line(tmp_path: Path) -> None:
    node, w = onnx.helper.make_node, np.ones((3, 1), "f4")
    dense = node("MatMul", ["x", "w"], ["y"])
    elsewhere = onnx.load_model_from_string(graph_of([dense], {"w": w}))
    tensor = elsewhere.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    huge = onnx.load_model_from_string(graph_of([dense], {"w": w}))
    huge.graph.initializer[0].dims[:] = [2**40, 2**22]
    doubling = [node("Concat", [f"t{i}", f"t{i}"], [f"t{i + 1}"], axis=1) for i in range(40)]
    doubling = [node("Identity", ["x"], ["t0"]), *doubling, node("ReduceSum", ["t40", "one"], ["y"])]
    cases = {
        b"": "is not an ONNX file|inputs",
        b"not a model": "not an ONNX file",
        elsewhere.SerializeToString(): "are in another file",
        huge.SerializeToString(): "more weights than such a file",
        graph_of([node("Evil", ["x"], ["y"], domain="mine")], {}): "operators of its own",
        graph_of([node("Tanh", ["x"], ["y"])] * 5000, {}): "more than 4096 nodes",
        graph_of([node("Tanh", ["z"], ["y"])], {}): "does not come from its input",
        graph_of([dense], {"w": np.full((3, 1), np.nan, "f4")}): "not finite",
        graph_of([node("MatMul", ["x", "w"], ["y"])], {"w": np.ones((3, 2), "f4")}): r"outputs have shape \(2,\)",
        graph_of([dense], {"w": w}, ("batch", 4)): r"it sees \(4,\)",
        graph_of(doubling, {"one": np.array([1])}): "cannot run",
    }
    for data, reason in cases.items():
        (tmp_path / "m.onnx").write_bytes(data)
        with pytest.raises(UserError, match=reason) as caught:
            read(tmp_path / "m.onnx", "Pendulum-v1")
        assert "\n" not in str(caught.value)
    (tmp_path / "m.onnx").write_bytes(graph_of([dense], {"w": w}))
    with pytest.raises(UserError, match="give --env"):
        read(tmp_path / "m.onnx")


@pytest.mark.parametrize("seed", range(60))
def test_mutated_files_only_raise_user_errors(seed: int, tmp_path: Path) -> None:
    node = onnx.helper.make_node
    data = bytearray(graph_of([node("MatMul", ["x", "w"], ["y"])], {"w": np.ones((3, 1), "f4")}))
    rng = np.random.default_rng(seed)
    for at in rng.integers(0, len(data), rng.integers(1, 6)):
        data[at] = rng.integers(0, 256)
    (tmp_path / "m.onnx").write_bytes(bytes(data))
    try:
        read(tmp_path / "m.onnx", "Pendulum-v1")
    except UserError as error:
        assert "\n" not in str(error)
