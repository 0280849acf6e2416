"""Learned attacks: SA-RL's adversary chooses the perturbation, PA-AD's a direction for the victim's policy."""

import math
from dataclasses import dataclass
from os.path import isdir
from pathlib import Path
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent, load_agent
from wocar.bounds import Ball, ascend_in_ball
from wocar.networks.recurrent import RecurrentPolicy
from wocar.types import ActionSpace, Array, EnvSpec, Policy, UserError, same_arrays


class Actor(Protocol):
    """How an adversary's action becomes what the victim sees. The result need not lie in the ball."""

    def actions(self, victim: EnvSpec) -> ActionSpace: ...

    def move(self, policy: Policy, ball: Ball, obs: jax.Array, action: jax.Array) -> jax.Array: ...


@dataclass(frozen=True)
class Displacement:
    """SA-RL: z~ = z + eps·u, which the projection cuts to eps·clip(u, -1, 1) (l_inf) or shortens to eps (l_2)."""

    def actions(self, victim: EnvSpec) -> ActionSpace:
        return _box(math.prod(victim.obs_shape))

    def move(self, policy: Policy, ball: Ball, obs: jax.Array, action: jax.Array) -> jax.Array:
        return obs + ball.radius(obs) * action.reshape(obs.shape)


@dataclass(frozen=True)
class Direction:
    """PA-AD: move the mean action, or the action probabilities, along the director's d.

    One step is z~ = z + eps·sign(J(z)ᵀd); more are ascents of eps / 10 on cos(Δ, d) + ||Δ||, Δ the victim's change.
    """

    steps: int = 1

    def actions(self, victim: EnvSpec) -> ActionSpace:
        """A direction among probabilities sums to 0: its last coordinate follows from the others."""
        return _box(victim.actions.size - victim.actions.discrete)

    def move(self, policy: Policy, ball: Ball, obs: jax.Array, action: jax.Array) -> jax.Array:
        head, pull_back = jax.vjp(policy.head, obs)
        (gradient,) = pull_back(softmax_pull_back(head, action) if policy.discrete else action)
        if self.steps == 1:
            return obs + ball.radius(obs) * ball.direction(gradient)
        wanted = sum_to_zero(action) if policy.discrete else action

        def objective(x: Array) -> jax.Array:
            change = _steered(policy, x) - _steered(policy, obs)
            length = jnp.sqrt(jnp.sum(change**2, axis=-1) + 1e-12)
            cosine = jnp.sum(change * wanted, axis=-1) / (length * jnp.linalg.norm(wanted, axis=-1) + 1e-12)
            return cosine + length

        step = ball.radius(obs) / 10
        start = obs + step * ball.direction(gradient)
        return ascend_in_ball(objective, ball, obs, start, steps=self.steps, step_size=step, keep_best=True)


@dataclass(frozen=True)
class TargetAction:
    """PA-AD with a director that names a discrete action: ascents of eps / 10 on the victim's log-probability of it."""

    steps: int = 30

    def actions(self, victim: EnvSpec) -> ActionSpace:
        return ActionSpace(victim.actions.size)

    def move(self, policy: Policy, ball: Ball, obs: jax.Array, action: jax.Array) -> jax.Array:
        return ascend_in_ball(
            lambda x: policy.log_prob(x, action), ball, obs, obs, steps=self.steps, step_size=ball.radius(obs) / 10
        )


class LearnedAttack(eqx.Module):
    """A trained adversary, which plays its mode, and the actor it was trained with. A recurrent one remembers."""

    adversary: Any
    actor: Displacement | Direction | TargetAction = eqx.field(static=True)

    def perturb(self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array) -> jax.Array:
        return self.actor.move(policy, ball, obs, self.adversary.mode(obs))

    def start(self, n: int) -> Any:
        return self.adversary.start(n) if isinstance(self.adversary, RecurrentPolicy) else None

    def perturb_carry(
        self, policy: Policy, ball: Ball, obs: jax.Array, key: jax.Array, carry: Any
    ) -> tuple[jax.Array, Any]:
        action = self.adversary.held(carry).mode(obs)
        return self.actor.move(policy, ball, obs, action), self.adversary.step(obs, carry)[1]


