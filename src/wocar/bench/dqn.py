"""The DQN part of `make bench`: the same network, batch and update ratio here and in Stable-Baselines3; WocaR-DQN."""

import argparse
import dataclasses
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wocar.envs import env_spec, make_env
from wocar.files import write_json
from wocar.mechanisms.q_objective import QBatch
from wocar.methods.presets import default_config, make_algorithm
from wocar.training.dqn import DQN, DQNConfig
from wocar.training.dqn_trainer import DQNTrainer
from wocar.training.run_folder import provenance

TASKS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"train_freq": 4, "batch_size": 64, "hidden": (64, 64), "double": False},
    "Pong-v5": {"train_freq": 4, "batch_size": 32, "network": "nature", "double": False, "per_alpha": 0.0, "n_step": 1},
}
EVERY_ROW = {"reg_share": 1.0, "worst_share": 1.0}
UPDATES: dict[str, tuple[str, str, dict[str, float]]] = {
    "dqn": ("dqn", "small", {}),
    "sa-dqn": ("sa-dqn", "small", {}),
    "wocar-dqn": ("wocar-dqn", "small", {}),
    "wocar-dqn every row": ("wocar-dqn", "small", EVERY_ROW),
    "wocar-dqn fine-tune": ("wocar-dqn", "fine-tune", {}),
    "wocar-dqn fine-tune every row": ("wocar-dqn", "fine-tune", EVERY_ROW),
}
"""Gradient steps that are timed: method, preset, settings of the objective."""
SB3_SCRIPT = """
import sys, time
from stable_baselines3 import DQN
from wocar.envs import make_gymnasium_env
id, steps, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
pixels = id != "CartPole-v1"
env = make_gymnasium_env(id, **({"training": True} if pixels else {}))
net = {} if pixels else {"net_arch": [64, 64]}
model = DQN("CnnPolicy" if pixels else "MlpPolicy", env, batch_size=batch, train_freq=4, gradient_steps=1, seed=0,
            buffer_size=20_000, learning_starts=200, exploration_fraction=0.01, policy_kwargs=net, device="cpu")
model.learn(400)
start = time.perf_counter()
model.learn(steps, reset_num_timesteps=False)
print("RATE", steps / (time.perf_counter() - start))
"""


def sb3_rate(env: str, steps: int) -> float | None:
    """Steps per second of Stable-Baselines3's DQN once it learns; None where it is not installed."""
    command = [sys.executable, "-c", SB3_SCRIPT, env, str(steps), str(TASKS[env]["batch_size"])]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RATE")]
    return float(lines[0].split()[1]) if lines else None


