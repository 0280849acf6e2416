"""Agents that several suites or `lookahead` attacked, side by side, in docs/audit.md; `--check`: has it drifted?

An agent is known by its digest, so that audits of one agent meet wherever they lie under results/.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from wocar.report.groups import method_label

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "results", ROOT / "docs" / "audit.md"
SUITES = ("mujoco-v1", "fast-v2", "mujoco-v2")
LOOKAHEAD = "lookahead"
MARKS = "<!-- suites -->\n", "<!-- /suites -->"
Audits = dict[str, dict[str, Any]]
"""Of one agent, by suite, or by the attack alone: of several the one with most episodes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check, old = parser.parse_args().check, PAGE.read_text()
    before, rest = old.split(MARKS[0])
    new = f"{before}{MARKS[0]}{table(RESULTS)}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"
    if check and new != old:
        sys.exit(f"{PAGE.relative_to(ROOT)} differs from the committed results: make tables")
    if new != old:
        PAGE.write_text(new)


def table(results: Path) -> str:
    rows = sorted((row(audits) for audits in agents(results).values()), key=lambda cells: cells[:2])
    lines = ["| task | agent | no attack | mujoco-v1 | fast-v2 | mujoco-v2 | lookahead | fast-v2 less the lowest |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    return "\n".join(lines + [f"| {' | '.join(cells)} |" for cells in rows])


def agents(results: Path) -> dict[str, Audits]:
    """Those with audits by mujoco-v2 or lookahead and by another suite, by digest."""
    found: dict[str, Audits] = {}
    for file in sorted(results.glob("**/*.json")):
        data = json.loads(file.read_text())
        if not isinstance(data, dict) or "attacks" not in data:
            continue
        suite = (data.get("suite") or {}).get("name")
        for name in (suite,) * (suite in SUITES) + (LOOKAHEAD,) * (LOOKAHEAD in data["attacks"]):
            audits = found.setdefault(data["agent_sha256"], {})
            audits[name] = max(audits.get(name, data), data, key=lambda audit: audit["attacks"]["none"]["episodes"])
    return {
        digest: audits for digest, audits in found.items() if {*audits} & {"mujoco-v2", LOOKAHEAD} and len(audits) > 1
    }


def attack_of(audits: Audits, name: str) -> tuple[str, dict[str, Any]]:
    """The worst attack of a suite's audit, or lookahead, with its row."""
    attack = LOOKAHEAD if name == LOOKAHEAD else audits[name]["worst"]
    return attack, audits[name]["attacks"][attack]


def row(audits: Audits) -> tuple[str, ...]:
    first = audits["fast-v2"] if "fast-v2" in audits else next(iter(audits.values()))
    natural = first["attacks"]["none"]["mean"]
    cells = (first["env"], label(first["meta"]), f"{natural:.0f}")
    cells = (*cells, *(cell(audits, name) for name in (*SUITES, LOOKAHEAD)))
    if "fast-v2" not in audits:
        return (*cells, "")
    means = {name: attack_of(audits, name)[1]["mean"] for name in audits}
    less = means["fast-v2"] - min(means.values())
    return (*cells, f"{less:.0f}, {less / natural:.0%}")


def label(meta: dict[str, Any]) -> str:
    if "source" in meta:
        return f"published `{Path(meta['source']).stem.removeprefix('model-')}`"
    return f"{method_label(meta['method'], '')}, seed {meta['seed']}"


def cell(audits: Audits, name: str) -> str:
    if name not in audits:
        return ""
    attack, found = attack_of(audits, name)
    return f"{found['mean']:.0f} ± {found['std']:.0f}" + ("" if name == LOOKAHEAD else f" ({attack})")


if __name__ == "__main__":
    main()
