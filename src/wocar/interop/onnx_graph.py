"""ONNX graphs as data: nodes, constants and one input, checked against what a file can honestly hold."""

from typing import Any, NamedTuple

import numpy as np

from wocar.interop.onnx_writer import onnx_package

MOST_NODES = 4096
MOST_ELEMENTS = 2**27


class Graph(NamedTuple):
    nodes: list[Any]
    constants: dict[str, np.ndarray]
    input: str
    input_type: np.dtype
    input_shape: list[int | None]
    outputs: list[str]
    properties: dict[str, str]

    def path(self) -> list[Any]:
        """The nodes from the input to the output, in order; a ValueError where an output is not computed."""
        made = {name: node for node in self.nodes for name in node.output}
        wanted = "action" if "action" in self.outputs else self.outputs[0]
        found: list[Any] = []
        while wanted != self.input:
            if wanted not in made or len(found) > len(self.nodes):
                raise ValueError("its output does not come from its input")
            found.append(made[wanted])
            open_ends = [name for name in made[wanted].input if name and name not in self.constants]
            if not open_ends:
                raise ValueError("its output does not come from its input")
            wanted = open_ends[0]
        return found[::-1]

    def constants_of(self, node: Any) -> list[np.ndarray]:
        return [self.constants[name] for name in node.input if name in self.constants]

    def first_is_variable(self, node: Any) -> bool:
        """Whether the first input is computed and the others are constants; of sums and products either may be."""
        given = [name in self.constants for name in node.input if name]
        commutes = node.op_type in ("Add", "Mul")
        return given[0] is False and all(given[1:]) if not commutes else sum(given) == len(given) - 1

    def attribute(self, node: Any, name: str, default: Any) -> Any:
        onnx = onnx_package()
        return next((onnx.helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def read_graph(data: bytes) -> Graph:
    """The graph of a file; nothing beside the file is read. A ValueError where it is not an ONNX model of a policy."""
    onnx = onnx_package()
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # of protobuf, whose class differs between versions
        raise ValueError("it is not an ONNX file") from error
    graph = model.graph
    if len(graph.node) > MOST_NODES:
        raise ValueError(f"it has more than {MOST_NODES} nodes")
    if any(node.domain not in ("", "ai.onnx") for node in graph.node) or len(model.functions):
        raise ValueError("it has operators of its own, which only its author's program can run")
    constants = _constants(onnx, graph)
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1 or not graph.output:
        raise ValueError(f"it has {len(inputs)} inputs and {len(graph.output)} outputs: a policy has one and some")
    kind = inputs[0].type.tensor_type
    shape = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim]
    properties = {p.key: p.value for p in model.metadata_props}
    element = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return Graph(
        list(graph.node), constants, inputs[0].name, element, shape, [o.name for o in graph.output], properties
    )


def _constants(onnx: Any, graph: Any) -> dict[str, np.ndarray]:
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            tensors |= {name: a.t for name in node.output for a in node.attribute if a.name == "value"}
    for name, tensor in tensors.items():
        if tensor.external_data or tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise ValueError(f"its weights {name} are in another file")
    if sum(int(np.prod([float(d) for d in tensor.dims])) for tensor in tensors.values()) > MOST_ELEMENTS:
        raise ValueError("it declares more weights than such a file can honestly hold")
    found = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in tensors.items()}
    for name, value in found.items():
        if not np.all(np.isfinite(value)):
            raise ValueError(f"its weights {name} are not finite")
    return found
