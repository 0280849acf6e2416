"""Gymnasium's spaces and Stable-Baselines3's VecNormalize, as pickles written without these libraries."""

import math
from typing import Any, NamedTuple

import numpy as np

from wocar.agent import Agent
from wocar.interop.pickle_writer import Name, New, PickleWriter
from wocar.networks import PixelNormaliser
from wocar.networks.normaliser import affine


class Box(NamedTuple):
    """An observation space of arrays."""

    low: np.ndarray
    high: np.ndarray
    dtype: np.dtype


def vec_normalize(agent: Agent, observations: Box | None = None) -> bytes | None:
    """The pickle that `VecNormalize.load` reads; None where observations enter the policy as they are."""
    if isinstance(agent.normaliser, PixelNormaliser):
        return None
    mean, scale = affine(agent.normaliser)
    clip = agent.normaliser.clip
    if not np.any(mean) and np.all(scale == 1) and math.isinf(clip):
        return None
    seen = observations or observation_box(agent)
    epsilon = min(1e-8, float(np.min(scale**2)))
    state: dict[str, Any] = {
        "norm_obs": True,
        "norm_obs_keys": None,
        "norm_reward": False,
        "training": False,
        "clip_obs": float(clip),
        "clip_reward": 10.0,
        "gamma": 0.99,
        "epsilon": epsilon,
        "obs_rms": _moments(mean, scale**2 - epsilon),
        "ret_rms": _moments(np.zeros(()), np.asarray(float(agent.meta.get("reward_std", 1.0)) ** 2)),
        "observation_space": box_space(seen.low, seen.high, seen.dtype),
        "action_space": action_space(agent),
        "num_envs": 1,
        "render_mode": None,
        "metadata": {"render_modes": []},
        "reset_infos": [{}],
        "_seeds": [None],
        "_options": [{}],
        "old_obs": None,
        "old_reward": None,
    }
    return PickleWriter().dump(New(Name("stable_baselines3.common.vec_env.vec_normalize", "VecNormalize"), state))


def observation_box(agent: Agent) -> Box:
    shape = agent.spec.obs_shape
    if isinstance(agent.normaliser, PixelNormaliser):
        return Box(np.zeros(shape, np.uint8), np.full(shape, 255, np.uint8), np.dtype(np.uint8))
    return Box(np.full(shape, -np.inf, np.float32), np.full(shape, np.inf, np.float32), np.dtype(np.float32))


def box_space(low: np.ndarray, high: np.ndarray, dtype: np.dtype) -> New:
    state = {
        "dtype": np.dtype(dtype),
        "_shape": tuple(low.shape),
        "low": low.astype(dtype),
        "high": high.astype(dtype),
        "bounded_below": low > -np.inf,
        "bounded_above": high < np.inf,
        "low_repr": _bound_text(low),
        "high_repr": _bound_text(high),
        "_np_random": None,
    }
    return New(Name("gymnasium.spaces.box", "Box"), state)


def _bound_text(bound: np.ndarray) -> str:
    return str(bound.flat[0]) if bound.size and np.all(bound == bound.flat[0]) else str(bound)


def action_space(agent: Agent) -> New:
    actions = agent.spec.actions
    if actions.low is not None and actions.high is not None:
        return box_space(actions.low, actions.high, np.dtype(np.float32))
    state = {"n": actions.size, "start": 0, "_shape": (), "dtype": np.dtype(np.int64), "_np_random": None}
    return New(Name("gymnasium.spaces.discrete", "Discrete"), state)


def _moments(mean: np.ndarray, variance: np.ndarray) -> New:
    state = {"mean": np.asarray(mean, np.float64), "var": np.asarray(variance, np.float64), "count": 1e4}
    return New(Name("stable_baselines3.common.running_mean_std", "RunningMeanStd"), state)
