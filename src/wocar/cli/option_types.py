"""Types of options: numbers as people type them, and values that may be left out."""

import dataclasses
import types
import typing
from fractions import Fraction
from typing import Annotated, Any, TypeVar

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

T = TypeVar("T")
Spec = PrimitiveConstructorSpec[Any]

Maybe = Annotated[
    T | None, tyro.conf.arg(help_behavior_hint=lambda text: "" if text == "None" else f"(default: {text})")
]
"""An option without a default of its own; its help says what then holds."""


def whole_number(text: str) -> int:
    """1000000, 1_000_000 or 1e6."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
        if value.is_integer():
            return int(value)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a whole number")


def number(text: str) -> float:
    """0.1, 1e-3 or 1/255."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is not a number") from None


def rules() -> ConstructorRegistry:
    """How tyro reads these types, and how it names them in help texts."""
    registry = ConstructorRegistry()
    registry.primitive_rule(_numbers)
    registry.primitive_rule(_optional)
    return registry


def _numbers(info: PrimitiveTypeInfo) -> Spec | None:
    readers: dict[Any, Any] = {int: whole_number, float: number}
    if info.type not in readers:
        return None
    read, kind = readers[info.type], info.type
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=lambda words: read(words[0]),
        is_instance=lambda x: isinstance(x, kind) and not isinstance(x, bool),
        str_from_instance=lambda x: [str(x)],
    )


def _optional(info: PrimitiveTypeInfo) -> Spec | None:
    """`X | None` is shown as X; the word None is still understood."""
    if info.type_origin not in (typing.Union, types.UnionType):
        return None
    kinds = [kind for kind in typing.get_args(info.type) if kind is not type(None)]
    if len(kinds) != 1 or len(kinds) == len(typing.get_args(info.type)):
        return None
    inner = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(kinds[0], info.markers))
    if not isinstance(inner, PrimitiveConstructorSpec):
        return None
    return dataclasses.replace(
        inner,
        instance_from_str=lambda words: None if words == ["None"] else inner.instance_from_str(words),
        is_instance=lambda x: x is None or inner.is_instance(x),
        str_from_instance=lambda x: ["None"] if x is None else inner.str_from_instance(x),
        choices=inner.choices and (*inner.choices, "None"),
    )
