"""Tables of README.md that are generated from committed results; `--check` fails where one has drifted.

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent


def bench() -> str:
    """The ratios of results/speed/bench.json, each with what is asked of it."""
    found = json.loads((ROOT / "results" / "speed" / "bench.json").read_text())["ratios"]
    lines = ["| ratio | measured | asked |", "|---|---:|---|"]
    for name, ratio in found.items():
        asked = f"{ratio['asked']}, {'met' if ratio['met'] else '**missed**'}" if "asked" in ratio else ""
        lines.append(f"| {name} | {ratio['value']:.2f} | {asked} |")
    return "\n".join(lines)


ROBUST = {
    "none": "no attack",
    "maxdiff-plain": "MaxDiff",
    "pgd-10": "PGD",
    "min-q": "own Q",
    "robust-sarsa": "Robust Sarsa",
}
ROBUST |= {"own-worst-critic": "own worst critic", "worst-critic": "worst critic", "director": "searched director"}


def robust() -> str:
    """Every audited agent of results/robust-sac."""
    lines = [f"| WocaR-SAC | {' | '.join(ROBUST.values())} | worst |", f"|---|{'---:|' * (len(ROBUST) + 1)}"]
    for file in sorted((ROOT / "results" / "robust-sac").glob("*-s*.json")):
        audit = json.loads(file.read_text())
        rows = audit["attacks"]
        cells = [f"{rows[name]['mean']:.0f}" if name in rows else "" for name in ROBUST]
        worst = rows[audit["worst"]]["mean"]
        lines.append(f"| {audit['env']}, seed {audit['meta']['seed']} | {' | '.join(cells)} | **{worst:.0f}** |")
    return "\n".join(lines)


def ppo_time() -> str:
    """results/speed/ppo-time.json as a table."""
    found = json.loads((ROOT / "results" / "speed" / "ppo-time.json").read_text())["ms per 2048 steps"]
    lines = ["| PPO, ms per 2048 steps | bare simulator | collecting | whole update | the policy's fit alone |"]
    lines.append("|---|---:|---:|---:|---:|")
    for env, row in found.items():
        cells = (f"{row[name]:.0f}" for name in ("bare simulator", "collect", "update", "policy alone"))
        lines.append(f"| {env} | {' | '.join(cells)} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {"bench": bench, "robust": robust, "ppo-time": ppo_time}


def filled(text: str) -> str:
    """The text with every table as the results say."""
    for name, table in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        text = pattern.sub(lambda m, table=table: m[1] + table() + "\n" + m[2], text)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for file in (ROOT / "README.md",):
        old = file.read_text()
        new = filled(old)
        if check and new != old:
            sys.exit(f"{file.name} differs from the committed results: make tables")
        file.write_text(new)


if __name__ == "__main__":
    main()
