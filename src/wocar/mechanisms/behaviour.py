"""Perturbed behaviour: who shows the acting policy its observations, drawn anew for each episode."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from wocar.mechanisms.contexts import Context
from wocar.mechanisms.directors import Directors, drawn_director, no_directors
from wocar.types import Array

NONE, WORST, NATURAL, DIRECTOR = range(4)
"""Attackers of an episode: nobody; the worst critic; the unattacked policy's critic; a director."""


class Attackers(NamedTuple):
    """The attacker of each environment's episode (n, ...)."""

    kind: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    """Of its director: it pushes the action along weight s + bias."""
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

    hunted: float = 0.0
    """Share of directors that are taken from those a hunt has found, once there are any."""

    def begin(self, n: int, obs: int, actions: int, rng: np.random.Generator, hunted: Directors) -> Attackers:
        blank = no_directors(actions, obs, n)
        attackers = Attackers(np.zeros(n, np.int32), *blank, np.ones(n, np.float32))
        return self.drawn(attackers, np.ones(n, bool), rng, hunted)

    def drawn(self, attackers: Attackers, where: np.ndarray, rng: np.random.Generator, hunted: Directors) -> Attackers:
        """With new attackers in the environments `where`, whose episodes begin; the others keep theirs."""
        kind, weight, bias, noisy = (x.copy() for x in attackers)
        actions, obs = weight.shape[1:]
        bounds = np.cumsum([self.worst, self.natural, self.director])
        order = (WORST, NATURAL, DIRECTOR, NONE)
        for i in np.flatnonzero(where):
            kind[i] = order[int(np.searchsorted(bounds, rng.uniform(), side="right"))]
            one = drawn_director(actions, obs, rng, hunted, self.hunted)
            weight[i], bias[i] = one.weight[0], one.bias[0]
            noisy[i] = rng.uniform() >= self.mean
        return Attackers(kind, weight, bias, noisy)


def episode_context(attackers: Attackers, obs: Array) -> Context:
    """The contexts (n, ...) that the episodes are in."""
    kind = jnp.asarray(attackers.kind)
    along = jnp.einsum("nao,no->na", attackers.weight, obs) + attackers.bias
    worst, natural = (jnp.asarray(kind == which, jnp.float32) for which in (WORST, NATURAL))
    return Context(jnp.where(kind[:, None] == DIRECTOR, along, 0.0), worst, natural, 1 - jnp.asarray(attackers.noisy))
