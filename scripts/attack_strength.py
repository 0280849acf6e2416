"""Regret of each attack and each suite on tasks whose optimal attack is known: results/strength/strength.json, table.

What the file holds of other tasks and suites stays, so that a run may be done in parts.
The tasks have 16 and 64 states, so critics and attackers learn from a tenth of the steps that the suites give them.
"""

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wocar.agent import Agent
from wocar.api import train_for_audit
from wocar.envs.table_task import TableTask, go_home_task, random_task
from wocar.evaluation import attack_context, imitation_examples
from wocar.evaluation.attack_context import AttackContext
from wocar.evaluation.attack_registry import kind_of
from wocar.evaluation.audit import audit
from wocar.evaluation.audit_file import AuditFolder, Key
from wocar.evaluation.audit_result import CellResult
from wocar.evaluation.exact_attack import natural_value, optimal_value, regret, table_victim, value_under
from wocar.evaluation.suites import AuditPlan, suite_plan
from wocar.evaluation.worst_critic import fit_worst_value
from wocar.threat import Threat

SUITES = {True: ("mujoco-v2", "fast-v2", "fast-v1"), False: ("atari-v2", "fast-v2", "fast-v1")}
"""For continuous actions, for discrete ones."""
SEED = 1234
FEWER = {"ROLLOUT_STEPS": 6_144, "WORST_STEPS": 4_000}
EXPLORATIONS, EXPLORATION_STEPS, EXAMPLES = 4, 2_048, 4_096
"""Of worst critics, in the place of 10 and 16,384; examples of guided attackers, in the place of 32,768."""


class RememberedFolder(AuditFolder):
    """Knows where the attacker of an attack's settings is trained."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.places: dict[str, Path] = {}

    def read(self, key: Key) -> CellResult | None:
        self.folder({name: value for name, value in key.items() if name not in ("episodes", "episode_seed", "rows")})
        return super().read(key)

    def folder(self, key: Key) -> Path:
        return self.places.setdefault(_words(key["attack"], key["settings"]), super().folder(key))


def _words(name: str, settings: dict[str, Any]) -> str:
    return json.dumps([name, settings], sort_keys=True)


def tasks(seeds: list[int]) -> dict[str, tuple[TableTask, float]]:
    """Each task and its radius."""
    found = {f"RandomContinuous{s}": (random_task(s, True), 0.15) for s in seeds}
    found |= {f"RandomDiscrete{s}": (random_task(s, False), 0.15) for s in seeds}
    return found | {"GoHome": (go_home_task(), 0.05)}


def measure(name: str, task: TableTask, eps: float, suite: str, budget: int, out: Path) -> dict[str, Any]:
    """Exact values and the regret of every attack that the suite selected."""
    agent, threat = table_victim(task, name), Threat(eps)
    natural, optimal = natural_value(task, agent), optimal_value(task, agent, eps)
    context, folder = AttackContext(agent, SEED, train_for_audit), RememberedFolder(out / name)
    started = time.process_time()
    plan = lighter(suite_plan(suite, (threat,), budget, seed=SEED))
    found = audit(agent, plan, folder, train_for_audit)
    attacks: dict[str, dict[str, Any]] = {}
    for attack, cell in found["attacks"].items():
        if attack == "none":
            continue
        value = exact(task, agent, attack, threat, context, folder, cell["parameters"])
        attacks[attack] = {"value": value, "regret": regret(value, natural, optimal), "episodes": cell["mean"]}
    done = {"worst": found["worst"], "changes": list(plan.changes), "attacks": attacks}
    done |= {"cpu_seconds": round(time.process_time() - started)}
    return {"task": name, "eps": eps, "natural": natural, "optimal": optimal, "suites": {suite: done}}


def joined(rows: list[dict[str, Any]], more: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows, in the order of tasks, with a new suite in that of its task."""
    found = {row["task"]: row for row in rows}
    old = found.get(more["task"], {"suites": {}})["suites"]
    found[more["task"]] = {**more, "suites": {**old, **more["suites"]}}
    return [found[name] for name in sorted(found)]


def learn_from_less() -> None:
    """Fewer steps for the critics of small tasks."""
    for name, steps in FEWER.items():
        setattr(attack_context, name, steps)
    attack_context.fit_worst_value = partial(fit_worst_value, exploration_steps=EXPLORATION_STEPS)  # type: ignore
    imitation_examples.STATES = EXAMPLES  # type: ignore[misc]


