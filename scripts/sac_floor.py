"""What SAC's gradient step could reach at most: writes results/speed/sac-floor.json.

The floating point operations of one step's matrix products, and the rate at which XLA and OpenBLAS multiply here.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wocar.bench.sac import BATCH, ENV, HIDDEN, sb3_rate, update_rate
from wocar.envs import env_spec
from wocar.files import write_json
from wocar.training.run_folder import provenance

SECONDS, TOGETHER = 1.0, 50
"""Of a measurement; products in one program of XLA."""


def products() -> int:
    """Operations in the products of one step: forward 2, weights' gradient 2, inputs' gradient 2 per weight and row."""
    spec = env_spec(ENV)
    obs, actions, hidden = spec.obs_shape[0], spec.actions.size, HIDDEN[0]
    critic_in, head = obs + actions, 2 * actions
    critic = (critic_in * hidden, hidden * hidden, hidden)
    actor = (obs * hidden, hidden * hidden, hidden * head)
    forward_critic, forward_actor = sum(critic), sum(actor)
    inner_critic, inner_actor = sum(critic[1:]), sum(actor[1:])  # no gradient of the inputs
    targets = forward_actor + 2 * forward_critic
    critics = 2 * (2 * forward_critic + inner_critic)
    improve = 2 * forward_actor + inner_actor + 2 * 2 * forward_critic
    return 2 * BATCH * (targets + critics + improve)


def rate(multiply: Callable[[], Any], together: int = 1) -> float:
    """Operations per second of 256 x 256 products, of which a call makes so many."""
    multiply()
    times = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        start = time.perf_counter()
        multiply()
        times.append((time.perf_counter() - start) / together)
    return float(2 * 256**3 / statistics.median(times))


def main() -> None:
    ones = np.ones((256, 256), np.float32)
    square = jnp.asarray(ones) / 256
    xla = jax.jit(lambda a: jax.lax.scan(lambda b, _: (a @ b, None), a, None, length=TOGETHER)[0])
    by_xla = rate(lambda: xla(square).block_until_ready(), TOGETHER)
    found = {
        "operations per step": products(),
        "XLA, operations per second": by_xla,
        "OpenBLAS on one thread, operations per second": rate(lambda: np.matmul(ones, ones)),
        "sac updates/s": update_rate("sac"),
        "sac updates/s if nothing but products took time": by_xla / products(),
        "Stable-Baselines3 sac updates/s": sb3_rate(),
    }
    write_json(Path("results/speed/sac-floor.json"), {**found, **provenance()})
    for name, value in found.items():
        print(f"{name}: {value:.4g}")


if __name__ == "__main__":
    main()
