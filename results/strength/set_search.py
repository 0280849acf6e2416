"""How much of the sets of actions shorter searches find: `python set_search.py AGENT`, an agent of CartPole."""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import wocar
from wocar.bounds import Ball
from wocar.bounds.action_sets import search_actions
from wocar.evaluation.imitation_examples import attacked_states
from wocar.threat import Threat

EPS, SHIFT = 0.07, np.array([1.0, 0.5, 0.05, 0.5])
agent, rng = wocar.load(sys.argv[1]), np.random.default_rng(0)
own = attacked_states(agent, None, Threat(EPS), 2048, 5)
states = np.concatenate([own, own + rng.uniform(-1, 1, own.shape) * SHIFT]).astype(np.float32)
greedy = jnp.argmax(agent.policy.head(states), axis=1)


def found(starts: int, steps: int) -> tuple[np.ndarray, float]:
    def changed(z: jax.Array) -> jax.Array:
        (shown,) = search_actions(agent.policy.head, Ball(EPS), z, (1 - greedy)[None], steps, starts)
        return jnp.argmax(agent.policy.head(shown), axis=1) != greedy

    search = jax.jit(changed)
    search(states)
    began = time.process_time()
    return np.asarray(search(states)), time.process_time() - began


whole, _ = found(16, 20)
for starts, steps in ((8, 10), (2, 10), (2, 5), (0, 10), (0, 3)):
    part, seconds = found(starts, steps)
    print(starts, steps, f"{(part & whole).sum() / whole.sum():.1%} in {seconds:.2f} s")
