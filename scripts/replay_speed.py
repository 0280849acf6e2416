"""Prioritised drawing of 32 out of 500,000: ours beside cpprb and flashbax where installed."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from wocar.files import write_json
from wocar.training.run_folder import provenance
from wocar.training.sum_tree import SumTree

SLOTS, BATCH = 500_000, 32
rng = np.random.default_rng(0)


def microseconds(job: Callable[[], object], repeats: int = 300) -> float:
    for _ in range(5):
        job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return round(1e6 * statistics.median(times), 1)


def ours() -> dict[str, float]:
    tree, slots = SumTree(SLOTS), rng.integers(0, SLOTS, BATCH)
    tree.set(np.arange(SLOTS), 1.0)
    draw = microseconds(lambda: tree.draw((np.arange(BATCH) + rng.random(BATCH)) / BATCH))
    return {"draw": draw, "set": microseconds(lambda: tree.set(slots, rng.random(BATCH)))}


def cpprb() -> dict[str, float]:
    import cpprb

    buffer = cpprb.PrioritizedReplayBuffer(SLOTS, {"slot": {"dtype": np.int32}}, alpha=0.6)
    for k in range(0, SLOTS, 1000):
        buffer.add(slot=np.arange(k, k + 1000), priorities=np.ones(1000))
    slots = buffer.sample(BATCH, 0.4)["indexes"]
    draw = microseconds(lambda: buffer.sample(BATCH, 0.4))
    return {"draw": draw, "set": microseconds(lambda: buffer.update_priorities(slots, rng.random(BATCH)))}


def flashbax() -> dict[str, float]:
    import jax
    import jax.numpy as jnp
    from flashbax.buffers import sum_tree

    key, slots = jax.random.key(0), jnp.asarray(rng.integers(0, SLOTS, BATCH))
    put = jax.jit(sum_tree.set_batch_bincount, donate_argnums=0)
    draw = jax.jit(lambda state: sum_tree.stratified_sample(state, BATCH, key))
    state = put(sum_tree.init(SLOTS), jnp.arange(SLOTS), jnp.ones(SLOTS))
    weights = jnp.asarray(rng.random(BATCH, dtype=np.float32))

    def set_some() -> None:
        nonlocal state
        state = jax.block_until_ready(put(state, slots, weights))

    return {"draw": microseconds(lambda: draw(state).block_until_ready()), "set": microseconds(set_some)}


def main() -> None:
    figures: dict[str, dict[str, float] | str] = {}
    for job in (ours, cpprb, flashbax):
        try:
            figures[job.__name__] = job()
        except (ImportError, AttributeError) as error:
            figures[job.__name__] = f"not measured: {error}"
    print(figures)
    Path("results/discrete").mkdir(parents=True, exist_ok=True)
    result = {"slots": SLOTS, "batch": BATCH, "microseconds, median": figures, **provenance()}
    write_json(Path("results/discrete/replay.json"), result)


if __name__ == "__main__":
    main()
