"""Collection of a plan's finished audits into one folder, under names that say what they are."""

import re
import shutil
from pathlib import Path

from wocar.files import one_line_errors
from wocar.reproduce.commands import AuditTask
from wocar.reproduce.plan import Plan
from wocar.reproduce.tasks import TaskFolder


def collected_name(plan: Plan, task: AuditTask) -> str:
    """METHOD[-VARIANT]-TASK-sSEED of the row."""
    row = plan.rows[task.run.key]
    variant = re.sub(r"[^\w.]+", "-", row.variant.replace("preset=", ""))
    at = f"-at-{task.checkpoint}" if task.checkpoint else ""
    return "-".join(filter(None, (row.method, variant, row.env, f"s{task.run.seed}"))) + at


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
