"""wocar train METHOD --env ID --seed N --steps N --out DIR [--resume]"""

import dataclasses
import sys
import time
from pathlib import Path

from wocar.agent import Agent
from wocar.cli.options import parse, peek, say
from wocar.envs import env_spec
from wocar.evaluation.worst_case import calibrate
from wocar.experiments.presets import METHODS, default_config, make_algorithm
from wocar.files import write_json
from wocar.mechanisms.config import WocarConfig
from wocar.networks import TwinCritic
from wocar.training.config import RunConfig
from wocar.training.loop import train
from wocar.training.run_folder import load_config
from wocar.types import UserError


def main(argv: list[str]) -> int:
    if not argv or argv[0].startswith("-"):
        listing = "\n".join(f"  {name:14} {text}" for name, text in METHODS.items())
        print(f"usage: wocar train METHOD [options]\n\n{listing}\n\nwocar train METHOD --help shows its options.")
        return 0 if argv else 2
    method, options = argv[0], argv[1:]
    config: RunConfig = parse(
        RunConfig, options, f"train {method}", METHODS.get(method, ""), default=_default(method, options)
    )
    start = time.monotonic()
    config.check()
    spec = env_spec(config.env)
    agent = train(config, make_algorithm(config, spec), spec)
    if isinstance(config.robust, WocarConfig):
        _calibrate(agent, config, config.robust)
    minutes = (time.monotonic() - start) / 60
    print(
        f"agent in {config.out / 'agent'} after {agent.meta['steps']:,} steps ({minutes:.1f} minutes)", file=sys.stderr
    )
    return 0


def _calibrate(agent: Agent, config: RunConfig, robust: WocarConfig) -> None:
    """What the worst critic foretells, beside what an attacker who plays its worst actions achieves."""
    eps, scale = robust.eps, agent.meta["reward_std"]
    critic = agent.critics["worst"]
    if "worst-twin" in agent.critics:
        critic = TwinCritic(critic, agent.critics["worst-twin"])
    check = calibrate(agent, critic, eps, scale, config.seed, robust)
    write_json(config.out / "calibration.json", {"eps": eps, "ratio": check.ratio, **check._asdict()})
    say(
        f"the worst critic foretells a discounted return of {check.estimate:.1f}; "
        f"an attacker who replaces actions inside the sets achieves {check.achieved:.1f}"
    )


def _default(method: str, options: list[str]) -> RunConfig:
    """The preset of the task asked for; for --resume, the configuration in the folder."""
    env, seed = peek(options, "--env", RunConfig.env), peek(options, "--seed", "0")
    out = Path(peek(options, "--out", f"runs/{method}-{env.replace('/', '-')}-seed{seed}"))
    if "--resume" in options and (out / "run.json").exists():
        stored = load_config(out)
        if stored.method != method:
            raise UserError(f"{out} holds a run of {stored.method}, not of {method}")
        return stored
    return dataclasses.replace(default_config(method, env, peek(options, "--preset", "paper")), out=out)
