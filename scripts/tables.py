"""Tables and outputs of README.md and docs/ that are generated from committed files; `--check` fails where one drifted.

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`, the output of a command, a file of results/, between
`<!-- shown FILE -->` and `<!-- /shown -->`.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wocar.evaluation.frozen_suites import SUITES

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


def update_time() -> str:
    """results/speed/update-time.json as a table."""
    found = json.loads((ROOT / "results" / "speed" / "update-time.json").read_text())["processor ms per 2048 steps"]
    lines = ["| update, processor ms per 2048 steps | policy | value and worst critic |", "|---|---:|---:|"]
    for env, methods in found.items():
        lines += [
            f"| {name}, {env} | {' | '.join(f'{ms:.0f}' for ms in row.values())} |" for name, row in methods.items()
        ]
    return "\n".join(lines)


SUITE = "fast-v2"
FAST = SUITES[SUITE]["attacks"]


def usual_worst(entry: dict[str, Any]) -> dict[str, Any]:
    """The worst attack of `fast-v2`, where it was run: few agents of a row have met harder ones. Else of all."""
    ran = any((audit["suite"] or {}).get("name") == SUITE for audit in entry["audits"])
    if not ran or entry["worst"]["attack"] in FAST:
        return entry["worst"]
    return min(
        ({"attack": name, **row} for name, row in entry["attacks"].items() if name in FAST),
        key=lambda row: row["mean"],
    )


def harder(agents: list[dict[str, Any]]) -> str:
    """What attacks beyond that suite leave of the agent that they hurt most."""
    found = [entry["worst"] for entry in agents if usual_worst(entry) is not entry["worst"]]
    worst = min(found, key=_mean, default=None)
    return f"{worst['mean']:.0f} ({worst['attack']})" if worst else ""


def _mean(row: dict[str, Any]) -> float:
    return float(row["mean"])


def median_agents() -> list[list[dict[str, Any]]]:
    """The leaderboard's agents, those that differ in the seed alone together, the median by worst return first.

    Of an even number it is the lower of the middle two. Tasks by name, in a task the highest worst return first.
    """
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for file in sorted((ROOT / "leaderboard").glob("*/*/*.json")):
        entry = json.loads(file.read_text())
        same = (entry["env"], entry["origin"], entry["method"], entry["about"], entry["steps"])
        groups.setdefault((*same, entry["name"] if entry["origin"] != "ours" else ""), []).append(entry)
    found = []
    for agents in groups.values():
        agents.sort(key=lambda entry: _mean(usual_worst(entry)))
        median = agents.pop((len(agents) - 1) // 2)
        found.append([median, *agents])
    return sorted(found, key=_by_task)


def _by_task(agents: list[dict[str, Any]]) -> tuple[str, float]:
    return agents[0]["env"], -_mean(usual_worst(agents[0]))


def short_headline() -> str:
    """Of each method on a task one setting: that of the most seeds, then of the most steps, then of the best worst.

    Agents without a part of today's preset ("no ...") are not shown, nor a single one of ours beside a published one.
    """
    best: dict[tuple, list[dict[str, Any]]] = {}

    def rank(agents: list[dict[str, Any]]) -> tuple:
        return len(agents), agents[0]["steps"] or 0, _mean(usual_worst(agents[0]))

    for agents in median_agents():
        if agents[0]["about"].startswith("no "):
            continue
        key = (agents[0]["env"], agents[0]["origin"], agents[0]["method"])
        best[key] = max(best.get(key, agents), agents, key=rank)
    published = {(env, method) for env, origin, method in best if origin == "published"}
    best = {
        (env, origin, method): agents
        for (env, origin, method), agents in best.items()
        if origin != "ours" or len(agents) > 1 or (env, method) not in published
    }
    return headline(sorted(best.values(), key=_by_task))


def headline(shown: list[list[dict[str, Any]]] | None = None) -> str:
    """The median agent of each method on the leaderboard: natural and worst return.

    An agent that its authors attacked harder than we did is left out.
    """
    head = ("task, eps", "agent", "seeds", "no attack", "worst", "kept", "worst attack", "harder attacks")
    lines = [f"| {' | '.join(head)} | authors report |", "|---|---|---:|---:|---:|---:|---|---|---:|"]
    for median, *others in shown or median_agents():
        natural, told, by = median["natural"]["mean"], median["reported"], usual_worst(median)
        worst = _mean(by)
        if told and told["worst"] is not None and told["worst"] < _mean(median["worst"]):
            continue
        label = f"{median['method'].upper().replace('WOCAR', 'WocaR')}, {_origin(median)}"
        seeds = str(1 + len(others)) if median["origin"] == "ours" else ""
        claimed = f"{told['natural']:.0f} / {told['worst']:.0f}" if told and told["worst"] is not None else ""
        kept = f"{max(0.0, 100 * worst / natural):.0f} %"
        note = "" if median["suite"] else " *"
        cells = (f"{median['env']}, {median['threat']['eps']:g}", label, seeds, f"{natural:.0f}")
        cells = (*cells, f"**{worst:.0f}**{note}", kept, by["attack"], harder([median, *others]), claimed)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _origin(entry: dict[str, Any]) -> str:
    if entry["origin"] != "ours":
        return entry["origin"]
    steps = entry["steps"]
    size = f"{steps / 1e6:.2g}M" if steps >= 1_000_000 else f"{steps // 1000}k"
    return ", ".join(part for part in (entry["about"], f"{size} steps") if part)


UNFINISHED = "What it has reached so far is in `results/harden`: the audit of the hardened agent is not finished."


def hardened() -> str:
    """Every result of `wocar harden` in results/harden: natural and worst return before and after."""
    lines = ["| agent | eps | no attack: before | after | worst: before | after |", "|---|---:|---:|---:|---:|---:|"]
    for file in sorted((ROOT / "results" / "harden").glob("*.json")):
        found = json.loads(file.read_text())
        if not set(found) >= {"before", "after"}:
            continue
        sides = [found["before"], found["after"]]
        natural = [side["attacks"]["none"]["mean"] for side in sides]
        worst = [f"{side['attacks'][side['worst']]['mean']:.0f} ({side['worst']})" for side in sides]
        name = f"{sides[0]['env']}, `results/harden/{file.name}`"
        cells = (name, f"{sides[0]['threat']['eps']:g}", f"{natural[0]:.0f}", f"{natural[1]:.0f}", *worst)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else UNFINISHED


def harden() -> str:
    """What `wocar harden` printed for results/harden/hopper.json; before it is there, what its README says."""
    file = ROOT / "results" / "harden" / "hopper.json"
    if not file.is_file():
        return UNFINISHED
    found = json.loads(file.read_text())
    before, after = (found[side]["attacks"] for side in ("before", "after"))
    lines = [f"{'attack':18} {'before':>9} {'after':>9}"]
    for name in dict.fromkeys([*before, *after]):
        cells = (f"{rows[name]['mean']:9.1f}" if name in rows else f"{'-':>9}" for rows in (before, after))
        lines.append(f"{name:18} {' '.join(cells)}")
    lines.append(f"{'worst':18} {found['worst']['before']:9.1f} {found['worst']['after']:9.1f}")
    lost = found["natural"]["before"] - found["natural"]["after"]
    cost = f"cost in return without attack: {lost:.1f} ({100 * lost / abs(found['natural']['before']):.1f} %)"
    lines.append(f"wocar: {cost}; {found['steps']:,} steps, {found['minutes']['training']} minutes")
    return "\n".join(["```text", *lines, "```"])


TABLES: dict[str, Callable[[], str]] = {
    "bench": bench,
    "robust": robust,
    "ppo-time": ppo_time,
    "update-time": update_time,
    "headline": headline,
    "headline-short": short_headline,
    "hardened": hardened,
    "harden": harden,
}
SHOWN = re.compile(r"(<!-- shown (\S+) -->\n).*?(<!-- /shown -->)", re.S)


def shown(file: Path) -> str:
    """A command's output as a block."""
    return f"```text\n{file.read_text().rstrip()}\n```\n"


def filled(text: str) -> str:
    """The text with every table and output as the committed files say."""
    for name, table in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        text = pattern.sub(lambda m, table=table: m[1] + table() + "\n" + m[2], text)
    return SHOWN.sub(lambda m: m[1] + shown(ROOT / m[2]) + m[3], text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        old = file.read_text()
        new = filled(old)
        if check and new != old:
            sys.exit(f"{file.relative_to(ROOT)} differs from the committed results: make tables")
        if new != old:
            file.write_text(new)


if __name__ == "__main__":
    main()
