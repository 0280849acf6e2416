"""wocar attacks [--json]"""

import json
from dataclasses import dataclass

from rich.table import Table

from wocar.cli.options import parse, show
from wocar.evaluation.attack_registry import ALIASES, attack_names, kind_of

NEEDS = {"trainer": "training", "given attacker": "--attackers"}


@dataclass(frozen=True)
class AttacksOptions:
    json: bool = False
    """Print JSON."""


def main(argv: list[str]) -> int:
    options: AttacksOptions = parse(AttacksOptions, argv, "attacks", "Attacks by name, and what each needs.")
    rows = [_row(name) for name in attack_names()]
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    table = Table(box=None, pad_edge=False)
    for heading in ("attack", "family", "needs", "black box", "also"):
        table.add_column(heading, no_wrap=heading in ("attack", "family"))
    for row in rows:
        needs = NEEDS.get(row["needs"], row["needs"])
        actions = "" if row["actions"] == "any" else f"{row['actions']} actions"
        words = ", ".join(filter(None, (actions, needs)))
        table.add_row(row["attack"], row["family"], words, "yes" if row["black_box"] else "", ", ".join(row["aliases"]))
    show(table)
    print("\nblack box: needs no more of an agent than its actions. wocar audit AGENT --attacks a,b runs some;")
    print("a fault has a strength, as in sensor-noise:0.3. wocar suites lists frozen sets.")
    return 0


def _row(name: str) -> dict:
    kind = kind_of(name)
    return {
        "attack": name,
        "family": kind.family,
        "moves": kind.on,
        "actions": kind.actions,
        "needs": kind.needs,
        "black_box": kind.black_box,
        "aliases": [alias for alias, meant in ALIASES.items() if meant == name],
    }
