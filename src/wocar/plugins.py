"""Plugins: entry points of other installed packages, through which they register methods and attacks."""

import functools
import logging
from importlib.metadata import entry_points


@functools.cache
def load_plugins(group: str) -> None:
    """Import each entry point of a group, once in a process; where it names a function, call it without arguments.

    A package announces its plugin in its pyproject.toml, below `[project.entry-points."wocar.attacks"]`, as
    `NAME = "package.module"` or `NAME = "package.module:function"`, and calls `register_attack` there. One that fails
    is left out, with a line in the log.
    """
    for point in entry_points(group=group):
        try:
            loaded = point.load()
            if callable(loaded):
                loaded()
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            logging.getLogger("wocar").warning("wocar: plugin %s (%s) was not loaded: %s", point.name, group, reason)
