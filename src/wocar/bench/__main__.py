"""`make bench`: speed as ratios measured in one run, medians of three rounds."""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from wocar.bench.dqn import dqn_round, update_ms
from wocar.bench.measure import audit_seconds, bare_rate, inner_problems, sb3_rate, training
from wocar.bench.ratios import ATTACKERS, METHODS, MUJOCO, TRAINED, rate, ratios_of
from wocar.bench.sac import sac_round
from wocar.files import write_json
from wocar.training.run_folder import provenance

QUICK = ("ppo", "wocar-ppo")
Numbers = Iterator[tuple[str, float | None]]


def simulators(steps: int) -> Numbers:
    for env in MUJOCO:
        yield rate("simulator", env), bare_rate(env, steps)
        if find_spec("envpool"):
            yield rate("envpool", env), bare_rate(env, steps, "envpool")


def trainings(methods: tuple[str, ...], env: str, steps: int) -> Numbers:
    with tempfile.TemporaryDirectory() as folder:
        for method in methods:
            whom = ["--victim", str(Path(folder) / "ppo")] if method in ATTACKERS else ["--env", env]
            for name, value in training(method, steps, Path(folder) / method, *whom).items():
                yield f"{method} {env} {name}", value


def quick_round() -> Numbers:
    yield from simulators(16_000)
    yield from trainings(QUICK, TRAINED[0], 60_000)
    yield from audit_seconds(16).items()


def asked_round(steps: int) -> Numbers:
    """What something is asked of."""
    yield from simulators(60_000)
    for env in TRAINED:
        yield from trainings(QUICK, env, steps)
        yield rate("sb3 ppo", env), sb3_rate(env, 10_240)
    yield from audit_seconds(50).items()
    yield from update_ms().items()
    yield from sac_round().items()


def whole_round(steps: int, dqn_steps: int) -> Numbers:
    yield from simulators(60_000)
    yield from trainings(METHODS + ATTACKERS, TRAINED[0], steps)
    yield from trainings(QUICK, TRAINED[1], steps)
    for env in TRAINED:
        yield rate("sb3 ppo", env), sb3_rate(env, 10_240)
    yield from audit_seconds(50).items()
    yield from inner_problems().items()
    yield from dqn_round(dqn_steps).items()
    yield from sac_round().items()


def only_round(methods: tuple[str, ...], steps: int) -> Numbers:
    yield from trainings(("ppo", *(m for m in methods if m != "ppo")), TRAINED[0], steps)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m wocar.bench", description=__doc__)
    parser.add_argument("--tier", choices=("quick", "asked", "whole"), default="whole", help="quick: two minutes")
    parser.add_argument("--json", type=Path, help="default: results/speed/bench.json, quick tier: .cache/bench.json")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=120_000, help="environment steps of each measured training")
    parser.add_argument("--dqn-steps", type=int, default=4_000, help="Pong steps of each measured DQN training")
    parser.add_argument("--only", nargs="+", choices=METHODS, help="these beside PPO on Hopper, and nothing else")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    whole = options.tier != "quick" and not options.only
    file: Path = options.json or Path("results/speed/bench.json" if whole else ".cache/bench.json")
    file.parent.mkdir(parents=True, exist_ok=True)

    rounds: dict[str, list[float]] = {}
    for k in range(options.rounds):
        print(f"round {k + 1} of {options.rounds}", file=sys.stderr, flush=True)
        if options.only:
            numbers = only_round(tuple(options.only), options.steps)
        else:
            tiers: dict[str, Callable[[], Numbers]] = {
                "quick": quick_round,
                "asked": partial(asked_round, options.steps),
            }
            numbers = tiers.get(options.tier, partial(whole_round, options.steps, options.dqn_steps))()
        for name, value in numbers:
            if value is not None:
                rounds.setdefault(name, []).append(value)
        medians = {name: statistics.median(values) for name, values in rounds.items()}
        ratios = ratios_of(medians)
        write_json(file, {"ratios": ratios, "median": medians, "rounds": rounds, **provenance()})
    for name, value in medians.items():
        print(f"{name:48} {value:10.2f}")
    print()
    for name, ratio in ratios.items():
        verdict = "" if "met" not in ratio else f"   asked {ratio['asked']:8} {'met' if ratio['met'] else 'missed'}"
        print(f"{name:48} {ratio['value']:10.2f}{verdict}")


if __name__ == "__main__":
    main()
