"""`make bench`: speed as ratios measured in one run, median of three rounds."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks import MaxDiff, Perturbation
from wocar.bench.dqn import dqn_ratios, dqn_round
from wocar.bounds import Ball, action_box, worst_action_in_box
from wocar.envs import env_spec, make_env
from wocar.evaluation.episodes import run_episodes
from wocar.files import read_json_lines, write_json
from wocar.networks import DuelingActionCritic, GaussianPolicy, RunningNormaliser
from wocar.training.run_folder import provenance

ENV, AUDIT_ENV = "Hopper-v4", "HalfCheetah-v4"
METHODS = ("ppo", "sa-ppo", "wocar-ppo", "radial-ppo", "atla-ppo", "pa-atla-ppo")
RECURRENT = ("lstm-ppo", "wocar-lstm-ppo", "atla-lstm-sa-ppo")
ATTACKERS = ("sa-rl", "pa-ad")
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


def bare_rate(steps: int, n_envs: int = 16, threads: int = 2) -> float:
    """Steps per second of the simulator alone, under actions like an untrained policy's."""
    env = make_env(ENV, n_envs, seed=0, threads=threads)
    rng = np.random.default_rng(0)
    actions = rng.standard_normal((256, n_envs, env.spec.actions.size), dtype=np.float32)
    env.reset()
    start = time.perf_counter()
    for t in range(steps // n_envs):
        env.step(actions[t % 256])
    rate = steps / (time.perf_counter() - start)
    env.close()
    return rate


def training(method: str, steps: int, out: Path, *options: str) -> dict[str, float]:
    """A real `wocar train`: steady rate from its metrics, start-up until the first iteration is logged, peak memory.

    The rate is that of steps the agent learns from: an adversary's own, where one learns too, are part of their cost.
    """
    command = [sys.executable, "-m", "wocar", "train", method, *options, "--steps", str(steps), "--out", str(out)]
    start = time.time()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    rows = read_json_lines(out / "metrics.jsonl")
    half = rows[len(rows) // 3]
    learnt = "agent_steps" if "agent_steps" in half else "steps"
    rate = (rows[-1][learnt] - half[learnt]) / (rows[-1]["time"] - half["time"])
    return {"rate": rate, "startup": rows[0]["time"] - start, "peak_mb": used.ru_maxrss / 1024}


def audit_seconds(episodes: int = 50) -> dict[str, float]:
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
            seconds[f"{name} audit of {episodes} episodes s"] = time.perf_counter() - start
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


def sb3_rate(steps: int) -> float | None:
    command = [sys.executable, "-c", SB3_SCRIPT, ENV, str(steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RATE")]
    return float(lines[0].split()[1]) if lines else None


def ratios_of(measured: dict[str, float]) -> dict[str, float]:
    """What stays comparable where the machine is noisy."""
    rates = {name.removesuffix(" steps/s"): rate for name, rate in measured.items() if name.endswith(" steps/s")}
    ratios = {"ppo / simulator": rates["ppo"] / rates["simulator"]}
    for base, others in (("ppo", METHODS[1:] + RECURRENT), ("lstm-ppo", RECURRENT[1:])):
        ratios |= {
            f"{name} time / {base} time": rates[base] / rates[name] for name in others if {name, base} <= rates.keys()
        }
    ratios |= {f"{name} / ppo": rates[name] / rates["ppo"] for name in ATTACKERS if name in rates}
    if "sb3 ppo" in rates:
        ratios["ppo / sb3 ppo"] = rates["ppo"] / rates["sb3 ppo"]
    seconds = [value for name, value in measured.items() if " audit of " in name]
    if seconds:
        natural, attacked = seconds
        ratios |= {"maxdiff audit / natural audit": attacked / natural, **dqn_ratios(measured)}
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m wocar.bench", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("results/bench.json"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=120_000, help="environment steps of each measured training")
    parser.add_argument("--dqn-steps", type=int, default=4_000, help="Pong steps of each measured DQN training")
    parser.add_argument("--only", nargs="+", choices=METHODS + RECURRENT, help="these beside PPO, and nothing else")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    everything = METHODS + RECURRENT + ATTACKERS
    methods = tuple(m for m in everything if options.only is None or m == "ppo" or m in options.only)
    options.json.parent.mkdir(parents=True, exist_ok=True)

    rounds: dict[str, list[float]] = {}

    def note(name: str, value: float | None) -> None:
        if value is not None:
            rounds.setdefault(name, []).append(value)

    for k in range(options.rounds):
        print(f"round {k + 1} of {options.rounds}", file=sys.stderr, flush=True)
        note("simulator steps/s", bare_rate(60_000))
        with tempfile.TemporaryDirectory() as folder:
            for method in methods:
                out = Path(folder)
                whom = ["--victim", str(out / "ppo")] if method in ATTACKERS else ["--env", ENV]
                run = training(method, options.steps, out / method, *whom)
                note(f"{method} steps/s", run["rate"])
                note(f"{method} start-up s", run["startup"])
                note(f"{method} peak MB", run["peak_mb"])
        if options.only is None:
            note("sb3 ppo steps/s", sb3_rate(10_240))
            for name, number in {**inner_problems(), **audit_seconds(), **dqn_round(options.dqn_steps)}.items():
                note(name, number)
        measured = {name: statistics.median(values) for name, values in rounds.items()}
        ratios = ratios_of(measured)
        write_json(options.json, {"env": ENV, "ratios": ratios, "median": measured, "rounds": rounds, **provenance()})

    for name, value in {**measured, **ratios}.items():
        print(f"{name:40} {value:10.2f}")


if __name__ == "__main__":
    main()
