"""What the stubs of a pickle mean: arrays of NumPy and torch, ordered dicts, attributes. Nothing here trusts a size."""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from wocar.interop.restricted import Global, Stub

NUMPY = re.compile(r"^numpy\.(?:core|_core)\.(multiarray|numeric)\.(_reconstruct|_frombuffer|scalar)$")
MAX_VIEWS = 8
"""How often the elements of one storage may occur in tensors; layers that networks share occur two or three times."""
STORAGES = {
    "FloatStorage": "f4",
    "DoubleStorage": "f8",
    "HalfStorage": "f2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "b1",
}


@dataclass(eq=False, repr=False)
class Storage:
    """A torch storage: its declared kind and number of elements, and where its bytes are."""

    kind: str
    key: str
    size: int
    data: bytes | memoryview | None = None
    viewed: int = 0
    """Elements of all tensors made from it so far."""

    @property
    def dtype(self) -> np.dtype:
        if self.kind not in STORAGES:
            raise ValueError(f"tensors of {self.kind} are not supported")
        return np.dtype(STORAGES[self.kind]).newbyteorder("<")

    def elements(self) -> np.ndarray:
        dtype = self.dtype
        if self.data is None or len(self.data) != self.size * dtype.itemsize:
            raise ValueError(f"storage {self.key} has not the {self.size} elements it declares: truncated?")
        return np.frombuffer(self.data, dtype)


def field(value: Any, *names: str) -> Any:
    """An attribute of an attribute of a stub, or of dicts."""
    for name in names:
        if not has(value, name):
            raise ValueError(f"it has no {name}")
        value = attributes(value)[name]
    return value


def has(value: Any, name: str) -> bool:
    return name in attributes(value)


def attributes(value: Any) -> dict[Any, Any]:
    """The entries of a dict or an ordered dict, or the attributes of another stub."""
    if isinstance(value, dict):
        return value
    if isinstance(value, Stub) and value.name == "collections.OrderedDict":
        given = value.args[0] if value.args else []
        return {key: item for key, item in [*given, *value.items] if isinstance(key, str | int)}
    state = value.state if isinstance(value, Stub) else None
    if isinstance(state, tuple) and len(state) == 2:  # (__dict__, __slots__)
        state = {**(state[0] or {}), **(state[1] or {})}
    return state if isinstance(state, dict) else {}


def kind(value: Any) -> str:
    """The last part of a stub's or global's name: its class."""
    return value.name.rpartition(".")[2] if isinstance(value, Stub | Global) else type(value).__name__


def number(value: Any) -> float:
    result = array(value)
    if result.size != 1:
        raise ValueError(f"it has an array of shape {result.shape} where a number must be")
    return float(result.reshape(()))


def array(value: Any) -> np.ndarray:
    """The array of a tensor, a NumPy array, a NumPy scalar or a plain number."""
    if isinstance(value, bool | int | float):
        return np.asarray(value, np.float64)
    if not isinstance(value, Stub):
        raise ValueError(f"it has a {kind(value)} where an array must be")
    if value.name == "torch._utils._rebuild_parameter" and isinstance(value.args[0], Stub):
        value = value.args[0]
    if value.name == "torch._utils._rebuild_tensor_v2":
        return _tensor(*value.args[:4])
    match = NUMPY.match(value.name)
    if match is None:
        raise ValueError(f"it has a {kind(value)} where an array must be")
    if match[2] == "scalar":
        return _numpy_array(value.args[1], value.args[0], (), "C")
    if match[2] == "_frombuffer":
        buffer, kind_of, shape, order = value.args
        return _numpy_array(buffer, kind_of, shape, order)
    _, shape, kind_of, fortran, buffer = value.state
    return _numpy_array(buffer, kind_of, shape, "F" if fortran else "C")


def dtype(value: Any) -> np.dtype:
    """A boolean, integer or floating dtype; others (objects, text, records) are refused."""
    letters = value.args[0] if isinstance(value, Stub) and value.name == "numpy.dtype" else None
    if not isinstance(letters, str) or not re.fullmatch(r"b1|[iu][1248]|f[248]", letters):
        raise ValueError("it has an array of another kind than numbers")
    order = value.state[1] if value.state else "<"
    return np.dtype(letters).newbyteorder(">" if order == ">" else "<")


def _numpy_array(buffer: Any, kind_of: Any, shape: Any, order: Any) -> np.ndarray:
    if isinstance(buffer, Stub) and buffer.name == "_codecs.encode" and isinstance(buffer.args[0], str):
        buffer = buffer.args[0].encode("latin1")  # how protocol 2 keeps bytes
    elif isinstance(buffer, Stub) and buffer.name == "__builtin__.bytes" and not buffer.args:
        buffer = b""
    if not isinstance(buffer, bytes | bytearray):
        raise ValueError("it has an array without its bytes")
    shape = _sizes(shape)
    wanted = math.prod(shape) * dtype(kind_of).itemsize
    if len(buffer) != wanted:
        raise ValueError(f"it has an array of {len(buffer)} bytes that declares {wanted}")
    return np.frombuffer(buffer, dtype(kind_of)).reshape(shape, order="F" if order == "F" else "C")


def _tensor(storage: Any, offset: Any, size: Any, stride: Any) -> np.ndarray:
    """A strided view of a storage, all of it inside."""
    if not isinstance(storage, Storage):
        raise ValueError("it has a tensor without a storage")
    elements = storage.elements()
    (offset,), size, stride = _sizes((offset,)), _sizes(size), _sizes(stride)
    if len(size) != len(stride):
        raise ValueError("it has a tensor with more sizes than strides")
    count = math.prod(size)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if count > elements.size or (count and last >= elements.size):
        raise ValueError(f"it has a tensor of shape {size} beyond its storage of {elements.size} elements")
    storage.viewed += count
    if storage.viewed > MAX_VIEWS * elements.size:
        raise ValueError(f"it has tensors of more than {MAX_VIEWS} times the elements of the storage they share")
    steps = tuple(step * elements.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(elements[offset:], size, steps, writeable=False)


def _sizes(values: Any) -> tuple[int, ...]:
    """At most eight sizes or strides, none negative."""
    ok = isinstance(values, tuple) and len(values) <= 8
    if not ok or not all(type(n) is int and 0 <= n < 2**40 for n in values):
        raise ValueError("it has an array of impossible shape")
    return values
