"""Files made to hang, crash or exhaust the importer: one line each, soon, with little memory."""

import io
import json
import os
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wocar.agent import Agent, load_agent
from wocar.bounded_json import parse_json
from wocar.interop import load
from wocar.networks import GreedyPolicy, ScaledNormaliser, mlp
from wocar.types import ActionSpace, EnvSpec, UserError

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
SYSTEM = {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": {}}


@contextmanager
def cheap(megabytes: float = 64, seconds: float = 10) -> Iterator[None]:
    """What runs inside allocates and takes little. (Processor time: others may be busy.)"""
    tracemalloc.start()
    start = time.process_time()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1e6
        assert time.process_time() - start < seconds
    finally:
        tracemalloc.stop()


def refused(path: Path, reason: str) -> None:
    with cheap(), pytest.raises(UserError, match=reason) as caught:
        load(path, "Toy-v0")
    assert "\n" not in str(caught.value)


def stream(forge: SimpleNamespace, keys: bytes) -> bytes:
    """A legacy torch file whose list of storage keys is this pickle."""
    head = b"".join(forge.Writer().dump(part) for part in (MAGIC, PROTOCOL, SYSTEM, {}))
    return head + keys


def nested(depth: int) -> bytes:
    """((((...))))."""
    return b"\x80\x02)" + b"\x85" * depth + b"."


def doubled(times: int) -> bytes:
    """A tuple of a tuple twice, of a tuple twice, ...: 2^times leaves in a few bytes."""
    return b"\x80\x02)" + b"2\x86" * times + b"."


@pytest.mark.parametrize("keys", [nested(100_000), doubled(60)], ids=["nested", "doubled"])
def test_storage_keys_that_cannot_be_hashed(tmp_path: Path, forge: SimpleNamespace, keys: bytes) -> None:
    path = tmp_path / "x.model"
    for wrapped in (keys, b"\x80\x02](" + keys[2:-1] + b"e."):
        path.write_bytes(stream(forge, wrapped))
        refused(path, "other keys than names")


def test_many_layers_that_view_one_storage(tmp_path: Path, forge: SimpleNamespace, sb3_data: Path) -> None:
    """4000 layers of 145,000 elements in a file of one such storage."""
    key = ("storage", forge.Name("torch", "FloatStorage"), "0", "cpu", 380 * 380)
    view = forge.Call("torch._utils", "_rebuild_tensor_v2", (forge.Persistent(key), 0, (380, 380), (380, 1)))
    tree = {f"q_net.q_net.{2 * i}.weight": view for i in range(1000)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", forge.Writer().dump(tree))
        archive.writestr("archive/data/0", np.zeros(380 * 380, "f4").tobytes())
    path = zip_with(tmp_path / "Toy-v0.zip", sb3_data, {"policy.pth": buffer.getvalue()})
    refused(path, "more than 8 times the elements of the storage")


def zip_with(path: Path, sb3_data: Path, changes: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(sb3_data / "dqn-Toy-v0.zip") as source, zipfile.ZipFile(path, "w") as copy:
        for name in ("data", "policy.pth"):
            copy.writestr(name, changes.get(name) or source.read(name))
    return path


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"x": [' + b"[]," * 1_000_000 + b"[]]}", "more than 200000 values"),
        (b'{"x": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested more than 64"),
        (b'{"x": ' + b"[" * 150_000 + b"]" * 150_000 + b"}", "nested more than 64"),
    ],
    ids=["wide", "deep", "deeper"],
)
def test_json_of_empty_containers(tmp_path: Path, sb3_data: Path, text: bytes, reason: str) -> None:
    refused(zip_with(tmp_path / "Toy-v0.zip", sb3_data, {"data": text}), reason)


def test_brackets_in_strings_are_not_depth() -> None:
    assert parse_json(json.dumps({"x": "[" * 500 + '\\"'}).encode()) == {"x": "[" * 500 + '\\"'}
    with pytest.raises(ValueError, match="nested"):
        parse_json(b'["' + b'\\"' * 3 + b'",' + b"[" * 100 + b"]" * 101)


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path, sb3_data: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    (tmp_path / "zero.zip").symlink_to("/dev/zero")
    for name in ("pipe.zip", "zero.zip"):
        refused(tmp_path / name, "not a regular file")
    (tmp_path / "Toy-v0.zip").write_bytes((sb3_data / "ppo-Toy-v0.zip").read_bytes())
    with pytest.raises(UserError, match="not a regular file"):
        load(tmp_path / "Toy-v0.zip", normaliser=tmp_path / "pipe.zip")


def test_agents_of_endless_layers(tmp_path: Path, sb3_data: Path, forge: SimpleNamespace) -> None:
    import jax

    agent = Agent(
        EnvSpec("Toy-v0", (2,), ActionSpace(2)),
        ScaledNormaliser.identity((2,)),
        GreedyPolicy(mlp([2, 2], jax.random.key(0))),
    )
    agent.save(tmp_path / "agent")
    file = tmp_path / "agent" / "agent.json"
    data: dict[str, Any] = json.loads(file.read_text())
    data["policy"]["layers"] += [{"kind": "tanh"}] * 20_000
    file.write_text(json.dumps(data))
    with cheap(), pytest.raises(UserError, match="or 256 layers"):
        load_agent(tmp_path / "agent")
    one = np.ones((1, 1), np.float32)
    layers = {f"q_net.q_net.{2 * i}.{part}": one for i in range(2000) for part in ("weight", "bias")}
    path = zip_with(tmp_path / "Toy-v0.zip", sb3_data, {"policy.pth": forge.torch_zip(layers)})
    refused(path, "more than 256 layers")


def test_lying_storages(tmp_path: Path, forge: SimpleNamespace) -> None:
    """A stream that declares more elements than follow."""
    key = ("storage", forge.Name("torch", "FloatStorage"), "0", "cpu", 2**39)
    tensor = forge.Call("torch._utils", "_rebuild_tensor_v2", (forge.Persistent(key), 0, (2**39,), (1,)))
    head = b"".join(forge.Writer().dump(part) for part in (MAGIC, PROTOCOL, SYSTEM, {"policy_model": {"x": tensor}}))
    path = tmp_path / "x.model"
    path.write_bytes(head + forge.Writer().dump(["0"]) + struct.pack("<q", 2**39))
    refused(path, "no policy_model and envs|truncated")
