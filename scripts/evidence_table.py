"""Print the audits of a folder (default results/evidence) as Markdown: medians over seeds, then every seed."""

import json
import sys
from pathlib import Path
from statistics import median

ATTACKS = ("none", "random", "maxdiff")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/evidence")
    rows: dict[tuple[str, str], list[dict]] = {}
    for file in sorted(folder.glob("*-s[0-9].json")):
        data = json.loads(file.read_text())
        means = {name: data["attacks"][name]["mean"] for name in ATTACKS}
        rows.setdefault((data["env"], data["meta"]["method"]), []).append({"seed": data["meta"]["seed"], **means})
    if not rows:
        sys.exit(f"no results in {folder}; scripts/evidence.sh makes them")
    print("| task | method | natural | random | MaxDiff | each seed: natural / MaxDiff |")
    print("|---|---|---:|---:|---:|---|")
    for (env, method), runs in sorted(rows.items()):
        cells = " | ".join(f"{median(run[a] for run in runs):.0f}" for a in ATTACKS)
        runs.sort(key=lambda run: run["seed"])
        seeds = "; ".join(f"{run['seed']}: {run['none']:.0f} / {run['maxdiff']:.0f}" for run in runs)
        print(f"| {env} | {method} | {cells} | {seeds} |")


if __name__ == "__main__":
    main()
