"""Perturbed behaviour: who shows the acting policy its observations, drawn anew for each episode."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from wocar.mechanisms.contexts import Context
from wocar.types import Array

NONE, WORST, NATURAL, DIRECTOR = range(4)
"""Attackers of an episode: nobody; the worst critic; the unattacked policy's critic; a director."""


class Directors(NamedTuple):
    """The attacker of each environment's episode (n, ...); a director pushes the action along bias + weightᵀ s."""

    kind: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    noisy: np.ndarray
    """1 where actions are sampled, 0 where they are the mean."""


@dataclass(frozen=True)
class Behaviour:
    """Shares of episodes, by attacker; the rest is unattacked."""

    worst: float
    natural: float
    director: float
    mean: float
    """Share of episodes that act with the mean."""

    def begin(self, n: int, obs_size: int, actions: int, rng: np.random.Generator) -> Directors:
        blank = Directors(
            np.zeros(n, np.int32),
            np.zeros((n, obs_size, actions), np.float32),
            np.zeros((n, actions), np.float32),
            np.ones(n, np.float32),
        )
        return self.drawn(blank, np.ones(n, bool), rng)

    def drawn(self, directors: Directors, where: np.ndarray, rng: np.random.Generator) -> Directors:
        """With new attackers in the environments `where`, whose episodes begin; the others keep theirs."""
        kind, weight, bias, noisy = (x.copy() for x in directors)
        bounds = np.cumsum([self.worst, self.natural, self.director])
        order = (WORST, NATURAL, DIRECTOR, NONE)
        for i in np.flatnonzero(where):
            kind[i] = order[int(np.searchsorted(bounds, rng.uniform(), side="right"))]
            weight[i], bias[i] = draw_director(rng, *weight[i].shape)
            noisy[i] = rng.uniform() >= self.mean
        return Directors(kind, weight, bias, noisy)


def draw_director(rng: np.random.Generator, obs_size: int, actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of them constant in {-1, 0, 1}^actions, half of them linear in the observation."""
    constant = rng.uniform() < 0.5
    bias = rng.integers(-1, 2, actions) if constant else rng.standard_normal(actions)
    weight = np.zeros((obs_size, actions)) if constant else rng.standard_normal((obs_size, actions)) / obs_size**0.5
    return weight.astype(np.float32), bias.astype(np.float32)


def episode_context(directors: Directors, obs: Array) -> Context:
    """The contexts (n, ...) that the episodes are in."""
    kind = jnp.asarray(directors.kind)
    along = jnp.einsum("no,noa->na", obs, directors.weight) + directors.bias
    worst, natural = (jnp.asarray(kind == which, jnp.float32) for which in (WORST, NATURAL))
    return Context(jnp.where(kind[:, None] == DIRECTOR, along, 0.0), worst, natural, 1 - jnp.asarray(directors.noisy))
