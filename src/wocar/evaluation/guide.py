"""A learned attacker's start: what a worst critic of its victim would do."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks.guided import imitate, lesson
from wocar.attacks.learned import Actor
from wocar.bounds import Ball
from wocar.evaluation.worst_critic import FIT, explore
from wocar.mechanisms.worst_value import WorstCritic

STATES, CHUNK = 32_768, 2048


def teacher(victim: Agent, critic: Any, ball: Ball, actor: Actor, seed: int) -> Callable[[Any], Any]:
    """An adversary to one that pushes the victim where the critic's value falls, at the states this leads to."""
    found = explore(victim, WorstCritic(critic, critic, ()), float(ball.eps), STATES, seed, FIT)
    obs = np.asarray(found.obs).reshape(-1, *victim.spec.obs_shape)
    look = eqx.filter_jit(lesson(actor, critic))
    parts = np.split(obs[: len(obs) // CHUNK * CHUNK], len(obs) // CHUNK)
    wanted = jnp.concatenate([look(victim.policy, ball, jnp.asarray(part)) for part in parts])
    return lambda adversary: imitate(adversary, obs[: len(wanted)], wanted, jax.random.key(seed))
