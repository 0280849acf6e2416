"""Lookahead attack: of several attacks, every few steps the one that copies of the simulator show to be the worst.

An attacker who knows the simulator need not commit to one attack for a whole episode.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks import Perturbation
from wocar.bounds import Ball
from wocar.envs import make_env
from wocar.mechanisms.worst_value import q_at
from wocar.types import Critic, Policy, VectorEnv

GAMMA = 0.99
COPIES_STREAM = 4_000_000
"""Seeds of the copies, whose states are overwritten before they are used."""


class Lookahead(eqx.Module):
    """Its choice is the attack under which least is earned in `horizon` steps and left after them.

    What is left is the worst critic's value of the state reached. The choice stands for `hold` steps.
    """

    candidates: tuple[Any, ...]
    """None: no attack."""
    critic: Any
    scale: float = eqx.field(static=True)
    """What the critic's rewards are divided by."""
    horizon: int = eqx.field(static=True, default=25)
    hold: int = eqx.field(static=True, default=5)

    def __repr__(self) -> str:
        return f"Lookahead({len(self.candidates)} attacks, horizon={self.horizon}, hold={self.hold})"


class LookaheadPerturbation:
    """Applies a lookahead attack to the episodes of one agent without memory."""

    def __init__(self, attack: Lookahead, agent: Agent, ball: Ball, seed: int) -> None:
        self.attack, self.agent, self.ball = attack, agent, ball
        self.calls, self._seed, self._used = 0, seed, 0.0
        self._apply = [None if one is None else Perturbation(one, ball, seed) for one in attack.candidates]
        self._chosen = np.zeros(0, int)

    def begin(self, env: VectorEnv) -> None:
        self._env = env
        count = env.n * len(self._apply)
        self._copies: Any = make_env(self.agent.spec.id, count, self._seed, stream=COPIES_STREAM)
        self._copies.reset()

    def __call__(self, policy: Policy, z: np.ndarray) -> np.ndarray:
        if self.calls % self.attack.hold == 0:
            self._chosen = self._plan(policy, z)
        self.calls += 1
        shown = np.array(z)
        for k, perturb in enumerate(self._apply):
            rows = self._chosen == k
            if perturb is not None and rows.any():
                shown[rows] = perturb(policy, z)[rows]
        self._used += float(self.ball.used(jnp.asarray(z), jnp.asarray(shown)))
        return shown

    def reset(self, rows: np.ndarray, n: int) -> None:
        """Its attacks have no memory."""

    @property
    def used(self) -> float:
        """Share of the budget used, over all calls."""
        return self._used / max(self.calls, 1)

    def _plan(self, policy: Policy, z: np.ndarray) -> np.ndarray:
        """The worst of the attacks at each state (n,)."""
        n, count = len(z), len(self._apply)
        self._copies.copy_states(self._env, np.repeat(np.arange(n), count))
        x = np.repeat(z, count, axis=0)
        total, alive = np.zeros(n * count), np.ones(n * count, bool)
        for t in range(self.attack.horizon):
            step = self._copies.step(self.agent.act(self._each(policy, x.reshape(n, count, -1)).reshape(x.shape)))
            total += GAMMA**t * step.rewards * alive
            alive &= ~step.terminated
            x = self.agent.normaliser(step.obs)
        left = np.asarray(_values(policy, self.attack.critic, jnp.asarray(x))) * self.attack.scale
        total += GAMMA**self.attack.horizon * left * alive
        worst: np.ndarray = total.reshape(n, count).argmin(axis=1)
        return worst

    def _each(self, policy: Policy, z: np.ndarray) -> np.ndarray:
        """What each attack shows where it is tried, (n, attacks, obs)."""
        shown = np.array(z)
        for k, perturb in enumerate(self._apply):
            if perturb is not None:
                shown[:, k] = perturb(policy, np.ascontiguousarray(z[:, k]))
        return shown


@eqx.filter_jit
def _values(policy: Policy, critic: Critic, z: jax.Array) -> jax.Array:
    return q_at(critic, z, policy.mode(z))
