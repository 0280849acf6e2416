"""Critics of a victim with a memory: their state is the observation and the hidden state with which it is met.

Explorations attack what the victim sees, because its memory keeps it.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks import Perturbation, Random
from wocar.attacks.robust_sarsa import RobustSarsa, SarsaData, with_memory
from wocar.envs import make_env
from wocar.evaluation.worst_critic import (
    CHUNK,
    EXPLORATION_STREAM,
    FIT,
    FOLLOW,
    GAMMA,
    ROLLOUT_STREAM,
    Lessons,
    new_worst_critic,
    reachable,
    sweep,
)
from wocar.mechanisms.policy_config import WocarConfig
from wocar.mechanisms.worst_set import ActionSet
from wocar.mechanisms.worst_value import WorstCritic
from wocar.networks import LSTMState, reset_state
from wocar.rollout import running_returns
from wocar.threat import Threat

N_ENVS = 16


class MemoryRollout(NamedTuple):
    """Steps of n environments, (n, T, ...); those that are resets are not `live`."""

    obs: np.ndarray
    """Normalised observations, without an attack."""
    before: LSTMState
    """The victim's memory with which it meets them."""
    actions: np.ndarray
    rewards: np.ndarray
    next_obs: np.ndarray
    after: LSTMState
    terminated: np.ndarray
    truncated: np.ndarray
    live: np.ndarray

    @property
    def scale(self) -> float:
        """The standard deviation of the discounted sums of rewards; 1 where they do not differ."""
        sums, _ = running_returns(self.rewards, self.terminated | self.truncated, np.zeros(len(self.live)), GAMMA)
        return float(np.std(sums[self.live])) or 1.0

    def of_live(self, array: np.ndarray) -> np.ndarray:
        return array[self.live]


def collect_memory(agent: Agent, steps: int, seed: int, perturb: Any = None) -> MemoryRollout:
    """Steps of the stochastic policy, or of the deterministic one under an attack: (policy, z) to what it sees."""
    stream = ROLLOUT_STREAM if perturb is None else EXPLORATION_STREAM
    env, rng = make_env(agent.spec.id, N_ENVS, seed, stream=stream), np.random.default_rng([seed, 0])
    obs, state = env.reset(), agent.start(N_ENVS)
    rows: list[tuple[Any, ...]] = []
    for _ in range(-(-steps // N_ENVS)):
        z = agent.normaliser(obs)
        seen = z if perturb is None else perturb(agent.held(state), z)
        actions, after = agent.step(seen, state, rng if perturb is None else None)
        step = env.step(actions)
        assert state is not None and after is not None
        now = (z, *state, actions, step.rewards, agent.normaliser(step.obs), *after)
        rows.append((*now, step.terminated, step.truncated, ~step.is_reset))
        obs, state = step.obs, reset_state(after, np.flatnonzero(step.is_reset))
    env.close()
    z, h, c, taken, rewards, next_z, next_h, next_c, terminated, truncated, live = (
        np.stack(column, axis=1) for column in zip(*rows, strict=True)
    )
    memories = LSTMState(h, c), LSTMState(next_h, next_c)
    return MemoryRollout(z, memories[0], taken, rewards, next_z, memories[1], terminated, truncated, live)


def memory_sarsa_data(rollout: MemoryRollout) -> SarsaData:
    """As `sarsa_data`, with states that hold the memory."""
    ends = rollout.truncated.copy()
    last = rollout.live.shape[1] - 1 - rollout.live[:, ::-1].argmax(axis=1)
    ends[np.arange(len(ends)), last] = True
    state = with_memory(rollout.obs, rollout.before.h)
    rewards = np.asarray(rollout.rewards, np.float32) / np.float32(rollout.scale)
    fields = state, rollout.actions, rewards, rollout.terminated, rollout.terminated | ~ends
    return SarsaData(*map(rollout.of_live, fields))


def memory_lessons(
    agent: Agent, rollout: MemoryRollout, threat: Threat, scale: float, config: WocarConfig = FIT
) -> Lessons:
    """Transitions with the sets of actions that an attacker can cause at s' and the memory it is met with."""
    sets, take = reachable(agent, threat, config), rollout.of_live
    memory, obs = LSTMState(*map(take, rollout.after)), take(rollout.next_obs)

    @eqx.filter_jit
    def look(policy: Any, state: LSTMState, z: jax.Array) -> ActionSet:
        return sets(policy.held(state), z)

    rows = np.minimum(np.arange(-(-len(obs) // CHUNK) * CHUNK), len(obs) - 1).reshape(-1, CHUNK)
    found = [look(agent.policy, LSTMState(*(x[part] for x in memory)), jnp.asarray(obs[part])) for part in rows]
    joined = jax.tree.map(lambda *x: jnp.concatenate(x)[: len(obs)], *found)
    state, following = with_memory(rollout.obs, rollout.before.h), with_memory(obs, memory.h)
    cut = agent.spec.actions.cut(jnp.asarray(take(rollout.actions)))
    rewards, terminated = take(rollout.rewards) / np.float32(scale), take(rollout.terminated)
    return Lessons(jnp.asarray(take(state)), cut, jnp.asarray(rewards), jnp.asarray(following), terminated, joined)


def fit_recurrent_worst_value(
    agent: Agent, threat: Threat, steps: int, sweeps: int, seed: int, explorations: int, exploration_steps: int = 16_384
) -> tuple[WorstCritic, float]:
    """The worst critic of a victim with a memory, and what its rewards are divided by."""
    rollout, key = collect_memory(agent, steps, seed), jax.random.key(seed)
    scale = rollout.scale
    critic = new_worst_critic(agent, agent.spec.obs_shape[0] + rollout.after.h.shape[-1], key)
    lessons = memory_lessons(agent, rollout, threat, scale)
    critic = sweep(critic, lessons, key, sweeps, FIT, GAMMA)
    for k in range(explorations):
        explorer = MemoryExplorer(critic, threat, agent, seed + k)
        more = memory_lessons(agent, collect_memory(agent, exploration_steps, seed + k, explorer), threat, scale)
        lessons = jax.tree.map(lambda *x: jnp.concatenate(x), lessons, more)
        critic = sweep(critic, lessons, jax.random.fold_in(key, k), sweeps, FIT, GAMMA)
    return critic, scale


class MemoryExplorer:
    """Shows the victim what lowers the critic's value, else corners of the ball."""

    def __init__(self, critic: WorstCritic, threat: Threat, agent: Agent, seed: int) -> None:
        ball = threat.ball_for(agent)
        self._follow = Perturbation(RobustSarsa(critic.target, memory=True), ball, seed)
        self._corner = Perturbation(Random(extreme=True), ball, seed)
        self._rng = np.random.default_rng([seed, 1])

    def __call__(self, policy: Any, z: np.ndarray) -> np.ndarray:
        follows = self._rng.uniform(size=len(z)) < FOLLOW
        return np.where(follows[:, None], self._follow(policy, z), self._corner(policy, z))
