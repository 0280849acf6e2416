"""ONNX files as agents: sequential dense and convolutional graphs become networks, others black boxes."""

import hashlib
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.interop.activation_names import ONNX_ACTIVATIONS
from wocar.interop.onnx_graph import Graph, read_graph
from wocar.interop.onnx_session import onnx_black_box
from wocar.interop.restricted import one_line_refusal
from wocar.interop.weights import activation, checked
from wocar.networks import GaussianPolicy, GreedyPolicy, PixelNormaliser, ScaledNormaliser, conv2d, linear
from wocar.networks.layers import forward
from wocar.types import EnvSpec, UserError

OURS = {theirs: ours for ours, theirs in ONNX_ACTIVATIONS.items()}


class NotSequentialError(Exception):
    """The graph is more than layers one after the other."""


def is_onnx(path_name: str) -> bool:
    return path_name.lower().endswith(".onnx")


def load_onnx(data: bytes, name: str, env: str | None, spec_of: Callable[[str], EnvSpec]) -> Agent:
    """The agent of an ONNX file; its environment's id is given, or among the file's properties."""
    with one_line_refusal(name):
        graph = read_graph(data)
    id = env or graph.properties.get("env")
    if not id:
        raise UserError(f"{name} does not tell its environment: give --env")
    spec = spec_of(id)
    meta = {"method": graph.properties.get("method") or "onnx", "source": name, "library": "onnx"}
    try:
        return white_box(graph, name, spec, meta)
    except NotSequentialError as reason:
        about = meta | {"digest": hashlib.sha256(data).hexdigest(), "notes": [f"{reason}: it is a black box here"]}
        return onnx_black_box(data, name, graph, spec, about)


def white_box(graph: Graph, name: str, spec: EnvSpec, meta: dict[str, Any]) -> Agent:
    """The graph as a network; a NotSequentialError where it is none."""
    with one_line_refusal(name):
        chain = _Chain(graph, spec)
        while chain.node < len(chain.nodes):
            chain.step()
        network = eqx.nn.Sequential(chain.layers)
        if chain.picks and not spec.actions.discrete:
            raise ValueError(f"it picks one of several actions, those of {spec.id} are continuous")
        normaliser = chain.normaliser or ScaledNormaliser.identity(spec.obs_shape)
        size = jax.eval_shape(lambda x: forward(network, x), jnp.zeros((1, *spec.obs_shape), jnp.float32)).shape
        if size != (1, spec.actions.size):
            raise ValueError(f"its outputs have shape {size[1:]}, the actions of {spec.id} {(spec.actions.size,)}")
        if spec.actions.discrete:
            return checked(Agent(spec, normaliser, GreedyPolicy(network), {}, meta))
        log_std = jnp.full(spec.actions.size, math.log(0.1), jnp.float32)
        return checked(Agent(spec, normaliser, GaussianPolicy(network, log_std), {}, meta | chain.cut))


