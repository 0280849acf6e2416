"""Worst critic of a fixed policy, fitted to rollouts of the policy and to explorations inside the sets of its actions.

The policy's own rollouts do not show where an attack leads: in every state they visit, the next attack can still take
everything, so the critic predicts that loss at every step. Explorations replace actions inside the sets.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.envs import make_env
from wocar.mechanisms.policy_config import WocarConfig
from wocar.mechanisms.worst_set import ActionSet, action_set, minimum_over
from wocar.mechanisms.worst_value import WorstCritic, fit_worst_critic, worst_attack_backup
from wocar.networks import DiscreteCritic, DuelingActionCritic, TwinCritic
from wocar.rollout import Collector, running_returns
from wocar.threat import Threat
from wocar.types import Array, Policy, Transitions

GAMMA = 0.99
FIT = WocarConfig(reg=False, kappa_wst=0.0, critic_lr=1e-3, critic_tau=0.02, importance=False, search_steps=5)
"""Settings for the worst critic of a fixed policy: mechanism 1 alone, one-step backups."""
SEARCHED = dataclasses.replace(FIT, bounds="pgd")
"""The same for a critic that an attacker follows: of discrete actions bounds allow many that no point of the ball
causes, and a critic that counts on them leads astray."""
SAMPLE, PARTS, CHUNK = 2048, 8, 2048
"""Transitions of a sweep, its minibatches; states whose bounds are found at once."""
FOLLOW, ANYWHERE = 0.4, 0.7
"""An explorer plays the critic's worst action, else (up to the second number) any in the set, else it mixes corners."""
ROLLOUT_STREAM, EXPLORATION_STREAM = 2_000_000, 3_000_000


class Lessons(NamedTuple):
    """Transitions (N, ...), rewards divided by their scale, and what an attacker can cause at each s'."""

    obs: Array
    actions: Array
    rewards: Array
    next_obs: Array
    terminated: Array
    sets: ActionSet


def fit_worst_value(
    agent: Agent,
    threat: Threat,
    rollout: Transitions,
    scale: float,
    sweeps: int,
    seed: int,
    config: WocarConfig = FIT,
    gamma: float = GAMMA,
    explorations: int = 0,
    exploration_steps: int = 16_384,
    enough: Callable[[int, WorstCritic], bool] | None = None,
) -> WorstCritic:
    """The worst critic of the agent's deterministic policy under a threat, in rewards divided by `scale`.

    Each sweep backs up a sample of the transitions: some multiples of 1 / (1 - gamma) of them are needed. After each
    exploration the critic is fitted again, to all that was seen. `enough` is shown the critic after each fit, with the
    number of explorations so far, and may end them.
    """
    key = jax.random.key(seed)
    critic = new_worst_critic(agent, agent.spec.obs_shape[0], key)
    lessons = make_lessons(agent, rollout, threat, scale, config)
    critic = sweep(critic, lessons, key, sweeps, config, gamma)
    for k in range(explorations):
        if enough and enough(k, critic):
            break
        found = explore(agent, critic, threat, exploration_steps, seed + k, config)
        more = make_lessons(agent, found, threat, scale, config)
        lessons = jax.tree.map(lambda *x: jnp.concatenate(x), lessons, more)
        critic = sweep(critic, lessons, jax.random.fold_in(key, k), sweeps, config, gamma)
    return critic


def new_worst_critic(agent: Agent, size: int, key: jax.Array) -> WorstCritic:
    """Twins over states of this size, not fitted yet."""
    actions = agent.spec.actions
    kind: Any = DiscreteCritic if actions.discrete else DuelingActionCritic
    return WorstCritic.create(TwinCritic(*(kind.create(size, actions.size, k) for k in jax.random.split(key))))


def collect_rollout(agent: Agent, steps: int, seed: int, n_envs: int = 16) -> Transitions:
    """Transitions of the stochastic policy, (n, T), raw rewards."""
    return _collect(agent, agent, steps, seed, ROLLOUT_STREAM, n_envs)


def return_scale(rollout: Transitions) -> float:
    """The standard deviation of the discounted sums of rewards; 1 where they do not differ."""
    ends = rollout.terminated | rollout.truncated
    sums, _ = running_returns(rollout.rewards, ends, np.zeros(len(ends)), GAMMA)
    return float(np.std(sums)) or 1.0


def explore(
    agent: Agent, critic: WorstCritic, threat: Threat, steps: int, seed: int, config: WocarConfig
) -> Transitions:
    """Transitions under an attacker who replaces actions inside the sets, often by the critic's worst one."""
    return _collect(agent, _Explorer(agent, critic, threat, config), steps, seed, EXPLORATION_STREAM)


def reachable(agent: Agent, threat: Threat, config: WocarConfig) -> Callable[[Any, Array], ActionSet]:
    """The sets of actions that an attacker of this threat can cause: policy and normalised observations to them."""
    ball, settings = threat.ball_for(agent), dataclasses.replace(config, threat=threat)
    return lambda policy, z: action_set(policy, z, ball, settings, agent.spec.actions)


