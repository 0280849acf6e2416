"""Print the audits of all methods on one task (default results/baselines) as Markdown."""

import json
import sys
from pathlib import Path

COLUMNS = {
    "none": "no attack",
    "random": "random",
    "maxdiff": "MaxDiff",
    "pgd-10": "PGD-10",
    "robust-sarsa": "Robust Sarsa",
}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/baselines")
    audits = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    if not audits:
        sys.exit(f"no results in {folder}; scripts/baselines.sh makes them")
    print(f"| method | {' | '.join(COLUMNS.values())} | worst |\n|---|{'---:|' * (len(COLUMNS) + 1)}")
    for audit in sorted(audits, key=lambda a: a["attacks"]["maxdiff"]["mean"]):
        rows, worst = audit["attacks"], audit["worst"]
        cells = [f"{rows[name]['mean']:.0f} ± {rows[name]['std']:.0f}" if name in rows else "" for name in COLUMNS]
        print(f"| `{audit['meta']['method']}` | {' | '.join(cells)} | {rows[worst]['mean']:.0f} ({worst}) |")


if __name__ == "__main__":
    main()
