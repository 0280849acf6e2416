"""Evaluation episodes, optionally attacked."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from wocar.agent import Agent
from wocar.envs import make_env
from wocar.networks import reset_state
from wocar.types import Policy, UserError, VectorEnv, require_compatible

Act = Callable[[np.ndarray], np.ndarray]
"""Normalised observations (B, obs) to the actions that reach the environment."""


class Perturb(Protocol):
    """Attack on observations: the current policy and z to z~."""

    def __call__(self, policy: Policy, z: np.ndarray) -> np.ndarray: ...

    def begin(self, env: VectorEnv) -> None:
        """The environments whose episodes are attacked, before the first step."""

    def reset(self, rows: np.ndarray, n: int) -> None:
        """Reset these rows of n: their episodes begin."""


class Disturb(Protocol):
    """Attack on actions: the current policy, z and the victim's actions to those that reach the environment."""

    def __call__(self, policy: Policy, z: np.ndarray, actions: np.ndarray) -> np.ndarray: ...


EVALUATION_STREAM = 1_000_000
"""Environment seeds of evaluations never meet those of training."""


class Episodes(NamedTuple):
    returns: np.ndarray
    lengths: np.ndarray
    discounted: np.ndarray
    """Discounted return from each episode's first state."""
    flips: float | None = None
    """Share of steps at which an attack changed a discrete action."""


def run_episodes(
    agent: Agent,
    episodes: int,
    seed: int,
    act: Act | None = None,
    env_id: str | None = None,
    n_envs: int = 16,
    threads: int = 2,
    gamma: float = 0.99,
    on_episodes: Callable[[int], None] | None = None,
    *,
    perturb: Perturb | None = None,
    disturb: Disturb | None = None,
) -> Episodes:
    """Raw returns of the deterministic policy with its normaliser frozen, under attack on what it sees and does.

    `act` replaces the policy and its attacks.

    Episodes are shared out over the environments beforehand, so that short ones are not favoured.
    """
    n = min(n_envs, episodes)
    env = make_env(env_id or agent.spec.id, n, seed, stream=EVALUATION_STREAM, threads=threads)
    try:
        require_compatible(agent.spec, env.spec)
    except UserError:
        env.close()
        raise
    left = np.full(n, episodes // n) + (np.arange(n) < episodes % n)
    running, discounted, length = np.zeros(n), np.zeros(n), np.zeros(n, dtype=int)
    results: list[list[tuple[float, int, float]]] = [[] for _ in range(n)]
    flips: list[np.ndarray] = []
    obs = env.reset()
    ids = np.arange(n, dtype=np.int32)
    if perturb is not None:
        perturb.begin(env)
    player = _Player(agent, n, act, perturb, disturb)
    while len(ids):
        actions = player(agent.normaliser(obs))  # of all environments, so that a jitted attack sees one shape
        step = env.step(actions[ids], ids)
        if step.is_reset.any():
            player.reset(ids[step.is_reset])
        live = ~step.is_reset
        who = ids[live]
        running[who] += step.rewards[live]
        discounted[who] += gamma ** length[who] * step.rewards[live]
        if player.flipped is not None:
            flips.append(player.flipped[who])
        length[who] += 1
        ended = ids[live & (step.terminated | step.truncated)]
        for i in ended:
            results[i].append((running[i], length[i], discounted[i]))
        running[ended], discounted[ended], length[ended] = 0.0, 0.0, 0
        left[ended] -= 1
        if on_episodes and len(ended):
            on_episodes(len(ended))
        obs[ids] = step.obs
        ids = ids[left[ids] > 0]
    env.close()
    returns, lengths, discounts = zip(*(row for rows in results for row in rows), strict=True)
    share = float(np.concatenate(flips).mean()) if flips else None
    return Episodes(np.array(returns), np.array(lengths), np.array(discounts), share)


class _Player:
    """The victim and its attacks, with their memories."""

    def __init__(self, agent: Agent, n: int, act: Act | None, perturb: Perturb | None, disturb: Disturb | None) -> None:
        self.agent, self.n, self.act, self.perturb, self.disturb = agent, n, act, perturb, disturb
        self.state = agent.start(n)
        self.flipped: np.ndarray | None = None
        """Where the last actions differ from those without an attack."""
        self.reset(np.arange(n))

    def __call__(self, z: np.ndarray) -> np.ndarray:
        if self.act is not None:
            return self.act(z)
        policy: Any = self.agent.held(self.state) if self.perturb or self.disturb else None
        seen, before = self.perturb(policy, z) if self.perturb else z, self.state
        actions, self.state = self.agent.step(seen, before)
        taken = self.disturb(policy, z, actions) if self.disturb else actions
        if policy is not None and self.agent.spec.actions.discrete:
            wanted = self.agent.step(z, before)[0] if self.perturb else actions
            self.flipped = taken != wanted
        return taken

    def reset(self, rows: np.ndarray) -> None:
        """Reset the memories of episodes that begin."""
        self.state = reset_state(self.state, rows)
        if self.perturb:
            self.perturb.reset(rows, self.n)
