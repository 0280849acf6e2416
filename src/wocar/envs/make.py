"""`make_env`: an environment id to a vector environment. The only place that decides between EnvPool and Gymnasium."""

import re
from typing import Any

import gymnasium
import numpy as np

from wocar.envs import atari, go_home, go_home_grid  # noqa: F401  registers the ids
from wocar.envs.vector import EnvPoolVector, GymnasiumVector, describe
from wocar.plugins import load_plugins
from wocar.types import ActionSpace, EnvSpec, UserError, VectorEnv

try:
    import envpool
except ImportError:  # not on Linux
    envpool = None  # type: ignore[assignment]

MUJOCO = re.compile(r"^(Hopper|Walker2d|HalfCheetah|Ant|Humanoid|Swimmer|Reacher|Pusher|HumanoidStandup)-v[345]$")
# the paper's Ant: 27 state dimensions and 84 contact forces (v3 has them always, v5 has its own 105)
CONTACT_FORCES = {"Ant-v4"}
# EnvPool shows contact forces of its v3 and v4 tasks as 0 unless asked to compute them; Gymnasium always does
COMPUTE_FORCES = re.compile(r"^(Ant|Humanoid|HumanoidStandup)-v[34]$")
# small tasks that EnvPool steps many times faster than Gymnasium, to the same rules
SMALL = re.compile(r"^(CartPole-v1|LunarLander-v3)$")


def env_seeds(seed: int, n: int, stream: int = 0) -> list[int]:
    """n environment seeds from a run's seed; another stream gives other seeds."""
    return [int(s) for s in np.random.SeedSequence([seed, stream]).generate_state(n, np.uint32) % (2**31 - 1)]


def make_env(
    id: str, n: int, seed: int, stream: int = 0, threads: int = 2, backend: str = "auto", training: bool = False
) -> VectorEnv:
    """n environments, each with its own seed. `backend`: "envpool", "gymnasium" or "auto" (EnvPool where possible).

    `training`: in Atari games a lost life ends an episode, and rewards are reduced to their sign.
    """
    seeds = env_seeds(seed, n, stream)
    if backend == "envpool" or (backend == "auto" and _in_envpool(id)):
        return _make_envpool(id, seeds, threads, training)
    return _make_gymnasium(id, seeds, training)


def env_spec(id: str) -> EnvSpec:
    env = make_env(id, 1, 0, threads=1)
    env.close()
    return env.spec


def _in_envpool(id: str) -> bool:
    """MuJoCo, Atari, and what Gymnasium does not know by that name."""
    if envpool is None or _envpool_id(id) not in envpool.list_all_envs():
        return False
    return bool(MUJOCO.match(id) or SMALL.match(id) or atari.parse(id)) or id not in gymnasium.registry


def _envpool_id(id: str) -> str:
    match = atari.ID.match(id)
    return f"{match[1]}-v5" if match and atari.parse(id) else id


def _make_envpool(
    id: str, seeds: list[int], threads: int, training: bool = False, noops: int = atari.NOOPS
) -> VectorEnv:
    if envpool is None:
        raise UserError("EnvPool is not installed here (it needs Linux); use backend 'gymnasium'")
    if _envpool_id(id) not in envpool.list_all_envs():
        raise UserError(f"EnvPool has no environment {id!r}; use backend 'gymnasium'")
    options: dict[str, Any] = {"use_contact_force": True} if id in CONTACT_FORCES else {}
    if COMPUTE_FORCES.match(id):
        options["post_constraint"] = True
    game = atari.parse(id)
    if game:
        options = {"stack_num": game[1], "noop_max": noops, "episodic_life": training, "reward_clip": training}
    n, threads = len(seeds), min(threads, len(seeds))
    pool = envpool.make(
        _envpool_id(id), env_type="gymnasium", num_envs=n, num_threads=threads, env_seed=seeds, **options
    )
    spec = describe(id, pool.observation_space, pool.action_space, pool.spec.config.max_episode_steps)
    if game and game[0] in atari.ACTIONS:
        spec = spec._replace(actions=ActionSpace(atari.ACTIONS[game[0]]))
    return EnvPoolVector(spec, pool, n, training and game is not None)


def make_gymnasium_env(id: str, **kwargs: Any) -> gymnasium.Env:
    """One Gymnasium environment; `kwargs` such as render_mode go to it."""
    if game := atari.parse(id):
        return atari.AtariGame(*game, **kwargs)
    if id in CONTACT_FORCES:
        kwargs["use_contact_forces"] = True
    if id not in gymnasium.registry:
        for what in ("envs", "methods", "attacks"):
            load_plugins(what)
    try:
        return gymnasium.make(id, **kwargs)
    except gymnasium.error.Error as error:
        raise UserError(f"unknown environment {id!r}: {_one_line(error)}") from error
    except ModuleNotFoundError as error:
        raise UserError(f"environment {id!r} needs a package that is not installed: {_one_line(error)}") from error


def _make_gymnasium(id: str, seeds: list[int], training: bool = False) -> VectorEnv:
    options = {"training": training} if atari.parse(id) else {}
    env = make_gymnasium_env(id, **options)
    limit = atari.MAX_STEPS if options else env.spec.max_episode_steps if env.spec else None
    try:
        spec = describe(id, env.observation_space, env.action_space, limit)
    except TypeError as error:
        raise UserError(
            f"environment {id!r} is not supported: {error}; arrays and box or discrete actions are"
        ) from None
    finally:
        env.close()
    raw = MUJOCO.match(id) is not None
    return GymnasiumVector(spec, lambda: make_gymnasium_env(id, **options), seeds, raw, bool(options) and training)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