class _Chain:
    """The layers of a graph in which each node has one predecessor; a normaliser before the first of them."""

    def __init__(self, graph: Graph, spec: EnvSpec) -> None:
        self.graph, self.spec, self.nodes = graph, spec, graph.path()
        self.node = 0
        self.layers: list[Any] = []
        self.mean, self.scale, self.clip = np.zeros(spec.obs_shape), np.ones(spec.obs_shape), math.inf
        self.normalises = self.picks = False
        self.cut: dict[str, Any] = {}
        if graph.input_shape[1:] != list(spec.obs_shape):
            raise ValueError(f"it sees {tuple(graph.input_shape[1:])}, observations of {spec.id} are {spec.obs_shape}")

    @property
    def normaliser(self) -> Any:
        if self.spec.limits is not None and not np.any(self.mean) and np.all(self.scale == 255):
            return PixelNormaliser()
        return ScaledNormaliser(self.mean, self.scale, self.clip) if self.normalises else None

    def step(self) -> None:
        node = self.nodes[self.node]
        self.node += 1
        kind, constants = node.op_type, self.graph.constants_of(node)
        if not self.layers and kind in ("Sub", "Add", "Div", "Mul", "Clip"):
            self._normalise(kind, node, constants)
        elif kind in ("Gemm", "MatMul"):
            self._dense(kind, node, constants)
        elif kind == "Conv":
            self._convolution(node, constants)
        elif kind not in ("Identity", "Cast", "Dropout"):
            self._between(kind, node, constants)

    def _between(self, kind: str, node: Any, constants: list[np.ndarray]) -> None:
        """What stands between layers and behind the last."""
        last = self.node == len(self.nodes)
        if kind in ("Flatten", "Reshape"):
            if len(self.spec.obs_shape) > 1 and not any(isinstance(la, eqx.nn.Linear) for la in self.layers):
                self.layers.append(activation("flatten"))
        elif kind in OURS and self._usual(kind, node):
            self.layers.append(activation(OURS[kind]))
        elif kind in ("Add", "Sub", "Mul", "Div") and len(constants) == 1 and self.graph.first_is_variable(node):
            self._affine(kind, constants[0])
        elif last and kind == "ArgMax":
            self.picks = True
        elif kind in ("Clip", "Min", "Max") and self._is_action_range(kind, constants):
            self.cut = {"clip_actions": True}
        else:
            raise NotSequentialError(f"its operator {kind} is no layer of a plain network")

    def _usual(self, kind: str, node: Any) -> bool:
        usual = {"Elu": 1.0, "LeakyRelu": 0.01}.get(kind)
        return usual is None or math.isclose(self.graph.attribute(node, "alpha", usual), usual, rel_tol=1e-6)

    def _normalise(self, kind: str, node: Any, constants: list[np.ndarray]) -> None:
        """z = clip((o - mean) / scale)."""
        ends = [float(c.reshape(())) for c in constants if c.size == 1] if kind == "Clip" else []
        if len(ends) == len(constants) == 2 and ends[0] == -ends[1] < 0:
            self.clip = min(self.clip, ends[1])
            self.normalises = True
            return
        if kind == "Clip" or len(constants) != 1 or not self.graph.first_is_variable(node) or math.isfinite(self.clip):
            raise NotSequentialError(f"its {kind} before the first layer is no normaliser")
        value = np.broadcast_to(np.asarray(constants[0], np.float64), self.spec.obs_shape)
        if kind in ("Sub", "Add"):
            self.mean = self.mean + (value if kind == "Sub" else -value) * self.scale
        else:
            self.scale = self.scale * (value if kind == "Div" else 1 / value)
        if not np.all(self.scale > 0):
            raise NotSequentialError("its normaliser changes signs")
        self.normalises = True

    def _dense(self, kind: str, node: Any, constants: list[np.ndarray]) -> None:
        if not constants or not self.graph.first_is_variable(node) or constants[0].ndim != 2:
            raise NotSequentialError(f"its {kind} is no dense layer")
        weight, *bias = constants
        if kind == "Gemm":
            given = {name: self.graph.attribute(node, name, 0 if "trans" in name else 1.0) for name in GEMM}
            if given["transA"] or (given["alpha"], given["beta"]) != (1.0, 1.0):
                raise NotSequentialError("its Gemm is no dense layer")
            weight = weight if given["transB"] else weight.T
        else:
            weight = weight.T
        shift = np.broadcast_to(bias[0], (len(weight),)) if bias else np.zeros(len(weight), np.float32)
        self.layers.append(linear(weight, shift))

    def _affine(self, kind: str, value: np.ndarray) -> None:
        """A sum or product with constants, taken into the dense layer before it or as a layer of its own."""
        last = self.layers[-1] if self.layers else None
        width = self._width()
        value = np.broadcast_to(np.asarray(value, np.float32).reshape(-1), (width,))
        factor = {"Mul": value, "Div": 1 / value}.get(kind, np.ones(width, np.float32))
        shift = {"Add": value, "Sub": -value}.get(kind, np.zeros(width, np.float32))
        if isinstance(last, eqx.nn.Linear):
            self.layers[-1] = linear(last.weight * factor[:, None], jnp.asarray(last.bias) * factor + shift)
        else:
            self.layers.append(linear(np.diag(factor), shift))

    def _width(self) -> int:
        dense = [layer for layer in self.layers if isinstance(layer, eqx.nn.Linear)]
        if not dense:
            raise NotSequentialError("it computes with constants before its first dense layer")
        return int(dense[-1].out_features)

    def _convolution(self, node: Any, constants: list[np.ndarray]) -> None:
        pads = self.graph.attribute(node, "pads", [0, 0, 0, 0])
        odd = self.graph.attribute(node, "group", 1) != 1 or {*self.graph.attribute(node, "dilations", [1])} != {1}
        if odd or not constants or constants[0].ndim != 4 or list(pads[:2]) != list(pads[2:]):
            raise NotSequentialError("its Conv is no plain convolution")
        bias = constants[1] if len(constants) > 1 else np.zeros(len(constants[0]), np.float32)
        strides = self.graph.attribute(node, "strides", [1, 1])
        self.layers.append(conv2d(constants[0], bias, tuple(strides), tuple(pads[:2])))

    def _is_action_range(self, kind: str, constants: list[np.ndarray]) -> bool:
        low, high = self.spec.actions.low, self.spec.actions.high
        wanted = {"Clip": [low, high], "Max": [low], "Min": [high]}[kind]
        same = [w is not None and np.allclose(c, w) for c, w in zip(constants, wanted, strict=False)]
        return len(constants) == len(wanted) and all(same)


GEMM = ("transA", "transB", "alpha", "beta")
