"""Print the audits in results/what-works as Markdown; with --write, into docs/what-works.md.

A file is called TASK-VARIANT-sSEED.json. Of several seeds of a variant the median agent by its worst return is shown,
those of today's preset `robust` in a table of their own.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER, PAGE = ROOT / "results/what-works", ROOT / "docs/what-works.md"
AGENTS = "<!-- table: scripts/what_works_table.py -->", "<!-- end of table -->"
EARLIER = "<!-- earlier: scripts/what_works_table.py -->", "<!-- end of earlier -->"
CALIBRATION = "<!-- calibration: scripts/what_works_table.py -->", "<!-- end of calibration -->"
PRESET = (("Hopper", "long"), ("HalfCheetah", "4M"), ("Walker2d", "hunts"))
TODAY = {
    ("Ant", "wocar-ppo"): "WocaR-PPO",
    **{(task, f"wocar-ppo-{v}"): "WocaR-PPO" for task, v in PRESET},
    **{(task, f"sa-ppo-{v}"): "SA-PPO, the rest the same" for task, v in PRESET},
}
"""Variants that are of today's preset, and how they are called."""
COLUMNS = {
    "none": "natural",
    "maxdiff-plain": "MaxDiff, no noise",
    "pgd-10": "PGD-10",
    "min-q": "min Q",
    "own-worst-critic": "own worst critic",
    "robust-sarsa": "Robust Sarsa",
    "rs-mad": "RS-MAD",
    "worst-critic": "worst critic",
    "director": "directors",
    "sa-rl": "SA-RL",
    "pa-ad": "PA-AD",
}


def worst(audit: dict[str, Any]) -> float:
    return float(audit["attacks"][audit["worst"]]["mean"])


def table(today: bool) -> str:
    groups: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for file in sorted(FOLDER.glob("*-s*.json")):
        task, rest = file.stem.split("-", 1)
        variant, seed = rest.rsplit("-s", 1)
        if ((task, variant) in TODAY) == today:
            groups[task, variant].append((int(seed), json.loads(file.read_text())))
    columns = [n for n in COLUMNS if any(n in audit["attacks"] for group in groups.values() for _, audit in group)]
    head = ["task", "agent", "steps", "seeds", *(COLUMNS[name] for name in columns), "worst", "worst of every seed"]
    lines = [f"| {' | '.join(head)} |", f"|---|---|{'---:|' * (len(head) - 2)}"]
    for (task, variant), group in groups.items():
        by_worst = sorted(group, key=lambda pair: worst(pair[1]))
        median, rows = by_worst[(len(group) - 1) // 2][1], [seed for seed, _ in sorted(group, key=lambda pair: pair[0])]
        cells = [f"{median['attacks'][n]['mean']:.0f}" if n in median["attacks"] else "" for n in columns]
        everyone = ", ".join(f"{worst(audit):.0f}" for _, audit in sorted(group, key=lambda pair: pair[0]))
        steps = f"{median['meta']['steps'] / 1e6:.1f}M"
        label, seeds = TODAY.get((task, variant), variant), ", ".join(map(str, rows))
        own = [task, label, steps, seeds, *cells, f"**{worst(median):.0f}**", everyone]
        lines.append(f"| {' | '.join(own)} |")
    return "\n".join(lines)


def calibration() -> str:
    """What each worst critic predicted, what its attacker achieved."""
    lines = ["| agent | predicted | achieved | ratio |", "|---|---:|---:|---:|"]
    for file in sorted((FOLDER / "calibration").glob("*.json")):
        found = json.loads(file.read_text())
        cells = f"{found['estimate']:.0f} | {found['achieved']:.0f} | {found['ratio']:.2f}"
        lines.append(f"| {file.stem} | {cells} |")
    return "\n".join(lines)


def written(page: str, marks: tuple[str, str], text: str) -> str:
    """The page with this text between its marks."""
    begin, end = marks
    before, rest = page.split(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def main() -> None:
    if sys.argv[1:] != ["--write"]:
        print(table(True), table(False), calibration(), sep="\n\n")
        return
    page = written(PAGE.read_text(), AGENTS, table(True))
    page = written(page, EARLIER, table(False))
    PAGE.write_text(written(page, CALIBRATION, calibration()))


if __name__ == "__main__":
    main()
