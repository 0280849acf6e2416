"""The worst-attack value of a fixed policy from its own rollouts, and an attacker that acts on it, to check it by."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.bounds import Ball
from wocar.envs import make_env
from wocar.evaluation.episodes import EVALUATION_STREAM
from wocar.mechanisms.config import WocarConfig
from wocar.mechanisms.wocar import Wocar
from wocar.mechanisms.worst_set import SetMinimum, set_minimum
from wocar.mechanisms.worst_value import WorstCritic
from wocar.networks import DiscreteCritic, DuelingActionCritic, TwinCritic
from wocar.rollout import Collector
from wocar.types import Batch, Transitions

GAMMA = 0.99
ROLLOUT_STREAM = 2_000_000
STEPS_PER_ROUND = 60
"""Gradient steps between two backups, at least: the target then follows to within a few percent."""
FIT = WocarConfig(reg=False, kappa_wst=0.0, critic_lr=1e-3, critic_epochs=2, critic_tau=0.05, importance=False)
"""Settings for the worst critic of a fixed policy: mechanism 1 alone, one-step backups, many rounds."""


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


def collect_rollout(agent: Agent, steps: int, seed: int, n_envs: int = 16) -> Transitions:
    """Transitions of the stochastic policy, (n, T), raw rewards."""
    env = make_env(agent.spec.id, n_envs, seed, stream=ROLLOUT_STREAM)
    collector = Collector(env, np.random.default_rng([seed, 0]))
    rollout = collector.collect(agent, -(-steps // n_envs))
    env.close()
    return rollout.transitions


def fit_worst_value(
    agent: Agent,
    eps: float,
    rollout: Transitions,
    scale: float,
    rounds: int,
    seed: int,
    config: WocarConfig = FIT,
    gamma: float = GAMMA,
) -> WorstCritic:
    """The worst critic of the agent's deterministic policy at a constant radius, in rewards divided by `scale`.

    Each round is one worst-attack backup of all transitions: some multiples of 1 / (1 - gamma) of them are needed.
    """
    spec = agent.spec
    parts = max(1, rollout.rewards.size // 256)
    epochs = max(config.critic_epochs, STEPS_PER_ROUND // parts)
    config = dataclasses.replace(config, bound_eps=eps, critic_minibatches=parts, critic_epochs=epochs)
    objective = Wocar(config, spec.actions, gamma)
    kind: Any = DiscreteCritic if spec.actions.discrete else DuelingActionCritic
    key = jax.random.key(seed)
    twins = (kind.create(spec.obs_shape[0], spec.actions.size, k) for k in jax.random.split(key))
    extra = objective.init(TwinCritic(*twins))
    batch = _as_batch(rollout, scale)
    fit = eqx.filter_jit(objective.fit)
    for k in range(rounds):
        extra, _, _ = fit(extra, agent.policy, batch, jax.random.fold_in(key, k), jnp.float32(k / rounds))
    return extra.worst


def worst_case(agent: Agent, critic: Any, eps: float, config: WocarConfig = FIT) -> Callable[[np.ndarray], SetMinimum]:
    """The critic's minimum over the actions an attacker can cause, at normalised observations."""
    frozen = WorstCritic(critic, critic, ())

    @eqx.filter_jit
    def minimum(policy: Any, frozen: WorstCritic, obs: jax.Array) -> SetMinimum:
        return set_minimum(policy, frozen, obs, Ball(eps), config, agent.spec.actions)

    return lambda z: jax.device_get(minimum(agent.policy, frozen, jnp.asarray(z)))


def calibrate(
    agent: Agent,
    critic: Any,
    eps: float,
    scale: float,
    seed: int,
    config: WocarConfig = FIT,
    episodes: int = 16,
    horizon: int = 300,
) -> Calibration:
    """Let the relaxed attacker replace every action by the critic's minimiser inside the set; compare what it causes
    with what the critic foretold at the same states. States less than `horizon` steps before a time limit are left out,
    since their future is cut off.
    """
    env = make_env(agent.spec.id, episodes, seed, stream=EVALUATION_STREAM)
    look = worst_case(agent, critic, eps, config)
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


def _as_batch(rollout: Transitions, scale: float) -> Batch:
    last = np.asarray(rollout.terminated) | np.asarray(rollout.truncated)
    last[:, -1] = True
    flat = {name: jnp.asarray(x.reshape(-1, *x.shape[2:])) for name, x in rollout._asdict().items()}
    nothing = jnp.zeros(rollout.rewards.size)
    return Batch(
        obs=flat["obs"],
        actions=flat["actions"],
        rewards=flat["rewards"] / scale,
        next_obs=flat["next_obs"],
        terminated=flat["terminated"],
        last=jnp.asarray(last.reshape(-1)),
        log_prob=nothing,
        value=nothing,
        advantage=nothing,
        returns=nothing,
    )
