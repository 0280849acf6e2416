"""Learned attackers of every audit by mujoco-v2, by budget and by teacher, in docs/audit.md.

`--check` fails where the page has drifted.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from suites_table import MARKS as SUITES_MARKS
from suites_table import PAGE, RESULTS, label

MARKS = tuple(mark.replace("suites", "budget") for mark in SUITES_MARKS)
SUITE = "mujoco-v2"
RUNGS = (100_000, 250_000, 500_000)
TEACHERS = {"nobody": None, "worst critic": 10, "director": "director"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check, old = parser.parse_args().check, PAGE.read_text()
    before, rest = old.split(MARKS[0])
    new = f"{before}{MARKS[0]}{table(RESULTS)}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"
    if check and new != old:
        sys.exit(f"{PAGE.name} differs from the committed results: make tables")
    if new != old:
        PAGE.write_text(new)


def table(results: Path) -> str:
    audits = [json.loads(file.read_text()) for file in sorted(results.glob("**/*.json"))]
    found = [audit for audit in audits if isinstance(audit, dict) and (audit.get("suite") or {}).get("name") == SUITE]
    rows = sorted(row(audit, attack) for audit in found for attack in ("sa-rl", "pa-ad"))
    head = ["task", "agent", "no attack", "attacker", *(f"taught by {name}, 100k" for name in TEACHERS)]
    head += [f"best after {steps // 1000}k" for steps in RUNGS]
    lines = [f"| {' | '.join(head)} |", f"|---|---|---:|---|{'---:|' * 6}"]
    return "\n".join(lines + [f"| {' | '.join(cells)} |" for cells in rows])


def row(audit: dict[str, Any], attack: str) -> tuple[str, ...]:
    """Returns on the episodes of selection, the least of each kind."""
    tried = audit["attacks"][attack]["grid"]
    taught = [least(tried, guide=guide, steps=RUNGS[0]) for guide in TEACHERS.values()]
    natural = f"{audit['attacks']['none']['mean']:.0f}"
    best = [least(tried, steps=steps) for steps in RUNGS]
    return (audit["env"], label(audit["meta"]), natural, attack, *taught, *best)


def least(tried: list[dict[str, Any]], **asked: Any) -> str:
    return f"{min(one['mean'] for one in tried if all(one.get(k) == v for k, v in asked.items())):.0f}"


if __name__ == "__main__":
    main()
