"""Pickles and torch files put together opcode by opcode, honest ones and others, without torch."""

import io
import os
import pickle
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


@dataclass
class Name:
    module: str
    name: str


@dataclass
class Call:
    """What a pickle would call: `module.name(*args)`, then with a state."""

    module: str
    name: str
    args: tuple = ()
    state: Any = None


@dataclass
class Writer:
    """A pickler that needs none of the classes it names; tensors become storages to be written beside the pickle."""

    storages: list[np.ndarray] = field(default_factory=list)

    def dump(self, value: Any) -> bytes:
        return b"\x80\x02" + self.code(value) + b"."

    def code(self, value: Any) -> bytes:
        if isinstance(value, np.ndarray) and value.dtype == np.float32:
            return self.code(self._tensor(value))
        if isinstance(value, np.ndarray):
            return self.code(numpy_array(value))
        if isinstance(value, Name):
            return f"c{value.module}\n{value.name}\n".encode()
        if isinstance(value, Call):
            code = self.code(Name(value.module, value.name)) + self.code(value.args) + b"R"
            return code if value.state is None else code + self.code(value.state) + b"b"
        if isinstance(value, Persistent):
            return self.code(value.id) + b"Q"
        if isinstance(value, tuple):
            return b"(" + b"".join(map(self.code, value)) + b"t"
        if isinstance(value, list):
            return b"](" + b"".join(map(self.code, value)) + b"e"
        if isinstance(value, dict):
            return b"}(" + b"".join(self.code(k) + self.code(v) for k, v in value.items()) + b"u"
        return pickle.dumps(value, 2)[2:-1]

    def _tensor(self, value: np.ndarray) -> Call:
        self.storages.append(value)
        id = ("storage", Name("torch", "FloatStorage"), str(len(self.storages) - 1), "cpu", value.size)
        strides = tuple(int(s) // 4 for s in value.strides)
        return Call("torch._utils", "_rebuild_tensor_v2", (Persistent(id), 0, value.shape, strides))


@dataclass
class Persistent:
    id: Any


def numpy_array(value: np.ndarray) -> Call:
    dtype = Call("numpy", "dtype", (value.dtype.str[1:], False, True), (3, "<", None, None, None, -1, -1, 0))
    data = Call("_codecs", "encode", (value.tobytes().decode("latin1"), "latin1"))
    start = (Name("numpy", "ndarray"), (0,), "b")
    return Call("numpy.core.multiarray", "_reconstruct", start, (1, value.shape, dtype, False, data))


def torch_zip(tree: Any, compression: int = zipfile.ZIP_STORED) -> bytes:
    writer, buffer = Writer(), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("archive/data.pkl", writer.dump(tree))
        for key, storage in enumerate(writer.storages):
            archive.writestr(f"archive/data/{key}", storage.tobytes())
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


def torch_stream(tree: Any) -> bytes:
    writer = Writer()
    system = {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": {"int": 4}}
    head = b"".join(writer.dump(part) for part in (MAGIC, PROTOCOL, system, tree))
    keys = writer.dump([str(key) for key in range(len(writer.storages))])
    return head + keys + b"".join(struct.pack("<q", s.size) + s.tobytes() for s in writer.storages)


def statistics(mean: np.ndarray, square: np.ndarray, n: int) -> Call:
    return Call("policy_gradients.torch_utils", "RunningStat", (), {"_n": n, "_M": mean, "_S": square})


def model_tree(rng: np.random.Generator, sizes: tuple[int, int] = (4, 2), lstm: bool = False) -> dict[str, Any]:
    """A published file's dict: victim, value, adversary and the environment wrapper with its filters."""
    d, k = sizes

    def weights(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    def dense(name: str, out: int, into: int) -> dict[str, np.ndarray]:
        return {f"{name}.weight": weights(out, into), f"{name}.bias": weights(out)}

    def network(out: int, final: str, recurrent_final: str) -> Call:
        layers = dense("affine_layers.0", 6, d) | dense("affine_layers.1", 5, 6) | dense(final, out, 5)
        if lstm:
            layers |= dense("embedding_layer", 3, d) | dense(recurrent_final, out, 5)
            layers |= {"lstm.weight_ih_l0": weights(20, 3), "lstm.weight_hh_l0": weights(20, 5)}
            layers |= {"lstm.bias_ih_l0": weights(20), "lstm.bias_hh_l0": weights(20)}
        log_std = {"log_stdev": weights(out)} if final == "final_mean" else {}
        return Call("collections", "OrderedDict", ([list(pair) for pair in (log_std | layers).items()],))

    box = {"low": numpy_array(-2 * np.ones(k, "f8")), "high": numpy_array(3 * np.ones(k, "f8"))}
    inner = {"action_space": Call("gym.spaces.box", "Box", (), box)}
    limit = {"env": Call("gym.envs.mujoco.hopper", "HopperEnv", (), inner), "_max_episode_steps": 700}
    filters = {
        "state_filter": Call(
            "policy_gradients.torch_utils",
            "ZFilter",
            (),
            {
                "center": True,
                "scale": True,
                "clip": 5.0,
                "rs": statistics(rng.normal(size=d), rng.uniform(1, 9, d), 10),
            },
        ),
        "reward_filter": Call(
            "policy_gradients.torch_utils",
            "RewardFilter",
            (),
            {"rs": statistics(np.array([2.0]), np.array([36.0]), 10)},
        ),
    }
    wrapper = {"env": Call("gym.wrappers.time_limit", "TimeLimit", (), limit), **filters}
    return {
        "policy_model": network(k, "final_mean", "output_layer"),
        "val_model": network(1, "final", "final"),
        "adversary_policy_model": network(d, "final_mean", "output_layer"),
        "adversary_val_model": network(1, "final", "final"),
        "envs": [Call("policy_gradients.custom_env", "Env", (), wrapper)],
    }


@pytest.fixture(scope="session")
def forge() -> SimpleNamespace:
    """The tools of this file."""
    return SimpleNamespace(
        Name=Name,
        Call=Call,
        Persistent=Persistent,
        Writer=Writer,
        numpy_array=numpy_array,
        torch_zip=torch_zip,
        torch_stream=torch_stream,
        model_tree=model_tree,
    )


@pytest.fixture(scope="session")
def sb3_data() -> Path:
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def published_folder() -> Path:
    """The published files, which are not ours to ship."""
    folder = Path(os.environ.get("WOCAR_PUBLISHED_AGENTS", ROOT.parent / "shared" / "agents"))
    if not list(folder.glob("*.model")):
        pytest.skip("the published agents are not here: set WOCAR_PUBLISHED_AGENTS to their folder")
    return folder
