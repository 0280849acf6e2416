"""Search for the linear director that hurts most: evolution, each episode of the victim one trial."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks.base import Perturbation
from wocar.attacks.director import LinearDirector
from wocar.episodes import run_episodes
from wocar.mechanisms.directors import Directors, constant_directors, mutated
from wocar.threat import Threat

POPULATION, PARENTS = 64, 8
FINAL_EPISODES = 8


class Found(NamedTuple):
    directors: Directors
    """The last generation's worst, the most harmful first."""
    returns: np.ndarray
    """Of the victim under each of them, on episodes of their own."""
    steps: int
    """Environment steps of the search."""


def returns_under(
    agent: Agent, directors: Directors, threat: Threat, seed: int, repeats: int = 1, threads: int = 2
) -> tuple[np.ndarray, int]:
    """Mean return of the victim under each director, over episodes of its own (n,), and their steps."""
    n = len(directors.bias)
    rows = np.repeat(np.arange(n), repeats)
    maps = directors.of(rows)
    attack = LinearDirector(jnp.asarray(maps.weight), jnp.asarray(maps.bias))
    perturb: Any = Perturbation(attack, threat.ball_for(agent), seed)
    done = run_episodes(agent, len(rows), seed, n_envs=len(rows), threads=threads, perturb=perturb)
    return done.returns.reshape(n, repeats).mean(axis=1), int(done.lengths.sum())


def evolve_directors(
    agent: Agent,
    threat: Threat,
    seed: int,
    generations: int,
    population: int,
    begin: Directors | None = None,
    final_episodes: int = FINAL_EPISODES,
    threads: int = 2,
) -> Found:
    """Constant directors and `begin` first; then the worst of them, tried again in each generation, and children.

    A parent's score is the mean over the generations it has lived through: luck in one episode does not last.
    """
    rng = np.random.default_rng(seed)
    actions, (obs,) = agent.spec.actions.size, agent.spec.obs_shape
    living = constant_directors(actions, obs, population, rng)
    living = living if begin is None else living.joined(begin)
    scores, steps = returns_under(agent, living, threat, seed, threads=threads)
    lives = np.ones(len(scores))
    for k in range(generations):
        best = np.argsort(scores)[:PARENTS]
        parents, strength = living.of(best), 0.6 * 0.8**k
        living = parents.joined(mutated(parents, population - len(best), strength, rng))
        found, more = returns_under(agent, living, threat, seed + 1 + k, threads=threads)
        lives = np.concatenate([lives[best], np.zeros(population - len(best))])
        scores = (np.concatenate([scores[best], np.zeros(population - len(best))]) * lives + found) / (lives + 1)
        lives, steps = lives + 1, steps + more
    final = living.of(np.argsort(scores)[:PARENTS])
    returns, more = returns_under(agent, final, threat, seed + 1 + generations, final_episodes, threads)
    order = np.argsort(returns)
    return Found(final.of(order), returns[order], steps + more)


def search_directors(
    agent: Agent, threat: Threat, seed: int, generations: int, population: int
) -> tuple[LinearDirector, ...]:
    """The last parents of an evolution, the most harmful first."""
    found = evolve_directors(agent, threat, seed, generations, population).directors
    return tuple(LinearDirector(jnp.asarray(w), jnp.asarray(b)) for w, b in zip(*found, strict=True))
