"""Print the audits of a folder (results/robust-sac) as Markdown: each seed, then the median agent by worst return."""

import json
import sys
from pathlib import Path
from typing import Any

NAMES = {
    "none": "natural",
    "maxdiff-plain": "MaxDiff",
    "pgd-10": "PGD",
    "min-q": "min Q",
    "own-worst-critic": "own worst critic",
    "robust-sarsa": "Robust Sarsa",
    "worst-critic": "worst critic",
    "director": "director",
}


def row(label: str, audit: dict[str, Any]) -> str:
    rows, worst = audit["attacks"], audit["worst"]
    cells = [f"{rows[name]['mean']:.0f} ± {rows[name]['std']:.0f}" if name in rows else "" for name in NAMES]
    return f"| {label} | {' | '.join(cells)} | {rows[worst]['mean']:.0f} ({worst}) |"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/robust-sac")
    print(f"| agent | {' | '.join(NAMES.values())} | worst |\n|---|{'---:|' * (len(NAMES) + 1)}")
    tasks: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(folder.glob("*-s*.json")):
        audit = json.loads(file.read_text())
        tasks.setdefault(audit["env"], []).append(audit)
        print(row(file.stem, audit))
    for task, audits in tasks.items():
        audits.sort(key=lambda audit: audit["attacks"][audit["worst"]]["mean"])
        if len(audits) > 2:
            print(row(f"**{task}, median of {len(audits)}**", audits[(len(audits) - 1) // 2]))


if __name__ == "__main__":
    main()
