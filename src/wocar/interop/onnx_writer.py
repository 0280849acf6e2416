"""Agents as ONNX graphs, the observation normaliser inside: raw observations in, the environment's actions out."""

import importlib
import math
from typing import Any

import equinox as eqx
import numpy as np

from wocar.agent import Agent
from wocar.interop.activation_names import ONNX_ACTIVATIONS
from wocar.networks import PixelNormaliser, RecurrentPolicy
from wocar.networks.layers import ACTIVATIONS
from wocar.networks.normaliser import affine
from wocar.types import UserError

OPSET, IR_VERSION = 17, 8


def onnx_package(name: str = "onnx") -> Any:
    """The package, where it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UserError("ONNX needs packages that are not installed: pip install 'wocar[onnx]'") from None


def onnx_file(agent: Agent) -> bytes:
    """A checked model: `observation` (batch, *shape) to `action` and to `head`, the mean, logits or Q-values."""
    if isinstance(agent.policy, RecurrentPolicy):
        raise UserError("a recurrent policy has a memory, which this export does not write")
    onnx = onnx_package()
    graph = _Graph(onnx)
    pixels, actions = isinstance(agent.normaliser, PixelNormaliser), agent.spec.actions
    head = graph.network(agent.policy.network, graph.normalised(agent, "observation"))
    graph.rename(head, "head")
    if actions.discrete:
        graph.add("ArgMax", ["head"], output="action", axis=1, keepdims=0)
    elif agent.meta.get("clip_actions"):
        low, high = (graph.constant(np.asarray(x, np.float32)) for x in (actions.low, actions.high))
        graph.add("Min", [graph.add("Max", ["head", low]), high], output="action")
    else:
        graph.add("Identity", ["head"], output="action")
    types = onnx.TensorProto
    seen = onnx.helper.make_tensor_value_info(
        "observation", types.UINT8 if pixels else types.FLOAT, ["batch", *agent.spec.obs_shape]
    )
    shown = [
        onnx.helper.make_tensor_value_info("action", types.INT64, ["batch"])
        if actions.discrete
        else onnx.helper.make_tensor_value_info("action", types.FLOAT, ["batch", actions.size]),
        onnx.helper.make_tensor_value_info("head", types.FLOAT, ["batch", actions.size]),
    ]
    made = onnx.helper.make_graph(graph.nodes, "policy", [seen], shown, graph.constants)
    opset = onnx.helper.make_opsetid("", OPSET)
    model = onnx.helper.make_model(made, producer_name="wocar", opset_imports=[opset], ir_version=IR_VERSION)
    onnx.helper.set_model_props(model, {"env": agent.spec.id, "method": str(agent.meta.get("method", ""))})
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString()
    return data


class _Graph:
    """Nodes and constants in the order in which they are computed."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, inputs: list[str], output: str | None = None, **attributes: Any) -> str:
        output = output or f"x{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, value: np.ndarray | np.generic) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def rename(self, old: str, new: str) -> None:
        """Another name for the output of the last node."""
        self.nodes[-1].output[0] = new

    def normalised(self, agent: Agent, x: str) -> str:
        """What the policy sees of an observation, in double precision up to the clip, as the agent computes it."""
        types = self._onnx.TensorProto
        if isinstance(agent.normaliser, PixelNormaliser):
            brightest = self.constant(np.float32(agent.normaliser.brightest))
            return self.add("Div", [self.add("Cast", [x], to=types.FLOAT), brightest])
        mean, scale = affine(agent.normaliser)
        clip = agent.normaliser.clip
        if not np.any(mean) and np.all(scale == 1) and math.isinf(clip):
            return x
        z = self.add("Sub", [self.add("Cast", [x], to=types.DOUBLE), self.constant(np.asarray(mean, np.float64))])
        z = self.add("Div", [z, self.constant(np.asarray(scale, np.float64))])
        if not math.isinf(clip):
            z = self.add("Clip", [z, *(self.constant(np.float64(bound)) for bound in (-clip, clip))])
        return self.add("Cast", [z], to=types.FLOAT)

    def network(self, network: eqx.nn.Sequential, x: str) -> str:
        for layer in network.layers:
            x = self._layer(layer, x)
        return x

    def _layer(self, layer: Any, x: str) -> str:
        if isinstance(layer, eqx.nn.Linear):
            dense = [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
            return self.add("Gemm", [x, *(self.constant(np.asarray(part)) for part in dense)], transB=1)
        if isinstance(layer, eqx.nn.Conv2d) and not isinstance(layer.padding, str):
            bias: list[str] = [] if layer.bias is None else [self.constant(np.asarray(layer.bias).reshape(-1))]
            pads = [side[i] for i in (0, 1) for side in layer.padding]
            sizes: dict[str, Any] = {"strides": list(layer.stride), "pads": pads, "dilations": list(layer.dilation)}
            return self.add("Conv", [x, self.constant(np.asarray(layer.weight)), *bias], group=layer.groups, **sizes)
        if isinstance(layer, eqx.nn.Identity):
            return self.add("Identity", [x])
        names = [name for name, fn in ACTIVATIONS.items() if isinstance(layer, eqx.nn.Lambda) and fn is layer.fn]
        if not names:
            raise UserError(f"its layer {type(layer).__name__} has no counterpart in ONNX here")
        if names[0] == "flatten":
            return self.add("Flatten", [x], axis=1)
        if names[0] == "silu":
            return self.add("Mul", [x, self.add("Sigmoid", [x])])
        if names[0] == "gelu":  # an operator of its own only in later versions
            half, root = self.constant(np.float32(0.5)), self.constant(np.float32(0.5**0.5))
            share = self.add("Add", [self.add("Mul", [self.add("Erf", [self.add("Mul", [x, root])]), half]), half])
            return self.add("Mul", [x, share])
        return self.add(ONNX_ACTIVATIONS[names[0]], [x])
