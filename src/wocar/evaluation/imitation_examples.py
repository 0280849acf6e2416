"""Imitation examples of a learned attacker, from a worst critic of its victim or from a director."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks import Attack, Perturbation
from wocar.attacks.director import LinearDirector
from wocar.attacks.guided import Examples, Lesson, directed_lesson, lesson
from wocar.attacks.learned import Actor
from wocar.envs import make_env
from wocar.evaluation.worst_critic import FIT, explore
from wocar.mechanisms.worst_value import WorstCritic
from wocar.networks import reset_state
from wocar.threat import Threat
from wocar.types import Critic

STATES, CHUNK, N_ENVS = 32_768, 2048, 16
DIRECTED_STREAM = 1_200_000


def examples(victim: Agent, critic: Critic, threat: Threat, actor: Actor, seed: int) -> Examples:
    """How an adversary pushes the victim where the critic's value falls, at the states this leads to."""
    found = explore(victim, WorstCritic(critic, critic, ()), threat, STATES, seed, FIT)
    return _taught(lesson(actor, critic), victim, threat, np.asarray(found.obs), seed)


def directed_examples(victim: Agent, director: LinearDirector, threat: Threat, actor: Actor, seed: int) -> Examples:
    """How an adversary pushes the victim as the director does, at the states this leads to."""
    obs = attacked_states(victim, director, threat, STATES, seed)
    return _taught(directed_lesson(actor, director), victim, threat, obs, seed)


def attacked_states(victim: Agent, attack: Attack | None, threat: Threat, steps: int, seed: int) -> np.ndarray:
    """Normalised observations that the victim meets under the attack, or under none. (steps, ...)"""
    seen: list[np.ndarray] = []
    perturb = Perturbation(attack, threat.ball_for(victim), seed) if attack else None
    env = make_env(victim.spec.id, N_ENVS, seed, stream=DIRECTED_STREAM)
    obs, state = env.reset(), victim.start(N_ENVS)
    for _ in range(-(-steps // N_ENVS)):
        z = victim.normaliser(obs)
        seen.append(z)
        actions, state = victim.step(perturb(victim.held(state), z) if perturb else z, state)
        step = env.step(actions)
        obs, state = step.obs, reset_state(state, np.flatnonzero(step.is_reset))
    env.close()
    return np.concatenate(seen)


def _taught(look: Lesson, victim: Agent, threat: Threat, obs: np.ndarray, seed: int) -> Examples:
    look, ball = eqx.filter_jit(look), threat.ball_for(victim)
    obs = obs.reshape(-1, *victim.spec.obs_shape)
    parts = np.split(obs[: len(obs) // CHUNK * CHUNK], len(obs) // CHUNK)
    wanted = jnp.concatenate([look(victim.policy, ball, jnp.asarray(part)) for part in parts])
    return Examples(obs[: len(wanted)], wanted, seed)
