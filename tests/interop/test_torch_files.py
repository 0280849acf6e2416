"""Torch files without torch: both containers, and those that lie about their sizes."""

import contextlib
import io
import struct
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.interop.restricted import FAULTS
from wocar.interop.torch_files import MAX_BYTES, Archive, read_file, read_torch
from wocar.interop.values import array
from wocar.types import UserError

TENSORS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.float32([]), "c": np.ones((2, 2), np.float32)}
PACKERS = ["torch_zip", "torch_stream"]


def tensor(forge: SimpleNamespace, size: int, offset: Any, shape: Any, strides: Any, kind: str = "FloatStorage") -> Any:
    id = ("storage", forge.Name("torch", kind), "0", "cpu", size)
    return forge.Call("torch._utils", "_rebuild_tensor_v2", (forge.Persistent(id), offset, shape, strides))


def torch_zip(tree: Any, storage: bytes, forge: SimpleNamespace) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", forge.Writer().dump(tree))
        archive.writestr("archive/data/0", storage)
    return buffer.getvalue()


@pytest.mark.parametrize("packer", PACKERS)
def test_tensors_come_back(forge: SimpleNamespace, packer: str) -> None:
    transposed = {"t": np.arange(6, dtype=np.float32).reshape(2, 3).T}  # its strides are not C's
    tree = read_torch(getattr(forge, packer)(TENSORS | transposed), "x")
    for name, value in TENSORS.items():
        np.testing.assert_array_equal(array(tree[name]), value)
    assert array(tree["t"]).shape == (3, 2)


@pytest.mark.oracle
@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_of_torch_itself(tmp_path: Path, zipped: bool) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    tree = {
        "view": base[1:3, ::2],
        "transposed": base.T,
        "double": base.double(),
        "long": base.long(),
        "half": base.half(),
        "flag": base > 7,
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0, 3),
        "parameter": torch.nn.Parameter(base),
        "layer": torch.nn.Linear(3, 2).state_dict()["weight"],
    }
    torch.save(tree, tmp_path / "x", _use_new_zipfile_serialization=zipped)
    back = read_torch(read_file(tmp_path / "x"), "x")
    for name, value in tree.items():
        np.testing.assert_array_equal(array(back[name]), value.detach().numpy(), err_msg=name)


@pytest.mark.parametrize(
    ("size", "offset", "shape", "strides"),
    [
        (4, 0, (5,), (1,)),
        (4, 1, (2, 2), (2, 1)),
        (4, 0, (2**20, 2**20), (0, 0)),  # a terabyte out of four numbers
        (4, 0, (2**39,), (1,)),
        (4, -1, (1,), (1,)),
        (4, 0, (2,), (-1,)),
        (4, 0, (2, 2), (1,)),
        (4, 2**70, (1,), (1,)),
        (4, 0, [4], (1,)),
        (4, 5, (0,), (1,)),
        (2**39, 0, (4,), (1,)),
    ],
)
def test_tensors_outside_their_storage_are_refused(
    forge: SimpleNamespace, size: int, offset: Any, shape: Any, strides: Any
) -> None:
    data = torch_zip([tensor(forge, size, offset, shape, strides)], b"\0" * 16, forge)
    if shape == (0,):  # nothing is read
        assert array(read_torch(data, "x")[0]).size == 0
        return
    with pytest.raises(ValueError, match=r"^(it has|storage 0)"):
        array(read_torch(data, "x")[0])


def test_strange_storages_are_refused(forge: SimpleNamespace) -> None:
    unknown = torch_zip([tensor(forge, 4, 0, (4,), (1,), "QInt8Storage")], b"\0" * 16, forge)
    with pytest.raises(ValueError, match="QInt8Storage are not supported"):
        array(read_torch(unknown, "x")[0])
    twice = [tensor(forge, 4, 0, (4,), (1,)), tensor(forge, 2, 0, (2,), (1,), "DoubleStorage")]
    with pytest.raises(UserError, match="twice"):
        read_torch(torch_zip(twice, b"\0" * 16, forge), "x")
    negative = torch_zip([tensor(forge, -1, 0, (4,), (1,))], b"", forge)
    with pytest.raises(UserError, match="storage that torch would not write"):
        read_torch(negative, "x")


def test_a_stream_that_declares_more_than_it_has_is_refused(forge: SimpleNamespace) -> None:
    honest = forge.torch_stream({"c": np.ones(4, np.float32)})
    assert array(read_torch(honest, "x")["c"]).sum() == 4
    lie = honest.replace(struct.pack("<q", 4), struct.pack("<q", 2**39))
    with pytest.raises(UserError, match="truncated"):
        read_torch(lie, "x")
    with pytest.raises(ValueError, match="truncated"):
        array(read_torch(honest[:-1], "x")["c"])


@pytest.mark.parametrize("packer", PACKERS)
def test_every_truncation_is_refused(forge: SimpleNamespace, packer: str) -> None:
    data = getattr(forge, packer)(TENSORS)
    for cut in range(0, len(data), 7):
        with pytest.raises((UserError, ValueError), match=r"cannot read|truncated"):
            [array(value) for value in read_torch(data[:cut], "x").values()]


def bomb(compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 2**25)
    return buffer.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_bombs_are_refused(compression: int) -> None:
    with pytest.raises(UserError, match=r"honestly hold|oddly compressed"):
        read_torch(bomb(compression), "x")


def test_a_zip_that_lies_about_its_sizes_is_refused() -> None:
    data = bytearray(bomb(zipfile.ZIP_DEFLATED))
    at = data.index(b"PK\x01\x02") + 24  # the uncompressed size in the directory
    data[at : at + 4] = struct.pack("<I", 100)
    with pytest.raises(UserError, match="cannot read x"):
        read_torch(bytes(data), "x")


def test_an_entry_read_again_and_again_counts_again(forge: SimpleNamespace) -> None:
    archive = Archive(forge.torch_zip({"a": np.zeros(2**16, np.float32)}, zipfile.ZIP_STORED))
    with pytest.raises(ValueError, match="honestly"):
        for _ in range(100):
            archive.read("archive/data/0")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)  # sparse
    for path, reason in {huge: "are more than", tmp_path / "absent": "No such file", tmp_path: "directory"}.items():
        with pytest.raises(UserError, match=rf"^cannot read .*{reason}"):
            read_file(path)
    for data, reason in {b"": "not a torch file", b"PK\x03\x04": "zip", b"\x80\x02K\x01.": "not a torch file"}.items():
        with pytest.raises(UserError, match=reason):
            read_torch(data, "x")


@settings(max_examples=150)
@given(st.data())
def test_mutated_files_only_raise_one_line(forge: SimpleNamespace, data: st.DataObject) -> None:
    packed = bytearray(getattr(forge, data.draw(st.sampled_from(PACKERS)))(TENSORS))
    where = st.integers(0, len(packed) - 1)
    for at, byte in data.draw(st.lists(st.tuples(where, st.integers(0, 255)), min_size=1, max_size=8)):
        packed[at] = byte
    try:
        tree = read_torch(bytes(packed), "x")
    except UserError as error:
        assert "\n" not in str(error)
        return
    for value in tree.values() if isinstance(tree, dict) else []:
        with contextlib.suppress(*FAULTS):
            array(value)
