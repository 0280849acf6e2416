"""A time limit for environments that have none."""

import dataclasses

import gymnasium

from wocar.envs.keywords import split_keywords
from wocar.envs.make import env_spec, registered_name

_IMPOSED: dict[str, tuple[str, int]] = {}


def with_time_limit(id: str, max_steps: int) -> str:
    """The id itself, or where its episodes may never end, the id of the same environment cut at `max_steps`."""
    if env_spec(id).max_steps is not None:
        return id
    spec = gymnasium.spec(registered_name(id))
    own = "".join(c for c in id.partition("?")[2] if c.isalnum())
    limited = f"{spec.namespace + '/' if spec.namespace else ''}{spec.name}{own}Cut{max_steps}-v{spec.version or 0}"
    gymnasium.registry[limited] = dataclasses.replace(
        spec, id=limited, max_episode_steps=max_steps, kwargs={**spec.kwargs, **split_keywords(id)[1]}
    )
    _IMPOSED[limited] = id, max_steps
    return limited


def without_time_limit(id: str) -> tuple[str, int | None]:
    """The id that `with_time_limit` was given, and the limit it set, if any."""
    return _IMPOSED.get(id, (id, None))
