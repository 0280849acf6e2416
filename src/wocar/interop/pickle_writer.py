"""Pickles and torch files written opcode by opcode, without the libraries whose classes they name."""

import io
import pickle
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PROTOCOL = b"\x80\x02"


@dataclass(frozen=True)
class Name:
    """A class or function, by the module it is imported from."""

    module: str
    name: str


@dataclass(frozen=True)
class New:
    """An instance of a class made without a call of its constructor, with these attributes."""

    cls: Name
    state: dict[str, Any]


@dataclass(frozen=True)
class Call:
    function: Name
    args: tuple


@dataclass(frozen=True)
class Persistent:
    id: tuple


@dataclass
class PickleWriter:
    """Plain values, containers, NumPy arrays and the classes above as a pickle of protocol 2."""

    def dump(self, value: Any) -> bytes:
        return PROTOCOL + self._code(value) + b"."

    def _code(self, value: Any) -> bytes:
        match value:
            case Name(module, name):
                return f"c{module}\n{name}\n".encode()
            case New(cls, state):
                return self._code(cls) + b")\x81" + self._code(state) + b"b"
            case Call(function, args):
                return self._code(function) + self._code(args) + b"R"
            case Persistent(id):
                return self._code(id) + b"Q"
            case tuple():
                return b"(" + b"".join(map(self._code, value)) + b"t"
            case list():
                return b"](" + b"".join(map(self._code, value)) + b"e"
            case dict():
                return b"}(" + b"".join(self._code(k) + self._code(v) for k, v in value.items()) + b"u"
            case np.ndarray():
                return self._array(value)
            case bool() | int() | float() | str() | None | np.dtype():
                return _plain(value)
        raise TypeError(f"{type(value).__name__} has no pickle here")

    def _array(self, value: np.ndarray) -> bytes:
        return _plain(value)


@dataclass
class TorchWriter(PickleWriter):
    """The same with arrays as torch tensors, whose elements are storages beside the pickle."""

    storages: list[np.ndarray] = field(default_factory=list)

    def _array(self, value: np.ndarray) -> bytes:
        value = np.array(value, np.float32, order="C")
        self.storages.append(value)
        id = ("storage", Name("torch", "FloatStorage"), str(len(self.storages) - 1), "cpu", value.size)
        strides = tuple(step // value.itemsize for step in value.strides)
        hooks = Call(Name("collections", "OrderedDict"), ())
        args = (Persistent(id), 0, value.shape, strides, False, hooks)
        return self._code(Call(Name("torch._utils", "_rebuild_tensor_v2"), args))


def torch_file(tree: Any) -> bytes:
    """What `torch.save` would write of a tree; arrays become tensors of float32."""
    writer, buffer = TorchWriter(), io.BytesIO()
    pickled = writer.dump(tree)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", "little")
        for key, storage in enumerate(writer.storages):
            archive.writestr(f"archive/data/{key}", storage.astype("<f4").tobytes())
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


def _plain(value: Any) -> bytes:
    """A value's own pickle without its first and last bytes: protocol and stop."""
    return pickle.dumps(value, 2)[len(PROTOCOL) : -1]
