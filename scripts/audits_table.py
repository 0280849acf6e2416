"""Print audits by mujoco-v1 as Markdown: returns under each attack, then estimates beside discounted returns.

Estimates are those of `wocar estimate` (results/estimates) where there is one, else what the worst-critic attack of the
audit predicted, which is the same with fewer explorations.
"""

import json
from pathlib import Path
from typing import Any

COLUMNS = {
    "none": "no attack",
    "maxdiff": "MaxDiff",
    "robust-sarsa": "Robust Sarsa",
    "worst-critic": "worst critic",
    "sa-rl": "SA-RL",
    "pa-ad": "PA-AD",
}
ORDER = ("ppo", "sa-ppo", "wocar-ppo")


def main() -> None:
    audits = [json.loads(file.read_text()) for file in sorted(Path("results/audits").glob("*.json"))]
    audits.sort(key=lambda a: (a["env"], ORDER.index(a["meta"]["method"])))
    print(f"| agent | {' | '.join(COLUMNS.values())} | worst |\n|---|{'---:|' * (len(COLUMNS) + 1)}")
    for audit in audits:
        rows, worst = audit["attacks"], audit["worst"]
        cells = [f"{rows[name]['mean']:.0f} ± {rows[name]['std']:.0f}" for name in COLUMNS]
        print(f"| {name_of(audit)} | {' | '.join(cells)} | {rows[worst]['mean']:.0f} ({worst}) |")

    published = (json.loads(file.read_text()) for file in sorted(Path("results/published").glob("*.json")))
    audits += [audit for audit in published if COLUMNS.keys() <= audit.get("attacks", {}).keys()]
    print(f"\n| discounted | estimate | {' | '.join(COLUMNS.values())} | lowest |\n|---|{'---:|' * (len(COLUMNS) + 2)}")
    for audit in audits:
        means = {name: row["mean_discounted"] for name, row in audit["attacks"].items()}
        lowest = min(means, key=means.__getitem__)
        cells = [f"{means[name]:.0f}" for name in COLUMNS]
        print(f"| {name_of(audit)} | {estimate(audit)} | {' | '.join(cells)} | {means[lowest]:.0f} ({lowest}) |")


def estimate(audit: dict[str, Any]) -> str:
    file = Path("results/estimates") / f"{Path(audit['agent']).name}.json"
    if file.is_file():
        return f"{json.loads(file.read_text())['radii'][-1]['value']:.0f}"
    return f"{audit['attacks']['worst-critic']['foretold']:.0f} (in the audit)"  # `predicted` in newer audits


def name_of(audit: dict[str, Any]) -> str:
    meta = audit["meta"]
    if "seed" not in meta:
        return f"{audit['env']}, published {Path(audit['agent']).name}"
    return f"{audit['env']}, {meta['method']} seed {meta['seed']}"


if __name__ == "__main__":
    main()
