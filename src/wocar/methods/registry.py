"""Registry of training methods; other packages add theirs with `register_method`."""

from wocar.methods.builtin import BUILTIN
from wocar.methods.method import Method
from wocar.plugins import load_plugins
from wocar.text import did_you_mean
from wocar.types import UserError

METHODS: dict[str, Method] = {method.name: method for method in BUILTIN}
"""Those registered so far; `find_method` and `all_methods` know those of installed plugins too."""


def register_method(method: Method) -> Method:
    """Let `wocar train`, presets, plans and reports know a method."""
    if METHODS.get(method.name, method) != method:
        raise ValueError(f"there is another method {method.name!r}")
    METHODS[method.name] = method
    return method


def known_method(name: str) -> Method | None:
    """None for the names that agents from elsewhere came with."""
    if name not in METHODS:
        load_plugins("methods")
    return METHODS.get(name)


def find_method(name: str) -> Method:
    method = known_method(name)
    if method is None:
        raise UserError(f"unknown method {name!r}{did_you_mean(name, METHODS)}; methods: {', '.join(METHODS)}")
    return method


def all_methods() -> list[Method]:
    load_plugins("methods")
    return list(METHODS.values())
