"""Measurements of `make bench`: rates of simulators and trainings, seconds of audits and inner problems."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks import MaxDiff, Perturbation
from wocar.bounds import Ball, action_box, worst_action_in_box
from wocar.envs import env_spec, make_env
from wocar.episodes import run_episodes
from wocar.files import read_json_lines
from wocar.methods.presets import default_config
from wocar.networks import DuelingActionCritic, GaussianPolicy, RunningNormaliser

AUDIT_ENV = "HalfCheetah-v4"
SB3_SCRIPT = """
import sys, time
import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv
env = DummyVecEnv([lambda: gymnasium.make(sys.argv[1])] * 8)
model = PPO("MlpPolicy", env, n_steps=256, batch_size=64, n_epochs=10, device="cpu", seed=0)
model.learn(2048)
start = time.perf_counter()
model.learn(int(sys.argv[2]), reset_num_timesteps=False)
print("RATE", int(sys.argv[2]) / (time.perf_counter() - start))
"""


def bare_rate(env: str, steps: int, backend: str = "auto", n_envs: int = 16, threads: int = 2) -> float:
    """Steps per second of the simulator alone, rewards and resets included, under actions of an untrained policy."""
    simulator = make_env(env, n_envs, seed=0, threads=threads, backend=backend)
    rng = np.random.default_rng(0)
    actions = rng.standard_normal((256, n_envs, simulator.spec.actions.size), dtype=np.float32)
    simulator.reset()
    start = time.perf_counter()
    for t in range(steps // n_envs):
        simulator.step(actions[t % 256])
    rate = steps / (time.perf_counter() - start)
    simulator.close()
    return rate


def training(method: str, steps: int, out: Path, *options: str) -> dict[str, float]:
    """A real `wocar train`: steady rate from its metrics, start-up until the first iteration is logged.

    The rate is that of steps the agent learns from: an adversary's own, where one learns too, are part of their cost.
    Hunts are left out: their number does not grow with the steps, a short training would pay for all of them. So are
    pushes and updates of another size than PPO's: what the mechanisms cost is measured.
    """
    where = [*options, *like_ppo(method, options), "--steps", str(steps), "--out", str(out)]
    command = [sys.executable, "-m", "wocar", "train", method, *where]
    start = time.time()
    subprocess.run(command, stderr=subprocess.DEVNULL, check=True)
    rows = read_json_lines(out / "metrics.jsonl")
    early = rows[len(rows) // 3]
    learnt = "agent_steps" if "agent_steps" in early else "steps"
    rate = (rows[-1][learnt] - early[learnt]) / (rows[-1]["time"] - early["time"])
    return {"steps/s": rate, "start-up s": rows[0]["time"] - start}


def like_ppo(method: str, options: Sequence[str]) -> list[str]:
    """Options with which a method learns from rollouts and minibatches of PPO's size, unpushed and without hunts."""
    changed: list[str] = []
    for env in (value for name, value in pairwise(options) if name == "--env"):
        run, ppo = default_config(method, env), default_config("ppo", env).algorithm
        if run.robust is not None and run.robust.hunt_begin < 1:
            changed += ["--hunt-begin", "1"]
        if getattr(run.robust, "director_share", 0):
            changed += ["--director-share", "0"]
        if type(run.algorithm) is type(ppo):
            for name in ("n_steps", "minibatches", "policy_epochs"):
                if getattr(run.algorithm, name) != getattr(ppo, name):
                    changed += [f"--{name.replace('_', '-')}", str(getattr(ppo, name))]
    return changed


def sb3_rate(env: str, steps: int) -> float | None:
    """Steps per second of Stable-Baselines3's PPO; None where it is not installed."""
    done = subprocess.run([sys.executable, "-c", SB3_SCRIPT, env, str(steps)], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RATE")]
    return float(lines[0].split()[1]) if lines else None


def audit_seconds(episodes: int) -> dict[str, float]:
    """Seconds of HalfCheetah episodes, all of one length, without attack and under MaxDiff, compiled before."""
    spec = env_spec(AUDIT_ENV)
    policy = GaussianPolicy.create(spec.obs_shape[0], spec.actions.size, jax.random.key(0))
    agent = Agent(spec, RunningNormaliser.create(spec.obs_shape), policy)
    seconds = {}
    for name, attack in {"natural": None, "maxdiff": MaxDiff()}.items():
        perturb: Any = Perturbation(attack, Ball(0.15), 0) if attack else None
        for _ in range(2):
            start = time.perf_counter()
            run_episodes(agent, episodes, seed=1, perturb=perturb)
            seconds[f"{name} audit s"] = time.perf_counter() - start
    return seconds


def inner_problems(n: int = 2048) -> dict[str, float]:
    """Milliseconds of CROWN and of the search for the worst action, for n states of Hopper's size."""
    obs = jnp.asarray(np.random.default_rng(0).standard_normal((n, 11), dtype=np.float32))
    policy = GaussianPolicy.create(11, 3, jax.random.key(0))
    critic = DuelingActionCritic.create(11, 3, jax.random.key(1))
    low, high = -np.ones(3, np.float32), np.ones(3, np.float32)
    bounds = eqx.filter_jit(lambda policy, obs: action_box(policy.network, Ball(0.075), obs, low, high, "crown"))
    box = bounds(policy, obs)

    def search(steps: int) -> Callable[[], Any]:
        worst = eqx.filter_jit(
            lambda critic, obs: worst_action_in_box(lambda a: critic(obs, a), policy.mode(obs), box, steps)
        )
        return lambda: worst(critic, obs)

    jobs = {"crown": lambda: bounds(policy, obs), "search 10": search(10), "search 50": search(50)}
    return {f"{name} of {n} states ms": _milliseconds(job) for name, job in jobs.items()}


def _milliseconds(job: Callable[[], Any], repeats: int = 10) -> float:
    jax.block_until_ready(job())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(job())
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)