def make_lessons(agent: Agent, rollout: Transitions, threat: Threat, scale: float, config: WocarConfig) -> Lessons:
    """Rollouts (n, T, ...) flattened, with the sets of actions at s'; the policy is fixed, so once is enough."""
    obs, actions, rewards, next_obs, terminated = (x.reshape(-1, *x.shape[2:]) for x in map(np.asarray, rollout[:5]))
    sets = eqx.filter_jit(reachable(agent, threat, config))
    whole = np.concatenate([next_obs, np.repeat(next_obs[-1:], -len(next_obs) % CHUNK, axis=0)])
    found = [sets(agent.policy, jnp.asarray(part)) for part in np.split(whole, len(whole) // CHUNK)]
    joined = jax.tree.map(lambda *x: jnp.concatenate(x)[: len(next_obs)], *found)
    cut = agent.spec.actions.cut(jnp.asarray(actions))
    return Lessons(jnp.asarray(obs), cut, jnp.asarray(rewards / scale), jnp.asarray(next_obs), terminated, joined)


@eqx.filter_jit
def sweep(
    critic: WorstCritic, lessons: Lessons, key: jax.Array, sweeps: int, config: WocarConfig, gamma: float
) -> WorstCritic:
    """Worst-attack backups of samples, each followed by minibatch steps to them; the step size falls to a tenth."""
    arrays, static = eqx.partition(critic, eqx.is_array)

    def one(k: jax.Array, arrays: Any) -> Any:
        critic = eqx.combine(arrays, static)
        sample_key, fit_key = jax.random.split(jax.random.fold_in(key, k))
        rows = jax.random.randint(sample_key, (SAMPLE,), 0, len(lessons.rewards))
        obs, actions, rewards, next_obs, terminated, sets = jax.tree.map(lambda x: jnp.asarray(x)[rows], lessons)
        minimum = minimum_over(sets, critic, next_obs, config.search_steps).value
        targets = worst_attack_backup(rewards, terminated, minimum, gamma)
        lr = config.critic_lr * (1 - 0.9 * k / sweeps)
        critic, _ = fit_worst_critic(critic, obs, actions, targets, fit_key, lr, 1, PARTS, config.critic_tau)
        return eqx.filter(critic, eqx.is_array)

    return eqx.combine(jax.lax.fori_loop(0, sweeps, one, arrays), static)


class _Explorer:
    """Plays actions inside the sets in place of the agent's own, often the critic's worst."""

    def __init__(self, agent: Agent, critic: WorstCritic, threat: Threat, config: WocarConfig) -> None:
        self.normaliser, self.start = agent.normaliser, agent.start
        self._policy, self._critic = agent.policy, critic
        within_reach = reachable(agent, threat, config)

        @eqx.filter_jit
        def look(policy: Policy, critic: WorstCritic, z: jax.Array) -> tuple[ActionSet, jax.Array]:
            sets = within_reach(policy, z)
            return sets, minimum_over(sets, critic, z, config.search_steps).worst

        self._look = look
        self._rows = 0

    def step(self, z: np.ndarray, state: Any, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
        n = len(z)
        self._rows = max(self._rows, n)
        whole = np.concatenate([z, np.repeat(z[-1:], self._rows - n, axis=0)])  # one shape for the compiler
        sets, worst = jax.device_get(self._look(self._policy, self._critic, jnp.asarray(whole)))
        return explored(jax.tree.map(lambda x: x[:n], sets), worst[:n], rng), state


def explored(sets: ActionSet, worst: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Actions inside the sets: the worst ones, or any, or (in a box) the worst with some coordinates at either end."""
    n = len(worst)
    pick = rng.uniform(size=n)
    if sets.mask is not None:
        anything = np.where(sets.mask, rng.uniform(size=sets.mask.shape), -1.0).argmax(axis=1)
        return np.where(pick < FOLLOW, worst, anything).astype(np.int32)
    lower, upper = sets.box  # type: ignore[misc]
    anything = lower + (upper - lower) * rng.uniform(size=lower.shape)
    ends = np.where(rng.uniform(size=lower.shape) < 0.5, lower, upper)
    mixed = np.where(rng.uniform(size=lower.shape) < 0.3, ends, worst)
    pick = pick[:, None]
    return np.where(pick < FOLLOW, worst, np.where(pick < ANYWHERE, anything, mixed)).astype(np.float32)


def _collect(agent: Agent, player: Any, steps: int, seed: int, stream: int, n_envs: int = 16) -> Transitions:
    env = make_env(agent.spec.id, n_envs, seed, stream=stream)
    rollout = Collector(env, np.random.default_rng([seed, 0])).collect(player, -(-steps // n_envs))
    env.close()
    return rollout.transitions
