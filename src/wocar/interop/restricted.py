"""Pickles read as data. A class or function that a pickle names stays a name: nothing is imported, called or executed.

The standard unpickler, even with its `find_class` closed, can be made to hash endless tuples or to allocate a memo of
gigabytes; this machine has a stack, a memo, plain containers and inert `Stub`s, and counts its operations.
"""

import contextlib
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from wocar.types import UserError

MAX_OPERATIONS = 200_000
FAULTS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading damaged data may raise; anything else is our own mistake."""


@contextlib.contextmanager
def one_line_refusal(source: str) -> Iterator[None]:
    """Faults of the data, as one printable line that names the source."""
    try:
        yield
    except FAULTS as error:
        text = str(error) or type(error).__name__
        if not isinstance(error, ValueError | NotImplementedError | zipfile.BadZipFile):  # words of Python
            text = f"it is damaged ({f'it lacks {text}' if isinstance(error, KeyError) else text})"
        said = "".join(c if c.isprintable() else " " for c in text)
        raise UserError(f"cannot read {source}: {' '.join(said.split())[:160]}") from error


@dataclass(eq=False, repr=False)
class Global:
    """A class or function that the pickle names, `module.name`."""

    name: str


@dataclass(eq=False, repr=False)
class Stub:
    """What `name(*args)` would have made, had it been called; `items` were appended or set, as pairs, afterwards."""

    name: str
    args: tuple = ()
    state: Any = None
    items: list = field(default_factory=list)


def read_pickle(data: bytes, source: str) -> Any:
    """The tree that a pickle describes: numbers, strings, bytes, tuples, lists, dicts, `Global`s and `Stub`s."""
    with one_line_refusal(source):
        return Machine().run(BytesIO(data))


class Machine:
    """A pickle's stack machine. `persistent` turns a persistent id into a value; the default keeps it as a Stub."""

    def __init__(self, persistent: Callable[[Any], Any] = lambda key: Stub("persistent", (key,))) -> None:
        self._persistent = persistent
        self._operations = 0
        self._clear()

    def run(self, stream: BytesIO) -> Any:
        """The value of the pickle at the stream's position, which is left just behind it."""
        self._clear()
        for opcode, argument, _ in pickletools.genops(stream):
            self._operations += 1
            if self._operations > MAX_OPERATIONS:
                raise ValueError(f"its pickle has more than {MAX_OPERATIONS} operations")
            if opcode.name == "STOP":
                return self._stack.pop()
            self._do(opcode.name, argument)
        raise ValueError("its pickle has no end")

    def _clear(self) -> None:
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def _do(self, name: str, argument: Any) -> None:
        if name in CONSTANTS:
            self._stack.append(CONSTANTS[name])
        elif name in LITERALS:
            self._stack.append(argument)
        elif name in OPERATIONS:
            OPERATIONS[name](self, argument)
        else:
            raise ValueError(f"its pickle uses {name}, which this reader does not")

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self, n: int) -> list[Any]:
        if len(self._stack) < n:
            raise ValueError("its pickle takes more from its stack than there is")
        items = self._stack[len(self._stack) - n :]
        del self._stack[len(self._stack) - n :]
        return items

    def _pop_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._below.pop()
        return items

    def _mark(self, _: None) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _discard(self, _: None) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._pop_mark()

    def _duplicate(self, _: None) -> None:
        self._stack.append(self._stack[-1])

    def _put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def _memoise(self, _: None) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    def _tuple(self, items: list[Any]) -> None:
        self._stack.append(tuple(items))

    def _dict(self, _: None) -> None:
        items = self._pop_mark()
        self._stack.append(dict(_pairs(items)))

    def _append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        (target.items if isinstance(target, Stub) else _expect(list, target)).extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target, pairs = self._stack[-1], _pairs(items)
        if isinstance(target, Stub):
            target.items.extend(pairs)
        else:
            _expect(dict, target).update(pairs)

    def _global(self, argument: str) -> None:
        self._stack.append(Global(argument.replace(" ", ".", 1)))

    def _stack_global(self, _: None) -> None:
        module, name = self._pop(2)
        self._stack.append(Global(f"{_expect(str, module)}.{_expect(str, name)}"))

    def _call(self, what: Any, args: Any) -> None:
        name = what.name if isinstance(what, Global) else "?"
        self._stack.append(Stub(name, _expect(tuple, args)))

    def _new_with_keywords(self, _: None) -> None:
        what, args, keywords = self._pop(3)
        self._call(what, (*_expect(tuple, args), keywords))

    def _object(self, _: None) -> None:
        what, *args = self._pop_mark()
        self._call(what, tuple(args))

    def _instance(self, argument: str) -> None:
        self._call(Global(argument.replace(" ", ".", 1)), tuple(self._pop_mark()))

    def _build(self, _: None) -> None:
        (state,) = self._pop(1)
        if isinstance(self._stack[-1], Stub):
            self._stack[-1].state = state


