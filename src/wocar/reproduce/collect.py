"""Collection of a plan's finished audits: into one folder, under names that say what they are, and into one matrix."""

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from wocar.files import one_line_errors
from wocar.report.kinds import AuditData
from wocar.report.matrix import AuditedAgent, MatrixRow, audited_agent, matrix_json
from wocar.report.sources import read_object
from wocar.reproduce.commands import AuditTask
from wocar.reproduce.plan import Plan, TableRow
from wocar.reproduce.tasks import TaskFolder
from wocar.schema import fault


def collected_name(plan: Plan, task: AuditTask) -> str:
    """METHOD[-VARIANT]-TASK-sSEED of the row."""
    row = plan.rows[task.run.key]
    at = f"-at-{task.checkpoint}" if task.checkpoint else ""
    return f"{row_name(row.method, row.variant)}-{row.env}-s{task.run.seed}{at}"


def row_name(method: str, variant: str) -> str:
    """METHOD[-VARIANT], in the names of files."""
    return "-".join(filter(None, (method, re.sub(r"[^\w.]+", "-", variant.replace("preset=", "")))))


def collect(plan: Plan, root: Path, folder: Path) -> int:
    """Copy the audits that are done, and the calibrations of their trainings; returns how many audits there are."""
    audits = [task for task in plan.tasks if isinstance(task, AuditTask) and TaskFolder(root / task.folder).done]
    with one_line_errors("write", folder):
        folder.mkdir(parents=True, exist_ok=True)
        for task in audits:
            name = collected_name(plan, task)
            shutil.copyfile(root / task.folder / task.result, folder / f"{name}.json")
            calibration = root / task.run.run / "calibration.json"
            if calibration.is_file() and not task.checkpoint:
                shutil.copyfile(calibration, folder / f"{name}-calibration.json")
    return len(audits)


def asked_seeds(plan: Plan) -> dict[TableRow, int]:
    """How many trainings each row of a plan has, in the plan's order."""
    return dict(Counter(plan.rows.values()))


def matrix_rows(plan: Plan, root: Path) -> list[MatrixRow]:
    """Every row of the plan with the audits that are done; audits of checkpoints do not count, nor damaged files."""
    agents: dict[TableRow, list[AuditedAgent]] = {}
    for task in plan.tasks:
        if isinstance(task, AuditTask) and not task.checkpoint and TaskFolder(root / task.folder).done:
            audit = read_object(root / task.folder / task.result)
            if audit is not None and not fault(audit, AuditData):
                agents.setdefault(plan.rows[task.run.key], []).append(audited_agent(audit))
    return [MatrixRow(r.env, r.method, r.variant, n, agents.get(r, [])) for r, n in asked_seeds(plan).items()]


def state(plan: Plan, root: Path) -> dict[str, Any]:
    """What is asked for, what is done, and the numbers of the rows, as `--json` writes it."""
    done = {task.key for task in plan.tasks if TaskFolder(root / task.folder).done}
    suites = {task.how.suite or ",".join(task.how.attacks) for task in plan.tasks if isinstance(task, AuditTask)}
    found: dict[str, Any] = {"target": plan.target, "scale": plan.scale.name, "about": plan.scale.about}
    found |= {"tasks": len(plan.tasks), "done": len(done), "attacks": sorted(suites)}
    found["hours left on two cores"] = round(plan.seconds(2, done) / 3600, 2)
    found["missing"] = [f"{m.row.method} on {m.row.env}: {m.why}" for m in plan.missing]
    return found | {"rows": matrix_json(matrix_rows(plan, root))}