def our_rates(env: str, steps: int, folder: Path) -> dict[str, float]:
    """Steps per second once it learns; the shares of that time in the network, to learn and to act, and elsewhere."""
    config = default_config("dqn", env, "small" if env.startswith("Pong") else "paper")
    assert isinstance(config.algorithm, DQNConfig)
    settings = {**TASKS[env], "learning_starts": 200, "buffer_size": 20_000, "exploration_fraction": 0.01}
    config = dataclasses.replace(config, out=folder, algorithm=dataclasses.replace(config.algorithm, **settings))
    spec = env_spec(env)
    algorithm = make_algorithm(config, spec)
    assert isinstance(algorithm, DQN)
    worker = DQNTrainer(config, algorithm, spec)
    worker.begin(make_env(env, config.algorithm.n_envs, 0, training=True), np.random.default_rng(0))
    late = config.iterations // 2
    for _ in range(800 // config.batch_steps + 2):
        worker.iterate(late)
    clock = Clock()
    clock.watch(algorithm, "update", "updates")
    clock.watch(worker.replay, "sample", "learnt", "add")
    clock.watch(worker.env, "step")
    clock.watch(worker, "greedy_actions")
    start = time.perf_counter()
    for _ in range(steps // config.batch_steps):
        worker.iterate(late)
    seconds = time.perf_counter() - start
    worker.env.close()
    shares = {
        "network share": clock.of("update", "updates", "greedy_actions") / seconds,
        "replay share": clock.of("sample", "learnt", "add") / seconds,
        "environment share": clock.of("step") / seconds,
    }
    return {"steps/s": steps / seconds, **shares}


class Clock:
    """Seconds spent in methods of objects."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watch(self, owner: Any, *names: str) -> None:
        for name in names:
            setattr(owner, name, self._timed(name, getattr(owner, name)))

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*inputs: Any) -> Any:
            start = time.perf_counter()
            result = jax.block_until_ready(function(*inputs)) if name.startswith("update") else function(*inputs)
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
            return result

        return timed

    def of(self, *names: str) -> float:
        return sum(self.seconds.get(name, 0.0) for name in names)


class Updater:
    """Gradient steps of a method on one batch of Pong's frames with the small network, late in training."""

    def __init__(self, method: str, preset: str, **robust: float) -> None:
        config, spec = default_config(method, "Pong-v5", preset), env_spec("Pong-v5")
        if robust:
            config = dataclasses.replace(config, robust=dataclasses.replace(config.robust, **robust))  # type: ignore[type-var]
        algorithm = make_algorithm(config, spec)
        assert isinstance(algorithm, DQN)
        rng, n = np.random.default_rng(0), algorithm.config.batch_size
        frames = rng.integers(0, 256, (2, n, *spec.obs_shape), np.uint8)
        actions = rng.integers(0, spec.actions.size, n).astype(np.int32)
        ones = np.ones(n, np.float32)
        self.algorithm, self.learner = algorithm, DQNTrainer(config, algorithm, spec).learner
        self.batch = QBatch(frames[0], actions, ones, frames[1], ones, ones)

    def seconds(self) -> float:
        """Of one step, the processor's own: other programs do not count."""
        start = time.process_time()
        self.learner, errors, _ = self.algorithm.update(self.learner, self.batch, jax.random.key(0), jnp.float32(0.9))
        jax.block_until_ready(errors)
        return time.process_time() - start


def update_ms(turns: int = 6, steps: int = 5) -> dict[str, float]:
    """Milliseconds of a gradient step of each kind; they take turns, so that a busy machine is equally so for all."""
    updaters = {name: Updater(method, preset, **robust) for name, (method, preset, robust) in UPDATES.items()}
    times: dict[str, list[float]] = {name: [] for name in updaters}
    for turn in range(turns + 1):
        for name, updater in updaters.items():
            seconds = [updater.seconds() for _ in range(steps)]
            times[name] += seconds if turn else []
    return {f"{name} update ms": 1000 * statistics.median(values) for name, values in times.items()}


def dqn_round(steps: int) -> dict[str, float | None]:
    """One round of all that is measured; CartPole takes ten times the steps of Pong."""
    numbers: dict[str, float | None] = {}
    for env in TASKS:
        count = steps if env.startswith("Pong") else 10 * steps
        with tempfile.TemporaryDirectory() as folder:
            ours = our_rates(env, count, Path(folder))
        numbers |= {f"dqn {env} {name}": value for name, value in ours.items()}
        numbers[f"sb3 dqn {env} steps/s"] = sb3_rate(env, count // 4)
    return numbers | update_ms()


def dqn_ratios(measured: dict[str, float]) -> dict[str, float]:
    plain = measured["dqn update ms"]
    ratios = {f"{name} update / dqn update": measured[f"{name} update ms"] / plain for name in UPDATES if name != "dqn"}
    for env in TASKS:
        if f"sb3 dqn {env} steps/s" in measured:
            ratios[f"dqn / sb3 dqn {env}"] = measured[f"dqn {env} steps/s"] / measured[f"sb3 dqn {env} steps/s"]
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m wocar.bench.dqn", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("results/speed/bench-dqn.json"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4_000, help="Pong steps of each measured training")
    parser.add_argument("--updates", action="store_true", help="time gradient steps alone")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    rounds: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        numbers = update_ms() if options.updates else dqn_round(options.steps)
        for name, value in numbers.items():
            rounds.setdefault(name, []).extend([] if value is None else [value])
    medians = {name: statistics.median(values) for name, values in rounds.items() if values}
    ratios = dqn_ratios(medians)
    write_json(options.json, {"ratios": ratios, "median": medians, "rounds": rounds, **provenance()})
    for name, value in {**medians, **ratios}.items():
        print(f"{name:40} {value:10.2f}")


if __name__ == "__main__":
    main()
