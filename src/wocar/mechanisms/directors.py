"""Linear directors: maps from what is seen to the direction in which an attacker pushes the action."""

import itertools
from typing import NamedTuple

import numpy as np

STRENGTHS = (0.0, 0.1, 0.3)
"""How much a director that a hunt has found is changed when an episode takes it."""


class Directors(NamedTuple):
    """n maps d(s) = weight s + bias; with weight 0 one direction for a whole episode."""

    weight: np.ndarray
    """(n, actions, obs)"""
    bias: np.ndarray
    """(n, actions)"""

    def of(self, rows: np.ndarray) -> "Directors":
        return Directors(self.weight[rows], self.bias[rows])

    def joined(self, other: "Directors") -> "Directors":
        return Directors(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def directions(self, obs: np.ndarray) -> np.ndarray:
        """Each director's at an observation of its own (n, obs): (n, actions)."""
        along: np.ndarray = np.einsum("nao,no->na", self.weight, obs) + self.bias
        return along.astype(np.float32)

    @property
    def unit(self) -> "Directors":
        """Each of length 1: only its direction counts."""
        length = np.sqrt((self.bias**2).sum(axis=1) + (self.weight**2).sum(axis=(1, 2))) + np.float32(1e-9)
        return Directors(self.weight / length[:, None, None], self.bias / length[:, None])


def no_directors(actions: int, obs: int, count: int = 0) -> Directors:
    return Directors(np.zeros((count, actions, obs), np.float32), np.zeros((count, actions), np.float32))


def random_signs(count: int, actions: int, rng: np.random.Generator) -> np.ndarray:
    """Directions in {-1, 0, 1}^actions without 0. (count, actions)"""
    drawn = rng.integers(-1, 2, (count, actions))
    nowhere = ~drawn.any(axis=1)
    drawn[nowhere] = rng.choice((-1, 1), (int(nowhere.sum()), actions))
    return drawn.astype(np.float32)


def constant_directors(actions: int, obs: int, most: int, rng: np.random.Generator) -> Directors:
    """d in {-1, 0, 1}^actions without 0: all of them, or `most` at random."""
    if 3**actions - 1 <= most:
        bias = np.array([d for d in itertools.product((-1, 0, 1), repeat=actions) if any(d)], np.float32)
    else:
        bias = random_signs(most, actions, rng)
    return no_directors(actions, obs, len(bias))._replace(bias=bias)


def random_director(actions: int, obs: int, rng: np.random.Generator) -> Directors:
    """One: with even chances constant in {-1, 0, 1}^actions or linear in what is seen."""
    constant = rng.uniform() < 0.5
    bias = rng.integers(-1, 2, actions) if constant else rng.standard_normal(actions)
    weight = np.zeros((actions, obs)) if constant else rng.standard_normal((actions, obs)) / obs**0.5
    return Directors(weight[None].astype(np.float32), bias[None].astype(np.float32))


def drawn_director(actions: int, obs: int, rng: np.random.Generator, hunted: Directors, share: float) -> Directors:
    """One: of those that hunts have found, perhaps changed a little, with the chance `share`; else at random."""
    if len(hunted.bias) and rng.uniform() < share:
        return mutated(hunted, 1, rng.choice(STRENGTHS), rng)
    return random_director(actions, obs, rng)


def mutated(parents: Directors, count: int, strength: float, rng: np.random.Generator) -> Directors:
    """`count` children: a parent of length 1 plus noise."""
    chosen = parents.of(rng.integers(len(parents.bias), size=count)).unit
    spread = np.float32(strength / np.sqrt(chosen.weight.shape[2]))
    noise = [rng.standard_normal(x.shape, dtype=np.float32) for x in chosen]
    return Directors(chosen.weight + spread * noise[0], chosen.bias + np.float32(strength) * noise[1])
