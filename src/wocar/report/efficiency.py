"""Table of training time and steps, with the paper's numbers."""

from collections.abc import Sequence

import numpy as np

from wocar.report.groups import Group, training_commands
from wocar.report.labels import number
from wocar.report.model import PaperNumber, Table, TableCell

LABEL = "efficiency"


def efficiency_table(groups: Sequence[Group], published: Sequence[PaperNumber]) -> Table:
    """Hours and millions of steps of each method on each task, median over seeds."""
    rows = []
    for g in groups:
        runs = [m.run for m in g.members if m.run and m.run.hours and len(m.run.steps)]
        if not runs:
            continue
        hours = float(np.median([run.hours for run in runs if run.hours]))
        steps = float(np.median([run.data["config"].get("steps", 0) for run in runs]))
        paper = {p.attack: p.mean for p in published if (p.label, p.task, p.method) == (LABEL, g.task, g.method)}
        printed = {name: f"{paper[name]:g}" if name in paper and not g.variant else "" for name in ("hours", "steps")}
        rate = steps / hours / 3600
        rows.append(
            [
                TableCell(f"{g.label}, {g.env}"),
                TableCell(f"{hours:.2f}", hours, published=printed["hours"]),
                TableCell(f"{steps / 1e6:.3g}", steps / 1e6, published=printed["steps"]),
                TableCell(number(rate), rate),
                TableCell(str(len(runs)), len(runs)),
            ]
        )
    about = (
        "Median over seeds, from the first to the last line of a training's log, so without compilation; several "
        "trainings may have shared the machine. The paper's hours are of a GeForce 1080 Ti; "
        "its steps do not count those of an adversary's training."
    )
    headings = ["method", "hours", "million steps", "steps/s", "seeds"]
    return Table("efficiency", "Time and steps of training", about, headings, rows, training_commands(groups))
