"""Print the evidence as Markdown: every seed, then the median agent by its return under the worst attack."""

import json
import sys
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).resolve().parents[1] / "results" / "evidence"
ATTACKS = ("none", "random", "maxdiff")


def main() -> None:
    rows: dict[tuple[str, str], list[dict]] = {}
    for file in sorted(FOLDER.glob("*-s[0-9].json")):
        data = json.loads(file.read_text())
        means = {name: data["attacks"][name]["mean"] for name in ATTACKS}
        rows.setdefault((data["env"], data["meta"]["method"]), []).append({"seed": data["meta"]["seed"], **means})
    if not rows:
        sys.exit(f"no results in {FOLDER}; scripts/evidence.sh makes them")
    print("| task | method | natural | random | MaxDiff | seeds |")
    print("|---|---|---:|---:|---:|---|")
    for (env, method), runs in sorted(rows.items()):
        cells = " | ".join(f"{median(run[a] for run in runs):.0f}" for a in ATTACKS)
        runs.sort(key=lambda run: run["seed"])
        seeds = "; ".join(f"{run['seed']}: {run['none']:.0f} / {run['maxdiff']:.0f}" for run in runs)
        print(f"| {env} | {method} | {cells} | {seeds} |")


if __name__ == "__main__":
    main()
