"""The SAC part of `make bench`: gradient steps per second, the same network and batch here and in Stable-Baselines3."""

import dataclasses
import statistics
import subprocess
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wocar.envs import env_spec
from wocar.mechanisms.sac_objective import SACBatch
from wocar.methods.presets import default_config, make_algorithm
from wocar.training.sac import SAC, SACConfig

ENV, BATCH, HIDDEN, TOGETHER = "HalfCheetah-v4", 256, (256, 256), 16
METHODS = ("sac", "wocar-sac")
SB3_SCRIPT = """
import sys, time
from stable_baselines3 import SAC
model = SAC("MlpPolicy", sys.argv[1], batch_size=256, learning_starts=300, device="cpu", seed=0)
model.learn(320)
updates, times = 50, []
for _ in range(5):
    start = time.perf_counter()
    model.train(gradient_steps=updates, batch_size=256)
    times.append(time.perf_counter() - start)
print("RATE", updates / sorted(times)[2])
"""


def update_rate(method: str, repeats: int = 9) -> float:
    """Gradient steps per second late in training, in calls of so many as a training makes with 16 environments."""
    config = default_config(method, ENV)
    assert isinstance(config.algorithm, SACConfig)
    same: dict[str, Any] = {"hidden": HIDDEN, "batch_size": BATCH, "train_freq": 1, "policy_delay": 1}
    config = dataclasses.replace(config, algorithm=dataclasses.replace(config.algorithm, **same))
    spec = env_spec(ENV)
    algorithm = make_algorithm(config, spec)
    assert isinstance(algorithm, SAC)
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> np.ndarray:
        return rng.standard_normal((TOGETHER, BATCH, *shape), dtype=np.float32)

    size = spec.obs_shape[0]
    ones = np.ones((TOGETHER, BATCH), np.float32)
    actions = np.tanh(numbers(spec.actions.size))
    batch = SACBatch(numbers(size), actions, numbers(), numbers(size), 0.99 * ones, ones)
    learner: Any = algorithm.init(spec, jax.random.key(0))
    times = []
    for k in range(repeats + 2):
        start = time.perf_counter()
        learner, errors, _ = algorithm.updates((batch, jax.random.key(k), jnp.float32(0.9)), learner)
        jax.block_until_ready((learner, errors))
        times.append(time.perf_counter() - start)
    return TOGETHER / statistics.median(times[2:])


def sb3_rate() -> float | None:
    """That of Stable-Baselines3; None where it is not installed."""
    done = subprocess.run([sys.executable, "-c", SB3_SCRIPT, ENV], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RATE")]
    return float(lines[0].split()[1]) if lines else None


def sac_round() -> dict[str, float | None]:
    ours = {f"{method} updates/s": update_rate(method) for method in METHODS}
    return {**ours, "sb3 sac updates/s": sb3_rate()}
