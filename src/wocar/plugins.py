"""Plugins: entry points of other installed packages, through which they register methods, attacks and environments."""

import functools
import logging
from importlib.metadata import entry_points


@functools.cache
def load_plugins(what: str) -> None:
    """Import the entry points for methods, attacks or envs, once in a process; a function that one names is called.

    A package announces its plugin in its pyproject.toml, below `[project.entry-points."wocar.attacks"]`, as
    `NAME = "package.module"` or `NAME = "package.module:function"`, and calls `register_attack` there; likewise
    `register_method`, and for environments `gymnasium.register`. One that fails is left out, with a line in the log.
    """
    for point in entry_points(group=f"wocar.{what}"):
        try:
            loaded = point.load()
            if callable(loaded):
                loaded()
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            logging.getLogger("wocar").warning(
                "wocar: plugin %s (%s) was not loaded: %s", point.name, point.group, reason
            )
