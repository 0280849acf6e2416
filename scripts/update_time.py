"""Processor time of the two halves of an update, PPO's and its robust variants': writes results/speed/update-time.json.

The halves run beside each other on two cores: the longer one counts. Processor time is the same on a busy machine.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.envs import env_spec, make_env
from wocar.files import write_json
from wocar.methods.presets import default_config
from wocar.networks import RunningNormaliser
from wocar.rollout import Collector
from wocar.training.run_folder import provenance

METHODS, ENVS, REPEATS = ("ppo", "sa-ppo", "wocar-ppo"), ("Hopper-v4", "HalfCheetah-v4"), 12


def halves(method: str, env: str) -> dict[str, float]:
    """Least processor time, in ms, of fitting the policy and of fitting value and worst critic, at half of training."""
    config, spec, key = default_config(method, env), env_spec(env), jax.random.key(0)
    algorithm: Any = config.algorithm.build(config.robust and config.robust.build(spec, config.algorithm))
    learner, progress = algorithm.init(spec, key), jnp.float32(0.5)
    simulators = make_env(env, config.algorithm.n_envs, 0)
    collector = Collector(simulators, np.random.default_rng(0))
    rollout = collector.collect(Agent(spec, RunningNormaliser.create(spec.obs_shape), learner.policy), 128)
    simulators.close()
    batch, _ = algorithm._prepare(learner, rollout.transitions)
    fits = {"policy": algorithm._fit_policy, "value and worst critic": algorithm._fit_value}
    return {name: _least(lambda fit=fit: fit(learner, batch, key, key, progress)) for name, fit in fits.items()}


def _least(job: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS + 1):  # the first one compiles
        start = time.process_time()
        jax.block_until_ready(job())
        times.append(time.process_time() - start)
    return 1000 * min(times[1:])


if __name__ == "__main__":
    result = {env: {method: halves(method, env) for method in METHODS} for env in ENVS}
    write_json(Path("results/speed/update-time.json"), {"processor ms per 2048 steps": result, **provenance()})
    for env, rows in result.items():
        print(env, {method: {name: round(ms, 1) for name, ms in row.items()} for method, row in rows.items()})
