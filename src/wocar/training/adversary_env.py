"""The adversary's environment: a victim in its own environment, seen through what the adversary shows it."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks.learned import Actor, Direction, Displacement, softmax_pull_back
from wocar.bounds import Ball
from wocar.networks.host_gradient import host_vjp
from wocar.networks.recurrent import reset_state
from wocar.types import EnvSpec, Step, UserError, VectorEnv

Show = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Clean normalised observations (B, obs) and the adversary's actions to what the victim sees."""


class AdversaryEnv:
    """Observation: the victim's clean z. Action: the actor's. Reward: minus the victim's. Ends are those of `env`.

    The victim acts deterministically on what it is shown, its normaliser frozen; a recurrent victim's state is kept
    here and zeroed where an episode opens.
    """

    def __init__(self, victim: Agent, env: VectorEnv, actor: Actor, ball: Ball) -> None:
        ours, theirs = ((s.obs_shape, s.actions.size, s.actions.discrete) for s in (victim.spec, env.spec))
        if ours != theirs:
            raise UserError(f"{env.spec.id} shows and takes other arrays than the victim's {victim.spec.id}")
        self.n, self.spec = env.n, adversary_spec(victim.spec, actor)
        self._victim, self._env, self._actor, self._ball = victim, env, actor, ball
        self._on_host = host_show(actor, victim.policy, ball)
        self._all = np.arange(self.n, dtype=np.int32)

    def reset(self) -> np.ndarray:
        self._z = self._victim.normaliser(self._env.reset())
        self._state = self._victim.start(self.n)
        return self._z.copy()

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        ids = self._all if ids is None else ids
        every = np.zeros((self.n, *actions.shape[1:]), actions.dtype)  # of all environments: one shape to compile
        every[ids] = actions
        taken, state = self._victim.step(self._shown(every), self._state)
        step = self._env.step(taken[ids], ids)
        z = self._victim.normaliser(step.obs)
        self._z[ids] = z
        if state is not None:
            moved = np.isin(self._all, ids)[:, None]
            state = jax.tree.map(lambda new, old: np.where(moved, new, old), state, self._state)
            self._state = reset_state(state, ids[step.is_reset])
        return step._replace(obs=z, rewards=-step.rewards)

    def close(self) -> None:
        self._env.close()

    def _shown(self, actions: np.ndarray) -> np.ndarray:
        if self._on_host is not None:
            return self._on_host(self._z, actions)
        view = self._victim.held(self._state)
        return np.asarray(_move(self._actor, view, self._ball, jnp.asarray(self._z), jnp.asarray(actions)))


def adversary_spec(victim: EnvSpec, actor: Actor) -> EnvSpec:
    return victim._replace(actions=actor.actions(victim))


@eqx.filter_jit
def _move(actor: Actor, policy: Any, ball: Ball, obs: jax.Array, actions: jax.Array) -> jax.Array:
    return ball.project(obs, actor.move(policy, ball, obs, actions))


def host_show(actor: Actor, policy: Any, ball: Ball) -> Show | None:
    """`project(z, actor.move(z, u))` in NumPy; None where that takes more than products with dense layers."""
    eps = float(ball.eps)

    def cut(z: np.ndarray) -> np.ndarray:
        return z if ball.low is None and ball.high is None else np.clip(z, ball.low, ball.high)

    def displaced(z: np.ndarray, u: np.ndarray) -> np.ndarray:
        return cut(z + eps * _into_unit_ball(u.reshape(z.shape), ball))

    if isinstance(actor, Displacement):
        return displaced
    dense = isinstance(actor, Direction) and actor.steps == 1 and isinstance(policy.network, eqx.nn.Sequential)
    vjp = host_vjp(policy.network) if dense else None
    if vjp is None:
        return None

    def directed(z: np.ndarray, d: np.ndarray) -> np.ndarray:
        head, pull_back = vjp(z)
        gradient = pull_back(softmax_pull_back(head, d) if policy.discrete else d)
        return cut(z + eps * _steepest(gradient, ball))

    return directed


def _into_unit_ball(u: np.ndarray, ball: Ball) -> np.ndarray:
    return np.clip(u, -1, 1) if ball.norm == "linf" else u / np.maximum(_lengths(u), 1)


def _steepest(gradient: np.ndarray, ball: Ball) -> np.ndarray:
    return np.sign(gradient) if ball.norm == "linf" else gradient / np.maximum(_lengths(gradient), 1e-12)


def _lengths(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(x * x, axis=tuple(range(1, x.ndim)), keepdims=True))
