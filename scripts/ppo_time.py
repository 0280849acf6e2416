"""Where an iteration of PPO spends its time: writes results/speed/ppo-time.json, milliseconds per 2048 steps."""

import statistics
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.bench.measure import bare_rate
from wocar.envs import env_spec, make_env
from wocar.files import write_json
from wocar.networks import RunningNormaliser
from wocar.rollout import Collector
from wocar.training.ppo import PPOConfig
from wocar.training.run_folder import provenance

ITERATIONS, WARM = 24, 4


def times(env: str) -> dict[str, float]:
    """Medians of collecting, of the whole update, and of the policy's fit alone."""
    spec, config, key = env_spec(env), PPOConfig(), jax.random.key(0)
    ppo = config.build(None)
    learner, progress = ppo.init(spec, key), jnp.float32(0.1)
    simulators = make_env(env, config.n_envs, 0)
    collector, normaliser = Collector(simulators, np.random.default_rng(0)), RunningNormaliser.create(spec.obs_shape)
    found: dict[str, list[float]] = {"collect": [], "update": [], "policy alone": []}
    for k in range(ITERATIONS + WARM):
        start = time.perf_counter()
        rollout = collector.collect(Agent(spec, normaliser, learner.policy), config.n_steps)
        collected = time.perf_counter()
        batch, _ = ppo._prepare(learner, rollout.transitions)
        jax.block_until_ready(batch)
        alone = time.perf_counter()
        jax.block_until_ready(ppo._fit_policy(learner, batch, key, key, progress))
        between = time.perf_counter()
        learner, _ = ppo.update(learner, rollout.transitions, jax.random.fold_in(key, k), progress)
        jax.block_until_ready(learner)
        if k >= WARM:
            found["collect"].append(collected - start)
            found["policy alone"].append(between - alone)
            found["update"].append(time.perf_counter() - between)
    simulators.close()
    steps = config.n_envs * config.n_steps
    medians = {name: 1000 * statistics.median(values) for name, values in found.items()}
    return {**medians, "bare simulator": 1000 * steps / bare_rate(env, 60_000)}


if __name__ == "__main__":
    result = {env: times(env) for env in ("Hopper-v4", "HalfCheetah-v4")}
    write_json(Path("results/speed/ppo-time.json"), {"ms per 2048 steps": result, **provenance()})
    for env, row in result.items():
        print(env, {name: round(value, 1) for name, value in row.items()})
