"""A time limit for environments that have none."""

import dataclasses

import gymnasium

from wocar.envs.make import env_spec, registered_name

_IMPOSED: dict[str, tuple[str, int]] = {}


def with_time_limit(id: str, max_steps: int) -> str:
    """The id itself, or where its episodes may never end, the id of the same environment cut at `max_steps`."""
    if env_spec(id).max_steps is not None:
        return id
    spec = gymnasium.spec(registered_name(id))
    limited = f"{spec.namespace + '/' if spec.namespace else ''}{spec.name}Cut{max_steps}-v{spec.version or 0}"
    gymnasium.registry[limited] = dataclasses.replace(spec, id=limited, max_episode_steps=max_steps)
    _IMPOSED[limited] = id, max_steps
    return limited


def without_time_limit(id: str) -> tuple[str, int | None]:
    """The id that `with_time_limit` was given, and the limit it set, if any."""
    return _IMPOSED.get(id, (id, None))
