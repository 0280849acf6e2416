"""Episodes of a victim, with or without an attack between the observation and its eyes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.envs import make_env

Perturb = Callable[[np.ndarray], np.ndarray]
"""Normalised observations (B, obs) to perturbed ones, already inside the ball."""

EVALUATION_STREAM = 1_000_000
"""Environment seeds of evaluations never meet those of training."""


class Episodes(NamedTuple):
    returns: np.ndarray
    lengths: np.ndarray


def run_episodes(
    agent: Agent,
    episodes: int,
    seed: int,
    perturb: Perturb | None = None,
    env_id: str | None = None,
    n_envs: int = 16,
    threads: int = 2,
    on_episode: Callable[[int], None] | None = None,
) -> Episodes:
    """Raw returns of the deterministic policy with its normaliser frozen.

    Episodes are shared out over the environments beforehand, so that short ones are not favoured.
    """
    n = min(n_envs, episodes)
    env = make_env(env_id or agent.spec.id, n, seed, stream=EVALUATION_STREAM, threads=threads)
    if env.spec.obs_shape != agent.spec.obs_shape:
        raise ValueError(f"{env.spec.id} gives observations {env.spec.obs_shape}, the agent sees {agent.spec.obs_shape}")
    left = np.full(n, episodes // n) + (np.arange(n) < episodes % n)
    running, length = np.zeros(n), np.zeros(n, dtype=int)
    results: list[list[tuple[float, int]]] = [[] for _ in range(n)]
    obs = env.reset()
    ids = np.arange(n, dtype=np.int32)
    while len(ids):
        z = agent.normaliser(obs)
        step = env.step(agent.act(z if perturb is None else perturb(z)), ids)
        live = ~step.is_reset
        running[ids[live]] += step.rewards[live]
        length[ids[live]] += 1
        ended = ids[live & (step.terminated | step.truncated)]
        for i in ended:
            results[i].append((running[i], length[i]))
            running[i], length[i] = 0.0, 0
            left[i] -= 1
        if on_episode and len(ended):
            on_episode(len(ended))
        going = left[ids] > 0
        ids, obs = ids[going], step.obs[going]
    env.close()
    flat = [pair for per_env in results for pair in per_env]
    return Episodes(np.array([r for r, _ in flat]), np.array([k for _, k in flat]))
