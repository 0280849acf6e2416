"""Audits of published agents (results/published) beside the numbers their authors printed, as Markdown and as JSON."""

import argparse
import json
from pathlib import Path

from wocar.reproduce.paper_numbers import published

WHO = {
    "ppo-halfcheetah": ("HalfCheetah", "ppo"),
    "sappo-convex-halfcheetah": ("HalfCheetah", "sa-ppo"),
    "ppo-walker": ("Walker2d", "ppo"),
    "atla-lstm-sappo-walker": ("Walker2d", "atla-ppo"),
}
TABLE = "tab:mujoco_app"
OWN = "trained:adversary"


SEARCHED = ("robust-sarsa", "sa-rl", "pa-ad")


def judge(attack: str, ours: float, printed: float, std: float) -> str:
    """Natural within 5 %, else within a printed std; an attack that is searched for should be at least as strong."""
    near = 0.05 * abs(printed) if attack == "none" else std
    if abs(ours - printed) <= near:
        return "agrees"
    below, above = ("stronger", "weaker") if attack in SEARCHED else ("lower", "higher")
    return below if ours < printed else above


def rows(name: str) -> list[dict]:
    data = json.loads(Path(f"results/published/{name}.json").read_text())
    task, method = WHO[name]
    printed = {p.attack: p for p in published() if (p.label, p.task, p.method) == (TABLE, task, method)}
    printed[OWN] = printed["sa-rl"]
    found = []
    for attack, row in data["attacks"].items():
        entry = {"agent": name, "attack": attack, **{k: row[k] for k in ("mean", "std", "interval", "episodes", "eps")}}
        if attack in printed:
            theirs = printed[attack]
            entry |= {"published": theirs.mean, "published_std": theirs.std}
            entry["verdict"] = judge(attack, row["mean"], theirs.mean, theirs.std)
        found.append(entry)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table = [row for name in WHO if Path(f"results/published/{name}.json").is_file() for row in rows(name)]
    print("| agent | attack | ours | published | |\n|---|---|---:|---:|---|")
    for row in table:
        theirs = f"{row['published']:.0f} ± {row['published_std']:.0f}" if "published" in row else ""
        ours = f"{row['mean']:.0f} ± {row['std']:.0f}"
        print(f"| {row['agent']} | {row['attack']} | {ours} | {theirs} | {row.get('verdict', '')} |")
    if options.json:
        command = "scripts/published_agents.sh"
        options.json.write_text(json.dumps({"command": command, "table": TABLE, "rows": table}, indent=1) + "\n")


if __name__ == "__main__":
    main()
