"""wocar suites [NAME] [--json]"""

import json
import textwrap
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from wocar.cli.option_types import Maybe
from wocar.cli.options import parse
from wocar.evaluation.frozen_suites import SUITES
from wocar.evaluation.suites import suite_digest, suite_plan
from wocar.threat import Threat

WIDTH, INDENT = 80, " " * 14


@dataclass(frozen=True)
class SuitesOptions:
    name: Annotated[Maybe[str], tyro.conf.Positional] = None
    """Only this suite."""
    json: bool = False
    """Print JSON, with every setting."""


def main(argv: list[str]) -> int:
    options: SuitesOptions = parse(SuitesOptions, argv, "suites", "Frozen sets of attacks.")
    if options.name is not None:
        suite_plan(options.name, (Threat(0.0),))  # a UserError where there is no such suite
    chosen = {name: suite for name, suite in SUITES.items() if options.name in (None, name)}
    if options.json:
        print(json.dumps({name: {**suite, "sha256": suite_digest(name)} for name, suite in chosen.items()}, indent=1))
        return 0
    for name, suite in chosen.items():
        print(_described(name, suite))
    return 0


def _described(name: str, suite: dict[str, Any]) -> str:
    counts = (f"{attack} x{len(grid)}" if len(grid) > 1 else attack for attack, grid in suite["attacks"].items())
    lines = [f"{name:13} {suite['about']}", f"{INDENT}{suite['episodes']} episodes each: {', '.join(counts)}"]
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent=INDENT, break_on_hyphens=False) for line in lines)
