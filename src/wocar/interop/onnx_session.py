"""ONNX graphs that are no plain network, run by onnxruntime: first once in a process of its own, with limits."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from wocar.black_box import BlackBoxAgent, black_box
from wocar.interop.onnx_graph import Graph
from wocar.interop.onnx_writer import onnx_package
from wocar.types import EnvSpec, UserError

SECONDS, GIGABYTES = 20, 4
REFUSED = {"Loop", "Scan", "If", "SequenceMap"}
"""Operators with graphs of their own, which need not end."""
TRIAL = """
import resource, sys
import numpy as np
most = int(sys.argv[3]) << 30
resource.setrlimit(resource.RLIMIT_AS, (most, most))
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[4]),) * 2)
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 4
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
kind, *shape = sys.argv[2].split(",")
session.run(None, {session.get_inputs()[0].name: np.zeros(list(map(int, shape)), kind)})
"""


def onnx_black_box(data: bytes, name: str, graph: Graph, spec: EnvSpec, meta: dict[str, Any]) -> BlackBoxAgent:
    """The graph as a policy that is only called."""
    runtime = onnx_package("onnxruntime")
    loops = {node.op_type for node in graph.nodes} & REFUSED
    if loops:
        raise UserError(f"cannot run {name}: its operator {min(loops)} need not end")
    if graph.input_shape[1:] != list(spec.obs_shape):
        seen = tuple(graph.input_shape[1:])
        raise UserError(f"cannot run {name}: it sees {seen}, observations of {spec.id} are {spec.obs_shape}")
    if graph.input_shape[0] not in (None, 1):
        raise UserError(f"cannot run {name}: it takes batches of {graph.input_shape[0]}; export it for 1 or any number")
    single = graph.input_shape[0] == 1
    _try(data, name, graph, (1 if single else 2, *spec.obs_shape))
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    output = "action" if "action" in graph.outputs else graph.outputs[0]

    def act(obs: np.ndarray) -> np.ndarray:
        batch = obs if obs.shape != spec.obs_shape else obs[None]
        parts = np.split(batch, len(batch)) if single else [batch]
        found = [session.run([output], {graph.input: np.asarray(part, graph.input_type)})[0] for part in parts]
        actions = np.concatenate(found)
        if spec.actions.discrete and actions.ndim == 2:
            actions = actions.argmax(axis=1)
        return actions if obs.shape != spec.obs_shape else actions[0]

    return black_box(act, spec, meta)


def _try(data: bytes, name: str, graph: Graph, shape: tuple[int, ...]) -> None:
    """Run the graph elsewhere on a batch of this shape; a UserError where it fails, takes too long or much memory."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.onnx"
        file.write_bytes(data)
        about = ",".join([graph.input_type.name, *map(str, shape)])
        command = [sys.executable, "-I", "-c", TRIAL, str(file), about, str(GIGABYTES), str(SECONDS)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=3 * SECONDS, cwd=folder)
        except subprocess.TimeoutExpired:
            raise UserError(f"cannot run {name}: it does not end within {3 * SECONDS} s") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        reason = "".join(c if c.isprintable() else " " for c in said[-1])[:160] if said else "it was stopped"
        raise UserError(f"cannot run {name} within {GIGABYTES} GB and {SECONDS} s: {reason}")
