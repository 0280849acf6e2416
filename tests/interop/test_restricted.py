"""The restricted reader: what it understands, and what hostile or damaged bytes cannot make it do."""

import builtins
import datetime
import os
import pickle
import time
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wocar.interop.restricted import Global, Stub, one_line_refusal, read_pickle
from wocar.interop.values import array, attributes, field, kind, number
from wocar.types import UserError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.integers(-(2**59), 2**59), inner, max_size=4)
    ),
    max_leaves=12,
)
DTYPES = st.sampled_from(["?", "<i4", "<i8", "<u1", "<f4", "<f8", ">f8", ">i2"])


class Thing:
    def __init__(self) -> None:
        self.inner = {"x": np.arange(3.0)}


class Slotted:
    __slots__ = ("y",)


@given(PLAIN, st.integers(3, 5))
def test_plain_values_come_back(value: Any, protocol: int) -> None:
    assert read_pickle(pickle.dumps(value, protocol), "x") == value


@given(st.lists(st.integers(0, 4), max_size=3), DTYPES, st.integers(0, 5), st.booleans())
def test_numpy_arrays_come_back(shape: list[int], dtype: str, protocol: int, fortran: bool) -> None:
    value = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype, order="F" if fortran else "C")
    back = array(read_pickle(pickle.dumps(value, protocol), "x"))
    assert back.dtype == value.dtype
    np.testing.assert_array_equal(back, value)


@pytest.mark.parametrize("protocol", range(6))
def test_numbers_attributes_and_ordered_dicts(protocol: int) -> None:
    slotted = Slotted()
    slotted.y = 7  # type: ignore[attr-defined]
    things = [np.float64(2.5), Thing(), OrderedDict(a=1, b=2), datetime.date(2020, 1, 2), {1, 2}]
    if protocol >= 2:
        things.append(slotted)
    scalar, thing, ordered, date, members, *rest = read_pickle(pickle.dumps(things, protocol), "x")
    assert number(scalar) == 2.5
    np.testing.assert_array_equal(array(field(thing, "inner", "x")), [0, 1, 2])
    assert attributes(ordered) == {"a": 1, "b": 2}
    assert kind(date) == "date"
    assert isinstance(date, Stub)
    assert isinstance(members, Stub)
    assert [field(s, "y") for s in rest] == [7] * len(rest)
    with pytest.raises(ValueError, match="no outer"):
        field(thing, "outer")


class Hostile:
    def __init__(self, function: Any, *args: Any) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> Any:
        return self.function, self.args


