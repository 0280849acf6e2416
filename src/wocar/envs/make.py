"""`make_env`: an environment id to a vector environment. The only place that decides who simulates it."""

import os
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import FlattenObservation

from wocar.envs import atari, go_home, go_home_grid  # noqa: F401  registers the ids
from wocar.envs.checked import CheckedVector
from wocar.envs.keywords import split_keywords
from wocar.envs.mujoco.tasks import TASKS
from wocar.envs.vector import GymnasiumVector, describe
from wocar.plugins import load_plugins
from wocar.types import EnvSpec, UserError, VectorEnv

# the paper's Ant: 27 state dimensions and 84 contact forces (v5 has its own 105); without them it is another task
CONTACT_FORCES = {"Ant-v4"}
gymnasium.register("Ant27-v4", "gymnasium.envs.mujoco.ant_v4:AntEnv", max_episode_steps=1000)
# where Gymnasium's own needs Box2D and takes many times as long
FASTER_IN_ENVPOOL = {"LunarLander-v3"}
_ALLOWED: set[str] = set()


def allow_import(id: str | None) -> None:
    """Accept an id `module:Env` that the user has named. It imports the module, so one that a file names is refused."""
    if id is not None and (":" in id or "?" in id):
        _ALLOWED.add(id)


def registered_name(id: str) -> str:
    """The id in Gymnasium's registry: without a module, which is imported here where the user has named it."""
    module, colon, name = split_keywords(id)[0].rpartition(":")
    if not colon:
        return name
    if id not in _ALLOWED:
        raise UserError(
            f"environment {id!r} would import the module {module!r}, which no file may ask for; if you trust it, "
            f"name it yourself: --env {id}"
        )
    try:
        _import_here(module)
    except ImportError as error:
        raise UserError(f"environment {id!r}: the module {module!r} cannot be imported: {_line(error)}") from error
    return name


def _import_here(module: str) -> None:
    """Import a module that is installed or lies in the working folder, which is searched last and for this only."""
    before = list(sys.path)
    sys.path.append(os.getcwd())
    try:
        import_module(module)
    finally:
        sys.path[:] = before


def env_seeds(seed: int, n: int, stream: int = 0) -> list[int]:
    """n environment seeds from a run's seed; another stream gives other seeds."""
    return [int(s) for s in np.random.SeedSequence([seed, stream]).generate_state(n, np.uint32) % (2**31 - 1)]


def make_env(
    id: str, n: int, seed: int, stream: int = 0, threads: int = 2, backend: str = "auto", training: bool = False
) -> VectorEnv:
    """n environments, each with its own seed. `backend`: "mujoco", "gymnasium", "envpool" or "auto".

    `training`: in Atari games a lost life ends an episode, and rewards are reduced to their sign.
    """
    return CheckedVector(_make(id, n, seed, stream, threads, backend, training))


def _make(id: str, n: int, seed: int, stream: int, threads: int, backend: str, training: bool) -> VectorEnv:
    seeds = env_seeds(seed, n, stream)
    backend = _backend(id) if backend == "auto" else backend
    if backend == "envpool":
        from wocar.envs.envpool_vector import make_envpool

        return make_envpool(id, seeds, threads, training)
    if backend == "mujoco":
        from wocar.envs.mujoco.vector import MujocoVector

        return MujocoVector(id, seeds, threads)
    return _make_gymnasium(id, seeds, training)


def takes_raw_actions(id: str) -> bool:
    """Whether actions beyond their range reach the environment, whose rewards then see them (control costs)."""
    return split_keywords(id)[0] in TASKS


def can_copy_states(id: str) -> bool:
    """Whether its vector environment has `copy_states`."""
    return _backend(id) == "mujoco"


def env_spec(id: str) -> EnvSpec:
    env = make_env(id, 1, 0, threads=1)
    env.close()
    return env.spec


def declared_observations(spec: EnvSpec) -> tuple[np.ndarray, np.ndarray, np.dtype] | None:
    """Lower and upper ends and dtype of the observations that Gymnasium's environment declares; None where unknown."""
    if ":" in spec.id:
        return None
    try:
        env = make_gymnasium_env(spec.id)
    except UserError:
        return None
    space = env.observation_space
    env.close()
    if not isinstance(space, gymnasium.spaces.Box) or space.shape != spec.obs_shape:
        return None
    return space.low, space.high, np.dtype(space.dtype)


def is_flattened(id: str) -> bool:
    """Whether the environment itself shows dictionaries, which are flattened here; False where it cannot be made."""
    try:
        env = make_gymnasium_env(id)
    except UserError:
        return False
    env.close()
    return isinstance(env.unwrapped.observation_space, gymnasium.spaces.Dict)


def _backend(id: str) -> str:
    """EnvPool, where installed, is for Atari, for what it does many times faster, and for what nobody else has."""
    if id in TASKS:
        return "mujoco"
    if "?" in id:
        return "gymnasium"
    game = atari.parse(id)
    if (id in gymnasium.registry and id not in FASTER_IN_ENVPOOL and not game) or find_spec("envpool") is None:
        return "gymnasium"
    import envpool

    return "envpool" if game or id in envpool.list_all_envs() else "gymnasium"


def make_gymnasium_env(id: str, **kwargs: Any) -> gymnasium.Env:
    """One Gymnasium environment; `kwargs` such as render_mode go to it."""
    if game := atari.parse(id):
        return atari.AtariGame(*game, **kwargs)
    kwargs = _keywords(id) | kwargs
    id = registered_name(id)
    if id in CONTACT_FORCES:
        kwargs["use_contact_forces"] = True
    if id not in gymnasium.registry:
        for what in ("envs", "methods", "attacks"):
            load_plugins(what)
    try:
        with warnings.catch_warnings():  # of versions: they would be said again for every row of a table
            warnings.simplefilter("ignore")
            env = gymnasium.make(id, disable_env_checker=True, **kwargs)
        return FlattenObservation(env) if isinstance(env.observation_space, gymnasium.spaces.Dict) else env
    except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
        advice = "pip install 'wocar[envpool]'" if id in FASTER_IN_ENVPOOL else _line(error)
        raise UserError(f"environment {id!r} needs a package that is not installed: {advice}") from error
    except gymnasium.error.Error as error:
        if atari.lacking(id):
            raise UserError(f"unknown environment {id!r}; if it is an Atari game: {atari.MISSING}") from error
        raise UserError(f"unknown environment {id!r}: {_line(error)}") from error
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"environment {id!r} cannot be made: {type(error).__name__}: {_line(error)}") from error


def _keywords(id: str) -> dict[str, Any]:
    """The keyword arguments in an id; text among them, such as a file's name, only where the user has named the id."""
    given = split_keywords(id)[1]
    if id not in _ALLOWED and any(isinstance(value, str) for value in given.values()):
        raise UserError(f"environment {id!r} has text as an argument, which no file may ask for; name it: --env {id}")
    return given


def _make_gymnasium(id: str, seeds: list[int], training: bool = False) -> VectorEnv:
    game = atari.parse(id) is not None
    options = {"training": training} if game else {}
    env = make_gymnasium_env(id, **options)
    limit = atari.MAX_STEPS if game else env.spec.max_episode_steps if env.spec else None
    try:
        spec = describe(id, env.observation_space, env.action_space, limit)
    except TypeError as error:
        raise UserError(
            f"environment {id!r} is not supported: {error}; arrays and box or discrete actions are"
        ) from None
    finally:
        env.close()
    return GymnasiumVector(
        spec, lambda: make_gymnasium_env(id, **options), seeds, takes_raw_actions(id), game and training
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
