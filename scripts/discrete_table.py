"""Print the audits of discrete tasks (default results/discrete) as Markdown: every seed, and what is kept under PGD."""

import json
import sys
from pathlib import Path


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/discrete")
    files = sorted(folder.glob("*-s[0-9].json"))
    if not files:
        sys.exit(f"no results in {folder}; scripts/discrete_evidence.sh makes them")
    print("| task | eps | method | seed | natural | PGD-10 | kept | flips | greedy worst case |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|")
    rows = []
    for file in files:
        data = json.loads(file.read_text())
        natural, pgd, bound = data["attacks"]["none"], data["attacks"]["pgd-10"], data["certified"]
        kept = f"{pgd['mean'] / natural['mean']:.0%}" if natural["mean"] > 0 else "-"
        numbers = f"{natural['mean']:.1f} | {pgd['mean']:.1f} | {kept} | {pgd['flips']:.0%} | {bound['mean']:.1f}"
        key = (data["env"], file.stem.rsplit("-", 2)[0], data["meta"]["seed"])
        rows.append((key, f"| {key[0]} | {pgd['eps']:g} | {key[1]} | {key[2]} | {numbers} |"))
    for _, line in sorted(rows):
        print(line)


if __name__ == "__main__":
    main()
