"""Imitation examples of a learned attacker, from a worst critic of its victim."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks.guided import Examples, lesson
from wocar.attacks.learned import Actor
from wocar.evaluation.worst_critic import FIT, explore
from wocar.mechanisms.worst_value import WorstCritic
from wocar.threat import Threat
from wocar.types import Critic

STATES, CHUNK = 32_768, 2048


def examples(victim: Agent, critic: Critic, threat: Threat, actor: Actor, seed: int) -> Examples:
    """How an adversary pushes the victim where the critic's value falls, at the states this leads to."""
    found, ball = explore(victim, WorstCritic(critic, critic, ()), threat, STATES, seed, FIT), threat.ball_for(victim)
    obs = np.asarray(found.obs).reshape(-1, *victim.spec.obs_shape)
    look = eqx.filter_jit(lesson(actor, critic))
    parts = np.split(obs[: len(obs) // CHUNK * CHUNK], len(obs) // CHUNK)
    wanted = jnp.concatenate([look(victim.policy, ball, jnp.asarray(part)) for part in parts])
    return Examples(obs[: len(wanted)], wanted, seed)