class SARLAttack(LearnedAttack):
    """The optimal attack as far as reinforcement learning found it: the adversary's action is the perturbation."""

    actor: Displacement = eqx.field(static=True, default=Displacement())


class PAADAttack(LearnedAttack):
    """Policy adversarial actor-director: a trained director says where to push the victim, its gradient says how."""

    actor: Direction | TargetAction = eqx.field(static=True, default=Direction())


def make_actor(kind: str, actor: str = "sign", pgd_steps: int = 30) -> Displacement | Direction | TargetAction:
    """`kind`: sa-rl, or pa-ad with an actor: sign or pgd along a direction, pgd to a target action."""
    if kind == "sa-rl":
        return Displacement()
    actors: dict[str, Direction | TargetAction] = {
        "sign": Direction(),
        "pgd": Direction(pgd_steps),
        "target": TargetAction(pgd_steps),
    }
    return actors[actor]


def learned_attack(agent: Agent, victim: EnvSpec | None = None) -> SARLAttack | PAADAttack:
    """The attack that a trained adversary is; a UserError where it does not fit the victim."""
    meta = agent.meta
    if meta.get("attack") not in ("sa-rl", "pa-ad"):
        raise UserError(f"the agent for {agent.spec.id} is no attacker: its meta names no attack")
    try:
        actor = make_actor(meta["attack"], meta.get("actor", "sign"), meta.get("pgd_steps", 30))
    except KeyError as error:
        raise UserError(f"unknown actor {error} of a pa-ad attacker") from None
    if victim is not None:
        asked = victim._replace(actions=actor.actions(victim))
        if not same_arrays(agent.spec, asked):
            raise UserError(f"an attacker of {agent.spec.id} does not fit a victim of {victim.id}")
    return SARLAttack(agent.policy) if isinstance(actor, Displacement) else PAADAttack(agent.policy, actor)


def load_attack(folder: Path | str, victim: EnvSpec | None = None) -> SARLAttack | PAADAttack:
    """The attack in an agent folder, or in the run folder that holds one."""
    path = Path(folder)
    return learned_attack(load_agent(path / "agent" if isdir(path / "agent") else path), victim)


def sum_to_zero(direction: Array) -> Array:
    """(B, k) to (B, k + 1) by a last coordinate that makes rows sum to 0."""
    xp = direction.__array_namespace__()
    return xp.concatenate([direction, -direction.sum(axis=-1, keepdims=True)], axis=-1)


def softmax_pull_back(logits: Array, direction: Array) -> Array:
    """The gradient of d·softmax(l) with respect to l, each row up to a positive factor, d = `sum_to_zero(direction)`.

    The factor keeps it from vanishing where one action is almost certain, as its sign is all that counts.
    """
    xp = logits.__array_namespace__()
    wanted = sum_to_zero(direction)
    order = xp.argsort(logits, axis=-1)
    top = xp.arange(logits.shape[-1]) == order[:, -1:]
    second = xp.take_along_axis(logits, order[:, -2:-1], axis=-1)
    weights = xp.exp(xp.where(top, 0, logits - second))
    chance = xp.exp(logits - logits.max(axis=-1, keepdims=True))
    chance /= chance.sum(axis=-1, keepdims=True)
    others = xp.where(top, 0, weights * (wanted - (chance * wanted).sum(axis=-1, keepdims=True)))
    return xp.where(top, -others.sum(axis=-1, keepdims=True), others)


def _steered(policy: Policy, obs: Array) -> jax.Array:
    head = policy.head(obs)
    return jax.nn.softmax(head) if policy.discrete else head


def _box(size: int) -> ActionSpace:
    ones = np.ones(size, np.float32)
    return ActionSpace(size, -ones, ones)