@pytest.mark.parametrize("protocol", range(6))
def test_nothing_named_is_called(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "mark"
    attacks = [
        Hostile(os.system, f"touch {mark}"),
        Hostile(eval, f"open({str(mark)!r}, 'w')"),
        Hostile(exec, f"open({str(mark)!r}, 'w')"),
        Hostile(builtins.open, str(mark), "w"),
    ]
    data = pickle.dumps(attacks, protocol)
    found = read_pickle(data, "x")
    assert not mark.exists()
    assert [kind(stub) for stub in found] == ["system", "eval", "exec", "open"]
    assert found[0].args == (f"touch {mark}",)
    pickle.loads(data)  # the file would have been made
    assert mark.exists()


@pytest.mark.parametrize(
    "code",
    [
        b"(S'touch MARK'\nios\nsystem\n.",  # INST
        b"(cos\nsystem\nS'touch MARK'\no.",  # OBJ
        b"cos\nsystem\n(S'touch MARK'\ntR.",  # REDUCE
        b"\x80\x02cos\nsystem\n(S'touch MARK'\nt\x81.",  # NEWOBJ
        b"\x80\x04cos\nsystem\n(S'touch MARK'\nt}\x92.",  # NEWOBJ_EX
        b"cbuiltins\ngetattr\n(cos\n__dict__\nS'system'\ntR(S'touch MARK'\ntR.",  # what a call returned is called
        b"cos\nsystem\n(S'touch MARK'\ntRcos\nsystem\nb.",  # BUILD
    ],
)
def test_no_opcode_calls(code: bytes, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    found = read_pickle(code.replace(b"MARK", str(mark).encode()), "x")
    assert isinstance(found, Stub)
    assert not mark.exists()


def test_a_name_stays_a_name() -> None:
    found = read_pickle(b"cno_such_module\nClass\n.", "x")
    assert isinstance(found, Global)
    assert found.name == "no_such_module.Class"


BOMBS = {
    "memo of gigabytes": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "nested tuples as a key": b"\x80\x02})" + b"2\x86" * 100 + b"Ns.",
    "nested tuples": b"\x80\x02)" + b"\x85" * 190_000 + b".",
    "nested stubs": b"\x80\x02cx\ny\nq\x00" + b"h\x00" * 60_000 + b")" + b"R\x85" * 60_000 + b".",
    "a list in itself": b"\x80\x02]q\x00h\x00ah\x00a.",
    "more operations than allowed": b"\x80\x02" + b"N0" * 150_000 + b"N.",
    "text of four gigabytes": b"\x80\x02X\xff\xff\xff\xffabc.",
    "bytes of eight exabytes": b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7fabc.",
    "a frame of eight exabytes": b"\x80\x04\x95" + b"\xff" * 7 + b"\x7fN.",
    "a long integer": b"\x80\x02\x8b\xff\xff\xff\x7f\x01.",
    "a million digits": b"L" + b"9" * 1_000_000 + b"L\n.",
    "integers that collide": b"\x80\x02}("
    + b"".join(b"\x8a\x0c" + (k * (2**61 - 1)).to_bytes(12, "little") + b"N" for k in range(60_000))
    + b"u.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_or_harmless(name: str) -> None:
    start = time.perf_counter()
    try:
        read_pickle(BOMBS[name], "x")
    except UserError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 220
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",
        b"N",
        b"t.",
        b"\x80",
        b"N" * 50,
        b"0.",
        b"]N\x86s.",
        b"R.",
        b"(d",
        b"}Nu.",
        b"(Nd.",
        b"\xff\xfe",
        b"h\x05.",
    ],
)
def test_nonsense_is_one_line(data: bytes) -> None:
    with pytest.raises(UserError, match=r"^cannot read file: [^\n]+$"):
        read_pickle(data, "file")


def test_a_refusal_says_more_than_a_key() -> None:
    for fault, said in {
        KeyError(101): r"it is damaged \(it lacks 101\)",
        IndexError("pop from empty list"): r"it is damaged \(pop from empty list\)",
        ValueError("storage 3 is truncated"): "storage 3 is truncated",
    }.items():
        with pytest.raises(UserError, match=f"^cannot read file: {said}$"), one_line_refusal("file"):
            raise fault


SEED = pickle.dumps([Thing(), OrderedDict(a=np.arange(4.0)), (1, 2.5, "text", b"bytes", None, {"k": [1]})], 4)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(SEED) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(SEED)))
def test_mutated_pickles_only_raise_user_errors(edits: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(SEED)
    for at, byte in edits:
        data[at] = byte
    for damaged in (bytes(data), bytes(data[:cut]), bytes(data[cut:])):
        try:
            read_pickle(damaged, "x")
        except UserError as error:
            assert "\n" not in str(error)


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_random_bytes_only_raise_user_errors(data: bytes) -> None:
    for pickled in (data, b"\x80\x04" + data + b".", data + b"."):
        try:
            read_pickle(pickled, "x")
        except UserError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("shape", "dtype", "data"),
    [
        ((2**20, 2**20), "f8", b"\0" * 8),
        ((-1,), "f8", b"\0" * 8),
        ((1,), "O8", b"\0" * 8),
        ((1,), "V8", b"\0" * 8),
        ((1,), "f8", b"\0" * 7),
        ((1,) * 9, "f8", b"\0" * 8),
        ((True,), "f8", b"\0" * 8),
        ("ab", "f8", b"\0" * 8),
        ((1,), "f8", None),
    ],
)
def test_arrays_that_lie_are_refused(forge: SimpleNamespace, shape: Any, dtype: str, data: Any) -> None:
    call = forge.numpy_array(np.zeros(1))
    call.state = (1, shape, forge.Call("numpy", "dtype", (dtype, False, True)), False, data)
    with pytest.raises(ValueError, match="it has an array"):
        array(read_pickle(forge.Writer().dump(call), "x"))
