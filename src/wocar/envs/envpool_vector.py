"""Environments of EnvPool, where it is installed."""

import re
from typing import Any

import numpy as np

from wocar.envs import atari
from wocar.envs.make import CONTACT_FORCES
from wocar.envs.vector import describe
from wocar.types import ActionSpace, EnvSpec, Step, UserError, VectorEnv

# contact forces of v3 and v4 tasks are shown as 0 unless asked for; Gymnasium always computes them
COMPUTE_FORCES = re.compile(r"^(Ant|Humanoid|HumanoidStandup)-v[34]$")


class EnvPoolVector:
    """EnvPool in synchronous mode. After an episode's end EnvPool's next step is the reset; we only mark it.

    `training`: a game whose episodes and rewards are cut for training, so that its own are told too.
    """

    def __init__(self, spec: EnvSpec, pool: Any, n: int, training: bool = False) -> None:
        self.spec, self.n, self._pool, self._training = spec, n, pool, training
        self._ended = np.zeros(n, dtype=bool)
        self._all = np.arange(n, dtype=np.int32)

    def reset(self) -> np.ndarray:
        self._ended[:] = False
        obs, _ = self._pool.reset()
        return obs

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        ids = self._all if ids is None else ids
        obs, rewards, terminated, truncated, info = self._pool.step(actions, ids)
        is_reset = self._ended[ids]
        self._ended[ids] = terminated | truncated
        truncated = truncated & ~terminated
        if not self._training:
            return Step(obs, rewards, terminated, truncated, is_reset)
        return Step(obs, rewards, terminated, truncated, is_reset, info["reward"], info["terminated"].astype(bool))

    def close(self) -> None:
        self._pool.close()


def make_envpool(
    id: str, seeds: list[int], threads: int, training: bool = False, noops: int = atari.NOOPS
) -> VectorEnv:
    try:
        import envpool
    except ImportError:
        raise UserError("EnvPool is not installed: pip install 'wocar[envpool]' (on Linux)") from None
    match = atari.ID.match(id)
    game = atari.parse(id)
    name = f"{match[1]}-v5" if match and game else id
    if name not in envpool.list_all_envs():
        raise UserError(f"EnvPool has no environment {id!r}; use backend 'gymnasium'")
    options: dict[str, Any] = {"use_contact_force": True} if id in CONTACT_FORCES else {}
    if COMPUTE_FORCES.match(id):
        options["post_constraint"] = True
    if game:
        options = {"stack_num": game[1], "noop_max": noops, "episodic_life": training, "reward_clip": training}
    n, threads = len(seeds), min(threads, len(seeds))
    pool = envpool.make(name, env_type="gymnasium", num_envs=n, num_threads=threads, env_seed=seeds, **options)
    spec = describe(id, pool.observation_space, pool.action_space, pool.spec.config.max_episode_steps)
    if game and game[0] in atari.ACTIONS:
        spec = spec._replace(actions=ActionSpace(atari.ACTIONS[game[0]]))
    return EnvPoolVector(spec, pool, n, training and game is not None)
