"""wocar train METHOD --env ID --seed N --steps N --out DIR [--resume]; attackers have a --victim in place of --env"""

import sys
import textwrap
import time
from os.path import exists
from pathlib import Path

from wocar.api import run_training, training_config
from wocar.cli.options import parse, peek, say
from wocar.config_base import configured
from wocar.methods.method import Method
from wocar.methods.registry import all_methods, find_method
from wocar.training.ppo import PPOConfig
from wocar.training.run_config import RunConfig
from wocar.training.run_folder import RunFolder


def main(argv: list[str]) -> int:
    if not argv or argv[0].startswith("-"):
        print(_listing())
        return 0 if argv else 2
    method, options = find_method(argv[0]), argv[1:]
    config: RunConfig = parse(
        RunConfig, options, f"train {method.name}", method.about, default=_default(method, options)
    )
    if config.resume and not RunFolder(config.out).checkpoints():
        say(_starts_anew(config.out))
    start = time.monotonic()
    agent, check = run_training(config)
    if check is not None:
        say(
            f"the worst critic predicts a discounted return of {check.estimate:.1f}; "
            f"an attacker who replaces actions inside the sets achieves {check.achieved:.1f}"
        )
    minutes = (time.monotonic() - start) / 60
    print(
        f"agent in {config.out / 'agent'} after {agent.meta['steps']:,} steps ({minutes:.1f} minutes)", file=sys.stderr
    )
    return 0


def _starts_anew(out: Path) -> str:
    """Why there is nothing that --resume could continue."""
    found = exists(out / "run.json")
    why = f"{out} has no checkpoint yet" if found else f"there is no run in {out} to resume"
    return f"{why}: training starts anew"


def _listing() -> str:
    """The methods, and the presets with their methods."""
    methods = all_methods()
    lines = ["usage: wocar train METHOD [--env ID] [--preset NAME] [options]", ""]
    lines += [_entry(method.name, 16, method.about) for method in methods]
    lines += ["", "presets (*: the default of the method; else that is paper):"]
    for preset in dict.fromkeys(preset for method in methods for preset in method.presets):
        having = [method.name + "*" * (preset == method.presets[0]) for method in methods if preset in method.presets]
        lines.append(_entry(preset, 16, "all methods" if len(having) == len(methods) else ", ".join(having)))
    lines += ["", "wocar train METHOD --help shows the options of one, wocar methods METHOD its settings."]
    return "\n".join(lines)


def _entry(name: str, indent: int, text: str) -> str:
    inner = " " * (indent + 3)
    return textwrap.fill(f"  {name:{indent}} {text}", 80, subsequent_indent=inner, break_on_hyphens=False)


def _default(method: Method, options: list[str]) -> RunConfig:
    """What the options change: a preset, or with --resume the configuration in the folder."""
    env, victim, out = peek(options, "--env", RunConfig.env), peek(options, "--victim", ""), peek(options, "--out", "")
    if method.attack and not victim and {"-h", "--help"} & set(options):
        attack = configured(method.attack, victim=Path("AGENT"), eps=0.1)
        return RunConfig(method.name, algorithm=PPOConfig(normalise_obs=False), attack=attack)
    preset, seed = peek(options, "--preset", "") or None, peek(options, "--seed", "0")
    return training_config(method.name, env, preset, victim, out, seed, "--resume" in options)
