"""Print audits by mujoco-v1 (results/audits) as Markdown: returns under each attack, then estimates beside them."""

import json
from pathlib import Path

COLUMNS = {
    "none": "no attack",
    "maxdiff": "MaxDiff",
    "robust-sarsa": "Robust Sarsa",
    "worst-critic": "worst critic",
    "sa-rl": "SA-RL",
    "pa-ad": "PA-AD",
}


def main() -> None:
    audits = [json.loads(file.read_text()) for file in sorted(Path("results/audits").glob("*.json"))]
    order = ("ppo", "sa-ppo", "wocar-ppo")
    audits.sort(key=lambda a: (a["env"], order.index(a["meta"]["method"])))
    print(f"| agent | {' | '.join(COLUMNS.values())} | worst |\n|---|{'---:|' * (len(COLUMNS) + 1)}")
    for audit in audits:
        rows, worst = audit["attacks"], audit["worst"]
        cells = [f"{rows[name]['mean']:.0f} ± {rows[name]['std']:.0f}" for name in COLUMNS]
        print(f"| {name_of(audit)} | {' | '.join(cells)} | {rows[worst]['mean']:.0f} ({worst}) |")
    print("\n| agent | estimate | lowest discounted return under attack | unattacked |\n|---|---:|---:|---:|")
    for audit in audits:
        file = Path("results/estimates") / f"{Path(audit['agent']).name}.json"
        if file.is_file():
            estimate = json.loads(file.read_text())["radii"][-1]["value"]
            name, row = min(audit["attacks"].items(), key=lambda item: item[1]["mean_discounted"])
            natural = audit["attacks"]["none"]["mean_discounted"]
            print(f"| {name_of(audit)} | {estimate:.0f} | {row['mean_discounted']:.0f} ({name}) | {natural:.0f} |")


def name_of(audit: dict) -> str:
    meta = audit["meta"]
    return f"{audit['env']}, {meta['method']} seed {meta['seed']}"


if __name__ == "__main__":
    main()
