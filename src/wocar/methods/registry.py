"""Registry of training methods; other packages add theirs with `register_method`."""

from wocar.methods.builtin import BUILTIN
from wocar.methods.method import Method
from wocar.plugins import load_plugins
from wocar.types import UserError

METHODS: dict[str, Method] = {method.name: method for method in BUILTIN}
"""Those registered so far; `find_method` and `all_methods` know those of installed plugins too."""


def register_method(method: Method) -> Method:
    """Let `wocar train`, presets, plans and reports know a method."""
    if METHODS.get(method.name, method) != method:
        raise ValueError(f"there is another method {method.name!r}")
    METHODS[method.name] = method
    return method


def find_method(name: str) -> Method:
    if name not in METHODS:
        load_plugins("wocar.methods")
    if name not in METHODS:
        raise UserError(f"unknown method {name!r}; methods: {', '.join(METHODS)}")
    return METHODS[name]


def all_methods() -> list[Method]:
    load_plugins("wocar.methods")
    return list(METHODS.values())
