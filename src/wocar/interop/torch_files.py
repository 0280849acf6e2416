"""Files of `torch.save` without torch: the zip container and the older stream, storages checked against the file."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from wocar.files import read_regular
from wocar.interop.restricted import Global, Machine, Stub, one_line_refusal
from wocar.interop.values import Storage

MAX_BYTES = 2**29
MAX_ENTRIES = 100_000
MAX_RATIO = 64
MAGIC = 0x1950A86A20F9469CFC6C
PICKLE = b"\x80"


def read_file(path: Path) -> bytes:
    """The bytes of a regular file that is not too large to be an agent."""
    return read_regular(path, MAX_BYTES)


class Archive:
    """A zip that cannot be a bomb: entries plain or deflated, and together no more than a file can honestly hold."""

    def __init__(self, data: bytes) -> None:
        if data.count(b"PK\x01\x02") > MAX_ENTRIES:
            raise ValueError(f"it is a zip of more than {MAX_ENTRIES} entries")
        self._zip = zipfile.ZipFile(BytesIO(data))
        self._left = min(MAX_BYTES, MAX_RATIO * len(data))
        self.names = set(self._zip.namelist())

    def read(self, name: str) -> bytes:
        if name not in self.names:
            raise ValueError(f"its zip has no entry {name}")
        info = self._zip.getinfo(name)
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"its zip entry {name} is encrypted or oddly compressed")
        self._left -= info.file_size
        if self._left < 0:
            raise ValueError("its zip unpacks to more than such a file can honestly hold")
        with self._zip.open(info) as entry:
            return entry.read(info.file_size)


def is_zip(data: bytes) -> bool:
    return data.startswith(b"PK\x03\x04")


def read_torch(data: bytes, source: str) -> Any:
    """The tree of a torch file; `values.array` gives its tensors."""
    with one_line_refusal(source):
        if not is_zip(data) and not data.startswith(PICKLE):
            raise ValueError("it is not a torch file, nor a zip of Stable-Baselines3")
        return _read_zip(Archive(data)) if is_zip(data) else _read_stream(BytesIO(data))


def _read_zip(archive: Archive) -> Any:
    roots = [name[: -len("data.pkl")] for name in archive.names if name.endswith("data.pkl") and name.count("/") < 2]
    if len(roots) != 1:
        raise ValueError("it is a zip, but not of torch: it has no data.pkl")
    root = roots[0]
    if f"{root}constants.pkl" in archive.names:
        raise ValueError("it is a program of torch.jit; save the state_dict() of its module, or export it to ONNX")
    if f"{root}byteorder" in archive.names and archive.read(f"{root}byteorder") != b"little":
        raise ValueError("its numbers are big-endian")
    storages: dict[str, Storage] = {}
    tree = Machine(_collect(storages)).run(BytesIO(archive.read(f"{root}data.pkl")))
    for key, storage in storages.items():
        storage.data = archive.read(f"{root}data/{key}")
    return tree


def _read_stream(stream: BytesIO) -> Any:
    """Pickles of magic, version, system, tree and storage keys, then of each storage the size and the elements."""
    storages: dict[str, Storage] = {}
    machine = Machine(_collect(storages))
    try:
        magic = machine.run(stream)
    except ValueError as error:
        raise ValueError("it is not a torch file") from error
    if magic != MAGIC:
        raise ValueError("it is not a torch file")
    machine.run(stream)
    system = machine.run(stream)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise ValueError("its numbers are big-endian")
    tree, keys = machine.run(stream), machine.run(stream)
    view = stream.getbuffer()
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise ValueError("its storages have other keys than names")
    for key in keys:
        storage, at = storages[key], stream.tell()
        if int.from_bytes(view[at : at + 8], "little") != storage.size:
            raise ValueError(f"storage {key} has another size than its pickle says: truncated?")
        end = at + 8 + storage.size * storage.dtype.itemsize
        storage.data = view[at + 8 : end]
        stream.seek(end)
    return tree


def _collect(storages: dict[str, Storage]) -> Any:
    """A reader of persistent ids that gathers storages by key."""

    def persistent(key: Any) -> Any:
        if not isinstance(key, tuple) or len(key) < 5 or key[0] != "storage":
            return Stub("persistent", (key,))
        _, what, name, _, size = key[:5]
        if not (isinstance(what, Global) and isinstance(name, str) and type(size) is int and 0 <= size < 2**40):
            raise ValueError("it has a storage that torch would not write")
        storage = storages.setdefault(name, Storage(what.name.rpartition(".")[2], name, size))
        if storage.size != size or storage.kind != what.name.rpartition(".")[2]:
            raise ValueError(f"it declares storage {name} twice, differently")
        return storage

    return persistent
