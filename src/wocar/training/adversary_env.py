"""Environment of an adversary: that of its victim, whose observations its actions perturb."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks.learned import Actor, Direction, Displacement, softmax_pull_back
from wocar.bounds import Ball
from wocar.bounds.host_ball import HostBall
from wocar.networks.host_gradient import host_vjp
from wocar.networks.recurrent import LSTMState, reset_state
from wocar.types import EnvSpec, Policy, Step, VectorEnv, require_compatible

Show = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Clean normalised observations (B, obs) and the adversary's actions to what the victim sees."""


class Screen:
    """Turns an adversary's actions into what the victim sees: an actor, and the ball that limits it."""

    def __init__(self, actor: Actor, ball: Ball, victim: Agent) -> None:
        self.actor, self.ball = actor, ball
        self.set_victim(victim)

    def set_victim(self, victim: Agent) -> None:
        self._victim, self._on_host = victim, host_show(self.actor, victim.policy, self.ball)

    def __call__(self, z: np.ndarray, actions: np.ndarray, memory: Any) -> np.ndarray:
        """What the victim with this memory sees instead of its clean z."""
        if self._on_host is not None:
            return self._on_host(z, actions)
        view = self._victim.held(memory)
        return np.asarray(_move(self.actor, view, self.ball, jnp.asarray(z), jnp.asarray(actions)))


class AdversaryEnv:
    """Observation: the victim's clean z. Action: the actor's. Reward: minus the victim's. Ends are those of `env`.

    The victim acts on what it is shown, its normaliser frozen: by its mode, or by samples where `rng` is given. A
    recurrent victim's state is kept here and zeroed where an episode opens.
    """

    def __init__(
        self, victim: Agent, env: VectorEnv, actor: Actor, ball: Ball, rng: np.random.Generator | None = None
    ) -> None:
        require_compatible(victim.spec, env.spec)
        self.n, self.spec = env.n, adversary_spec(victim.spec, actor)
        self._victim, self._env, self._rng = victim, env, rng
        self._screen = Screen(actor, ball, victim)
        self._all = np.arange(self.n, dtype=np.int32)

    def set_victim(self, victim: Agent) -> None:
        """Replace the victim without ending episodes."""
        self._victim = victim
        self._screen.set_victim(victim)

    def reset(self) -> np.ndarray:
        self._z = self._victim.normaliser(self._env.reset())
        self._state = self._victim.start(self.n)
        return self._z.copy()

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        every = actions
        if ids is not None:
            every = np.zeros((self.n, *actions.shape[1:]), actions.dtype)  # of all environments: one shape to compile
            every[ids] = actions
        taken, state = self._victim.step(self._screen(self._z, every, self._state), self._state, self._rng)
        step = self._env.step(taken if ids is None else taken[ids], ids)
        z = self._victim.normaliser(step.obs)
        if ids is None:
            self._z, ids = z.copy(), self._all
        else:
            self._z[ids] = z
        if state is not None:
            self._state = reset_state(put_rows(self._state, state, ids), ids[step.is_reset])
        return step._replace(obs=z, rewards=-step.rewards)

    def close(self) -> None:
        self._env.close()


def put_rows(old: Any, new: Any, rows: np.ndarray) -> Any:
    """A memory on the host with these rows from another; None where there is no memory."""
    if old is None:
        return None
    chosen = np.isin(np.arange(len(old.h)), rows)[:, None]
    return LSTMState(*(np.where(chosen, fresh, kept) for fresh, kept in zip(new, old, strict=True)))


def adversary_spec(victim: EnvSpec, actor: Actor) -> EnvSpec:
    return victim._replace(actions=actor.actions(victim))


@eqx.filter_jit
def _move(actor: Actor, policy: Policy, ball: Ball, obs: jax.Array, actions: jax.Array) -> jax.Array:
    return ball.project(obs, actor.move(policy, ball, obs, actions))


def host_show(actor: Actor, policy: Policy, ball: Ball) -> Show | None:
    """`project(z, actor.move(z, u))` in NumPy; None where that takes more than products with dense layers."""
    host = HostBall.of(ball)
    if isinstance(actor, Displacement):
        return lambda z, u: host.moved(z, host.in_unit_ball(u.reshape(z.shape)))
    dense = isinstance(actor, Direction) and actor.steps == 1 and isinstance(policy.network, eqx.nn.Sequential)
    vjp = host_vjp(policy.network) if dense else None
    if vjp is None:
        return None

    def directed(z: np.ndarray, d: np.ndarray) -> np.ndarray:
        head, pull_back = vjp(z)
        gradient = pull_back(softmax_pull_back(head, d) if policy.discrete else d)
        return host.moved(z, host.direction(gradient))

    return directed
