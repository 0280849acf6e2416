"""wocar train METHOD --env ID --seed N --steps N --out DIR [--resume]; attackers have a --victim in place of --env"""

import dataclasses
import sys
import time
from pathlib import Path

from wocar.agent import Agent
from wocar.api import default_threat, load
from wocar.cli.options import parse, peek, say
from wocar.config_base import configured
from wocar.envs import env_spec
from wocar.evaluation.worst_case import calibrate
from wocar.files import write_json
from wocar.mechanisms.policy_config import WocarConfig
from wocar.methods.attackers import attacker_config
from wocar.methods.method import Method
from wocar.methods.presets import default_config, make_algorithm
from wocar.methods.registry import all_methods, find_method
from wocar.networks import TwinCritic
from wocar.training.adversary import train_adversary
from wocar.training.loop import train
from wocar.training.ppo import PPOConfig
from wocar.training.run_config import RunConfig
from wocar.training.run_folder import load_config
from wocar.types import UserError


def main(argv: list[str]) -> int:
    if not argv or argv[0].startswith("-"):
        listing = "\n".join(f"  {method.name:16} {method.about}" for method in all_methods())
        print(f"usage: wocar train METHOD [options]\n\n{listing}\n\nwocar train METHOD --help shows its options.")
        return 0 if argv else 2
    method, options = find_method(argv[0]), argv[1:]
    config: RunConfig = parse(
        RunConfig, options, f"train {method.name}", method.about, default=_default(method, options)
    )
    start = time.monotonic()
    config.check()
    spec = env_spec(config.env)
    if config.attack is not None:
        agent = train_adversary(config, load(config.attack.victim))
    else:
        agent = train(config, make_algorithm(config, spec), spec)
    if isinstance(config.robust, WocarConfig) and len(spec.obs_shape) == 1 and not agent.recurrent:
        _calibrate(agent, config, config.robust)
    minutes = (time.monotonic() - start) / 60
    print(
        f"agent in {config.out / 'agent'} after {agent.meta['steps']:,} steps ({minutes:.1f} minutes)", file=sys.stderr
    )
    return 0


def _calibrate(agent: Agent, config: RunConfig, robust: WocarConfig) -> None:
    """What the worst critic predicts, beside what an attacker who plays its worst actions achieves."""
    scale, threat = agent.meta["reward_std"], robust.threat
    critic = agent.critics["worst"]
    if "worst-twin" in agent.critics:
        critic = TwinCritic(critic, agent.critics["worst-twin"])
    check = calibrate(agent, critic, threat, scale, config.seed, robust)
    write_json(
        config.out / "calibration.json",
        {"eps": threat.eps, "threat": threat.to_json(), "ratio": check.ratio, **check._asdict()},
    )
    say(
        f"the worst critic predicts a discounted return of {check.estimate:.1f}; "
        f"an attacker who replaces actions inside the sets achieves {check.achieved:.1f}"
    )


def _default(method: Method, options: list[str]) -> RunConfig:
    """The preset of the task or victim asked for; for --resume, the configuration in the folder."""
    env, victim = peek(options, "--env", RunConfig.env), peek(options, "--victim", "")
    task = Path(victim).name if method.attack else env.replace("/", "-")
    out = Path(peek(options, "--out", f"runs/{method.name}-{task}-seed{peek(options, '--seed', '0')}"))
    if "--resume" in options and (out / "run.json").exists():
        stored = load_config(out)
        if stored.method != method.name:
            raise UserError(f"{out} holds a run of {stored.method}, not of {method.name}")
        return stored
    if method.attack is None:
        config = default_config(method.name, env, peek(options, "--preset", "paper"))
    elif victim:
        agent = load(Path(victim))
        config = attacker_config(method.name, agent, Path(victim), default_threat(agent))
    elif {"-h", "--help"} & set(options):
        attack = configured(method.attack, victim=Path("AGENT"), eps=0.1)
        config = RunConfig(method.name, algorithm=PPOConfig(normalise_obs=False), attack=attack)
    else:
        raise UserError(f"{method.name} attacks an agent: name its folder with --victim")
    return dataclasses.replace(config, out=out)
