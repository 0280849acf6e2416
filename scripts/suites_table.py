"""Agents that several suites attacked, side by side, in docs/audit.md; `--check` fails where the page has drifted.

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
MARKS = "<!-- suites -->\n", "<!-- /suites -->"
Audits = dict[str, dict[str, Any]]
"""Of one agent, by suite: of several by the same suite the one with most episodes."""


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
    lines = ["| task | agent | no attack | mujoco-v1 | fast-v2 | mujoco-v2 | fast-v2 less mujoco-v2 |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    return "\n".join(lines + [f"| {' | '.join(cells)} |" for cells in rows])


def agents(results: Path) -> dict[str, Audits]:
    """Those with audits by mujoco-v2 and another suite, by digest."""
    found: dict[str, Audits] = {}
    for file in sorted(results.glob("**/*.json")):
        data = json.loads(file.read_text())
        suite = (data.get("suite") or {}).get("name") if isinstance(data, dict) else None
        if suite in SUITES and "attacks" in data:
            audits = found.setdefault(data["agent_sha256"], {})
            audits[suite] = max(audits.get(suite, data), data, key=episodes)
    return {digest: audits for digest, audits in found.items() if "mujoco-v2" in audits and len(audits) > 1}


def episodes(audit: dict[str, Any]) -> int:
    return int(worst_row(audit)["episodes"])


def worst_row(audit: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = audit["attacks"][audit["worst"]]
    return found


def row(audits: Audits) -> tuple[str, ...]:
    last = audits["mujoco-v2"]
    natural = last["attacks"]["none"]["mean"]
    cells = (last["env"], label(last["meta"]), f"{natural:.0f}", *(cell(audits.get(suite)) for suite in SUITES))
    if "fast-v2" not in audits:
        return (*cells, "")
    less = worst_row(audits["fast-v2"])["mean"] - worst_row(last)["mean"]
    return (*cells, f"{less:.0f}, {less / natural:.0%}")


def label(meta: dict[str, Any]) -> str:
    if "source" in meta:
        return f"published `{Path(meta['source']).stem.removeprefix('model-')}`"
    return f"{method_label(meta['method'], '')}, seed {meta['seed']}"


def cell(audit: dict[str, Any] | None) -> str:
    if audit is None:
        return ""
    worst = worst_row(audit)
    return f"{worst['mean']:.0f} ± {worst['std']:.0f} ({audit['worst']})"


if __name__ == "__main__":
    main()
