"""Bounds of the actions that an attacker could cause at one moment, for a monitor in a control loop."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from equinox import nn

from wocar.agent import Agent
from wocar.bounds import Ball, network_bounds
from wocar.bounds.host_ball import HostBall
from wocar.bounds.host_crown import HostCrown
from wocar.threat import Threat
from wocar.types import UserError

Bounds = tuple[np.ndarray, np.ndarray]
REMEMBERED = 16


class ActionBounds(NamedTuple):
    """Continuous: the lowest and highest value of each coordinate. Discrete: of each action's score."""

    lower: np.ndarray
    upper: np.ndarray
    possible: np.ndarray | None = None
    """Discrete: which actions (n,) an attacker could cause."""

    @property
    def width(self) -> float:
        """Continuous: the largest distance between lowest and highest. Discrete: how many other actions are possible.

        0 means that no attacker within the threat can change the action.
        """
        if self.possible is not None:
            return float(self.possible.sum() - 1)
        return float((self.upper - self.lower).max())


class ActionMonitor:
    """`action_bounds` of one agent under one threat, prepared once."""

    def __init__(self, agent: Agent, threat: Threat) -> None:
        if agent.recurrent:
            raise UserError("action_bounds knows policies without a memory only; this agent's has one")
        if threat.on != "observation":
            raise UserError("action_bounds is for attacks on observations; attacks on actions name their own radius")
        self.agent, self.threat = agent, threat
        self._bounds = _bounds_of(agent.policy.network, threat.ball_for(agent))

    def __call__(self, observation: np.ndarray) -> ActionBounds:
        """The bounds at one raw observation, as the environment gives it."""
        agent, actions = self.agent, self.agent.spec.actions
        obs = np.asarray(observation)
        if obs.shape != agent.spec.obs_shape:
            raise UserError(f"one observation of shape {agent.spec.obs_shape} is needed, not {obs.shape}")
        z = agent.normaliser(obs[None])[0]
        lower, upper = self._bounds(z)
        if not actions.discrete:
            return ActionBounds(np.clip(lower, actions.low, actions.high), np.clip(upper, actions.low, actions.high))
        possible = upper >= lower.max()
        possible[int(np.argmax(agent.head(z[None])[0]))] = True
        return ActionBounds(lower, upper, possible)


_MONITORS: dict[tuple[int, Threat], ActionMonitor] = {}


def action_bounds(agent: Agent, observation: np.ndarray, threat: Threat | float) -> ActionBounds:
    """The lowest and highest action that an attacker within the threat could cause at this raw observation.

    Sound: no perturbation inside the ball leads outside. What is prepared for an agent and a threat is kept.
    """
    threat = threat if isinstance(threat, Threat) else Threat(threat)
    key = id(agent), threat
    monitor = _MONITORS.get(key)
    if monitor is None or monitor.agent is not agent:
        while len(_MONITORS) >= REMEMBERED:
            _MONITORS.pop(next(iter(_MONITORS)))
        monitor = _MONITORS[key] = ActionMonitor(agent, threat)
    return monitor(observation)


def _bounds_of(network: Any, ball: Ball) -> Callable[[np.ndarray], Bounds]:
    """In NumPy where the layers are known there, else by JAX."""
    try:
        crown, host = HostCrown(network), HostBall.of(ball)
    except TypeError:
        return partial(_by_jax, network, ball)
    return lambda z: crown(host, z.reshape(-1))


def _by_jax(network: Any, ball: Ball, z: np.ndarray) -> Bounds:
    lower, upper = _network_bounds(network, ball, z[None])
    return np.array(lower[0], np.float64), np.array(upper[0], np.float64)


@eqx.filter_jit
def _network_bounds(network: nn.Sequential, ball: Ball, z: Any) -> Any:
    convolutions = any(isinstance(layer, nn.Conv2d) for layer in network.layers)
    return network_bounds(network, ball, z, "crown-ibp" if convolutions else "crown")