def _expect(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"its pickle has a {type(value).__name__} where a {kind.__name__} must be")
    return value


def _pairs(items: list[Any]) -> list[tuple[Any, Any]]:
    return [(_key(key), value) for key, value in zip(items[::2], items[1::2], strict=True)]


def _key(key: Any) -> Any:
    """Strings and small integers are keys; whatever could be slow to hash or made to collide hides in a Stub."""
    plain = isinstance(key, str) or key is None or (isinstance(key, int) and abs(key) < 2**60)
    return key if plain else Stub("key", (key,))


CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
OPERATIONS: dict[str, Callable[[Machine, Any], Any]] = {
    "PROTO": lambda m, _: None,
    "FRAME": lambda m, _: None,
    "MARK": Machine._mark,
    "POP": Machine._discard,
    "POP_MARK": lambda m, _: m._pop_mark(),
    "DUP": Machine._duplicate,
    "PUT": Machine._put,
    "BINPUT": Machine._put,
    "LONG_BINPUT": Machine._put,
    "MEMOIZE": Machine._memoise,
    "GET": Machine._get,
    "BINGET": Machine._get,
    "LONG_BINGET": Machine._get,
    "EMPTY_LIST": lambda m, _: m._push([]),
    "EMPTY_DICT": lambda m, _: m._push({}),
    "EMPTY_SET": lambda m, _: m._push(Stub("builtins.set")),
    "TUPLE": lambda m, _: m._tuple(m._pop_mark()),
    "TUPLE1": lambda m, _: m._tuple(m._pop(1)),
    "TUPLE2": lambda m, _: m._tuple(m._pop(2)),
    "TUPLE3": lambda m, _: m._tuple(m._pop(3)),
    "LIST": lambda m, _: m._push(m._pop_mark()),
    "FROZENSET": lambda m, _: m._call(Global("builtins.frozenset"), tuple(m._pop_mark())),
    "DICT": Machine._dict,
    "APPEND": lambda m, _: m._append(m._pop(1)),
    "APPENDS": lambda m, _: m._append(m._pop_mark()),
    "ADDITEMS": lambda m, _: m._append(m._pop_mark()),
    "SETITEM": lambda m, _: m._set_items(m._pop(2)),
    "SETITEMS": lambda m, _: m._set_items(m._pop_mark()),
    "GLOBAL": Machine._global,
    "STACK_GLOBAL": Machine._stack_global,
    "REDUCE": lambda m, _: m._call(*m._pop(2)),
    "NEWOBJ": lambda m, _: m._call(*m._pop(2)),
    "NEWOBJ_EX": Machine._new_with_keywords,
    "OBJ": Machine._object,
    "INST": Machine._instance,
    "BUILD": Machine._build,
    "PERSID": lambda m, argument: m._push(m._persistent(argument)),
    "BINPERSID": lambda m, _: m._push(m._persistent(*m._pop(1))),
}
