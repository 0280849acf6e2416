"""wocar zoo | wocar zoo show NAME | wocar zoo verify NAME [--episodes N] [--json]"""

import json
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from wocar.api import verify_zoo
from wocar.cli.audit_display import AuditDisplay
from wocar.cli.option_types import Maybe
from wocar.cli.options import parse
from wocar.evaluation.audit_summary import threat_text
from wocar.types import UserError
from wocar.zoo.entries import PREFIX, entries, find_entry

WIDTH = 110


@dataclass(frozen=True)
class ZooOptions:
    words: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Nothing: list the agents. `show NAME`: its model card. `verify NAME`: attack it anew and compare."""
    episodes: int = 10
    """Of a verification, for each attack."""
    seed: Maybe[int] = None
    """Of a verification's attacks and episodes; by default that of the audit, so that searches repeat."""
    json: bool = False
    """Print JSON."""


def main(argv: list[str]) -> int:
    options: ZooOptions = parse(ZooOptions, argv, "zoo", "Trained agents that come with wocar.")
    match options.words:
        case ():
            return _list(options.json)
        case ("show", name):
            print((find_entry(name).folder / "card.md").read_text(), end="")
            return 0
        case ("verify", name):
            return _verify(name, options)
    raise UserError("wocar zoo, wocar zoo show NAME or wocar zoo verify NAME")


def _list(as_json: bool) -> int:
    found = entries()
    if as_json:
        print(json.dumps([{"name": entry.name, **entry.data} for entry in found], indent=1))
        return 0
    table = Table("agent", "natural", "worst", "attack", "threat", "suite")
    for entry in found:
        suite = entry.data["suite"]
        name = "by name" if suite is None else f"{suite['name']}{' *' if suite['changes'] else ''}"
        numbers = [f"{row['mean']:.0f} ± {row['std']:.0f}" for row in (entry.natural, entry.worst)]
        table.add_row(entry.name, *numbers, entry.data["worst"], threat_text(entry.data["threat"]), name)
    Console(width=max(WIDTH, Console().width)).print(table)
    print("* modified, as fewer episodes; wocar zoo show NAME tells how")
    print(f'wocar.load("{PREFIX}NAME") loads one; wocar zoo verify NAME attacks it anew')
    return 0


def _verify(name: str, options: ZooOptions) -> int:
    with AuditDisplay(name) as display:
        rows = verify_zoo(find_entry(name), options.episodes, options.seed, display)
    passed = all(row.passed for row in rows)
    if options.json:
        facts = [{**row._asdict(), "verdict": row.verdict, "passed": row.passed} for row in rows]
        print(json.dumps({"name": name.removeprefix(PREFIX), "passed": passed, "attacks": facts}, indent=1))
        return 0 if passed else 1
    table = Table("attack", "recorded", "measured", "allowed difference", "verdict")
    for row in rows:
        table.add_row(row.attack, f"{row.recorded:.1f}", f"{row.measured:.1f}", f"{row.allowed:.1f}", row.verdict)
    Console().print(table)
    print(f"{name}: {'as recorded' if passed else 'not as recorded'}, {options.episodes} episodes for each attack")
    return 0 if passed else 1
