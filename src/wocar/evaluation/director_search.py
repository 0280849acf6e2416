"""Search for the linear director that hurts most: evolution, each episode of the victim one trial."""

import itertools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks import Perturbation
from wocar.attacks.director import LinearDirector
from wocar.evaluation.episodes import run_episodes
from wocar.threat import Threat

POPULATION, PARENTS = 64, 8
FINAL_EPISODES = 8


class Directors(NamedTuple):
    weight: np.ndarray
    """(n, actions, obs)"""
    bias: np.ndarray
    """(n, actions)"""

    def of(self, rows: np.ndarray) -> "Directors":
        return Directors(self.weight[rows], self.bias[rows])

    def joined(self, other: "Directors") -> "Directors":
        return Directors(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def attack(self) -> LinearDirector:
        return LinearDirector(jnp.asarray(self.weight), jnp.asarray(self.bias))


def constant_directors(actions: int, obs: int, most: int, rng: np.random.Generator) -> Directors:
    """d in {-1, 0, 1}^actions without 0: all of them, or `most` at random."""
    if 3**actions - 1 <= most:
        bias = np.array([d for d in itertools.product((-1, 0, 1), repeat=actions) if any(d)], np.float32)
    else:
        bias = rng.integers(-1, 2, (most, actions)).astype(np.float32)
        bias[~bias.any(axis=1)] = 1.0
    return Directors(np.zeros((len(bias), actions, obs), np.float32), bias)


def mutated(parents: Directors, count: int, strength: float, rng: np.random.Generator) -> Directors:
    """`count` children: a parent's map, its rows of length 1, plus noise."""
    chosen = parents.of(rng.integers(len(parents.bias), size=count))
    length = np.sqrt((chosen.bias**2).sum(axis=1) + (chosen.weight**2).sum(axis=(1, 2))) + 1e-9
    spread = strength / np.sqrt(chosen.weight.shape[2])
    noise = [rng.standard_normal(x.shape, dtype=np.float32) for x in chosen]
    weight = chosen.weight / length[:, None, None] + np.float32(spread) * noise[0]
    return Directors(
        weight.astype(np.float32), (chosen.bias / length[:, None] + strength * noise[1]).astype(np.float32)
    )


def returns_under(agent: Agent, directors: Directors, threat: Threat, seed: int, repeats: int = 1) -> np.ndarray:
    """Mean return of the victim under each director, over episodes of its own. (n,)"""
    n = len(directors.bias)
    rows = np.repeat(np.arange(n), repeats)
    perturb: Any = Perturbation(directors.of(rows).attack(), threat.ball_for(agent), seed)
    done = run_episodes(agent, len(rows), seed, n_envs=len(rows), perturb=perturb)
    return done.returns.reshape(n, repeats).mean(axis=1)


def search_director(agent: Agent, threat: Threat, seed: int, generations: int, population: int) -> LinearDirector:
    """Constant directors first; then the worst of them, tried again in each generation, and their mutated children.

    A parent's score is the mean over the generations it has lived through: luck in one episode does not last.
    """
    rng = np.random.default_rng(seed)
    actions, (obs,) = agent.spec.actions.size, agent.spec.obs_shape
    living = constant_directors(actions, obs, population, rng)
    scores = returns_under(agent, living, threat, seed)
    lives = np.ones(len(scores))
    for k in range(generations):
        best = np.argsort(scores)[:PARENTS]
        parents, strength = living.of(best), 0.6 * 0.8**k
        living = parents.joined(mutated(parents, population - len(best), strength, rng))
        found = returns_under(agent, living, threat, seed + 1 + k)
        lives = np.concatenate([lives[best], np.zeros(population - len(best))])
        scores = (np.concatenate([scores[best], np.zeros(population - len(best))]) * lives + found) / (lives + 1)
        lives = lives + 1
    final = living.of(np.argsort(scores)[:PARENTS])
    worst = int(np.argmin(returns_under(agent, final, threat, seed + 1 + generations, FINAL_EPISODES)))
    return LinearDirector(jnp.asarray(final.weight[worst]), jnp.asarray(final.bias[worst]))