def lighter(plan: AuditPlan) -> AuditPlan:
    """The plan with fewer explorations."""
    fewer = {"explorations": EXPLORATIONS, "guide": EXPLORATIONS}

    def changed(settings: dict[str, Any]) -> dict[str, Any]:
        return {key: fewer.get(key, value) if isinstance(value, int) else value for key, value in settings.items()}

    return replace(plan, attacks={name: list(map(changed, grid)) for name, grid in plan.attacks.items()})


def exact(
    task: TableTask,
    agent: Agent,
    attack: str,
    threat: Threat,
    context: AttackContext,
    folder: RememberedFolder,
    settings: dict[str, Any],
) -> float:
    """The victim's expected return under an attack with the settings that the audit selected."""
    place = folder.places.get(_words(attack, settings), folder.path)
    return value_under(task, agent, kind_of(attack).made(context, threat, place, settings).attack, threat)


def table(rows: list[dict[str, Any]]) -> str:
    """Mean and largest regret by kind of task: of the attack that each suite's audit names as worst, of the one that is
    strongest by exact value, and of each attack.
    """
    kinds = {"continuous": "RandomContinuous", "discrete": "RandomDiscrete", "go-home grid": "GoHome"}
    groups = {label: [r for r in rows if r["task"].startswith(start)] for label, start in kinds.items()}
    groups = {label: group for label, group in groups.items() if group}
    lines = [f"| regret: mean (largest) | {' | '.join(groups)} |", f"|---|{'---:|' * len(groups)}"]
    suites = {suite: None for r in rows for suite in r["suites"]}
    for suite in suites:
        for words, of in (("its worst by episodes", _selected), ("its strongest", _strongest)):
            found = [[of(r["suites"][suite]) for r in group if suite in r["suites"]] for group in groups.values()]
            lines.append(f"| **`{suite}`, {words}** | {' | '.join(map(_cell, found))} |")
    shown: set[str] = set()
    for suite in suites:
        for name in {n: None for r in rows for n in r["suites"].get(suite, {"attacks": {}})["attacks"]}:
            found = [
                [r["suites"][suite]["attacks"][name]["regret"] for r in group if name in _attacks(r, suite)]
                for group in groups.values()
            ]
            cells = list(map(_cell, found))
            line = f"| `{name}` | {' | '.join(cells)} |"
            if line not in shown:
                lines.append(line.replace(f"`{name}`", f"`{name}` of `{suite}`"))
            shown.add(line)
    return "\n".join(lines)


def _attacks(row: dict[str, Any], suite: str) -> dict[str, Any]:
    return row["suites"].get(suite, {"attacks": {}})["attacks"]


def _selected(suite: dict[str, Any]) -> float:
    """Episodes are noisy: where little can be lost, they may name an attack that is not the strongest."""
    return 1.0 if suite["worst"] == "none" else suite["attacks"][suite["worst"]]["regret"]


def _strongest(suite: dict[str, Any]) -> float:
    return min(attack["regret"] for attack in suite["attacks"].values())


def _cell(regrets: list[float]) -> str:
    mean, largest = (round(float(x), 4) + 0.0 for x in (np.mean(regrets), max(regrets))) if regrets else (0.0, 0.0)
    return f"{mean:.1%} ({largest:.1%})" if regrets else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--suites", nargs="+", help="of those that fit the actions; by default all")
    parser.add_argument("--budget-steps", type=int, default=40_000)
    parser.add_argument("--out", type=Path, default=Path("runs/strength"), help="audits and trained attackers")
    parser.add_argument("--results", type=Path, default=Path("results/strength"))
    options = parser.parse_args()
    learn_from_less()
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / "strength.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text())["rows"] if file.exists() else []
    for name, (task, eps) in tasks(options.seeds).items():
        if options.tasks and name not in options.tasks:
            continue
        for suite in SUITES[task.continuous]:
            if options.suites and suite not in options.suites:
                continue
            rows = joined(rows, measure(name, task, eps, suite, options.budget_steps, options.out))
            done = {"command": "scripts/attack_strength.py", "budget_steps": options.budget_steps, "rows": rows}
            file.write_text(json.dumps(done, indent=1) + "\n")
            print(table(rows), flush=True)


if __name__ == "__main__":
    main()
