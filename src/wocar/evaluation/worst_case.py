"""Calibration of a worst critic: what it predicts, and what an attacker who follows it achieves."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.envs import make_env
from wocar.episodes import EVALUATION_STREAM
from wocar.evaluation.worst_critic import FIT, GAMMA, reachable
from wocar.mechanisms.policy_config import WocarConfig
from wocar.mechanisms.worst_set import SetMinimum, minimum_over
from wocar.mechanisms.worst_value import WorstCritic
from wocar.threat import Threat
from wocar.types import Critic, Policy, UserError


class Calibration(NamedTuple):
    """Discounted returns in raw reward, over the states an attacker meets who plays the critic's worst actions."""

    estimate: float
    achieved: float
    start_estimate: float
    start_achieved: float
    drop: float
    """Mean loss of the critic's value from the policy's action to the worst one in the set."""
    spread: float
    """Standard deviation of the critic's value over states."""

    @property
    def ratio(self) -> float:
        return self.estimate / self.achieved if self.achieved else float("nan")


def worst_case(
    agent: Agent, critic: Critic, threat: Threat, config: WocarConfig = FIT
) -> Callable[[np.ndarray], SetMinimum]:
    """The critic's minimum over the actions an attacker can cause, at normalised observations."""
    minimum = worst_case_of(agent, threat, config)
    return lambda z: minimum(critic, z)


def worst_case_of(
    agent: Agent, threat: Threat, config: WocarConfig = FIT
) -> Callable[[Critic, np.ndarray], SetMinimum]:
    """The same for any critic of this shape, compiled once."""
    within_reach = reachable(agent, threat, config)

    @eqx.filter_jit
    def minimum(policy: Policy, frozen: WorstCritic, obs: jax.Array) -> SetMinimum:
        return minimum_over(within_reach(policy, obs), frozen, obs, config.search_steps)

    return lambda critic, z: jax.device_get(minimum(agent.policy, WorstCritic(critic, critic, ()), jnp.asarray(z)))


def starting_states(agent: Agent, seed: int, episodes: int) -> np.ndarray:
    """Normalised observations with which evaluation episodes begin. (episodes, obs)"""
    env = make_env(agent.spec.id, episodes, seed, stream=EVALUATION_STREAM)
    obs = env.reset()
    env.close()
    return agent.normaliser(obs)


def importance(agent: Agent, threat: Threat, z: np.ndarray) -> np.ndarray:
    """w(s), the state importance, at normalised observations in units of return: what an attacker could cost there.

    V(s) less the worst critic's minimum over the actions within reach; of DQN max Q - min Q, of WocaR-DQN the same of
    the values without an attacker, as in its training. (N,)
    """
    obs = jnp.asarray(z)
    if "worst" in agent.critics and "value" in agent.critics:
        worst = worst_case(agent, agent.critics["worst"], threat)(z).value
        return np.maximum(np.asarray(agent.critics["value"](obs)) - worst, 0.0) * agent.meta.get("reward_std", 1.0)
    if agent.spec.actions.discrete and "value" not in agent.critics:
        q = np.asarray(agent.critics.get("natural", agent.policy.head)(obs))
        return q.max(axis=-1) - q.min(axis=-1)
    raise UserError("state importance needs a worst critic or Q values: train a wocar method or dqn")


def calibrate(
    agent: Agent,
    critic: Critic,
    threat: Threat,
    scale: float,
    seed: int,
    config: WocarConfig = FIT,
    episodes: int = 16,
    horizon: int = 300,
) -> Calibration:
    """Let the relaxed attacker replace every action by the critic's minimiser inside the set; compare what it causes
    with what the critic predicted at the same states. States less than `horizon` steps before a time limit are left
    out, since their future is cut off.
    """
    env = make_env(agent.spec.id, episodes, seed, stream=EVALUATION_STREAM)
    look = worst_case(agent, critic, threat, config)
    obs, alive = env.reset(), np.ones(episodes, bool)
    truncated = np.zeros(episodes, bool)
    rewards, values, drops, live = [], [], [], []
    while alive.any():
        found = look(agent.normaliser(obs))
        ids = np.flatnonzero(alive).astype(np.int32)
        step = env.step(np.asarray(found.worst)[ids], ids)
        reward = np.zeros(episodes)
        reward[ids] = step.rewards
        rewards.append(reward)
        values.append(found.value * scale)
        drops.append(found.drop * scale)
        live.append(alive.copy())
        obs[ids] = step.obs
        truncated[ids] |= step.truncated
        alive[ids] &= ~(step.terminated | step.truncated)
    env.close()
    live_grid, value_grid = np.array(live), np.array(values)
    achieved = np.zeros((len(rewards) + 1, episodes))
    for t in reversed(range(len(rewards))):
        achieved[t] = rewards[t] + GAMMA * achieved[t + 1]
    ends = live_grid.sum(axis=0)
    whole = live_grid & ~(truncated & (np.arange(len(rewards))[:, None] >= ends - horizon))
    whole[0] = True
    return Calibration(
        estimate=float(value_grid[whole].mean()),
        achieved=float(achieved[:-1][whole].mean()),
        start_estimate=float(value_grid[0].mean()),
        start_achieved=float(achieved[0].mean()),
        drop=float(np.array(drops)[whole].mean()),
        spread=float(value_grid[whole].std()),
    )
