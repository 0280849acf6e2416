"""Comparison of methods over seeds and tasks: normalised scores, statistics with stratified bootstrap intervals."""

from collections.abc import Sequence

import numpy as np

from wocar.evaluation.seed_statistics import (
    Estimate,
    Statistic,
    estimate,
    iqm,
    median,
    performance_profile,
    probability_of_improvement,
)
from wocar.report.groups import Group, audit_commands, environments
from wocar.report.labels import radius_text
from wocar.report.model import Chart, Series, Table, TableCell
from wocar.report.radius import Radius

Radii = dict[str, Radius | None]
"""Task to the radius at which its agents are compared."""
THRESHOLDS = np.linspace(0, 1.1, 111)


def normalised(groups: Sequence[Group], radii: Radii, attack: str) -> dict[str, dict[str, np.ndarray]]:
    """Method to task to scores: returns divided by the task's highest median natural return in the report."""
    best = {
        env: max(
            (float(np.median(v)) for g in groups if g.env == env and (v := g.values("none", radii[env]))), default=0.0
        )
        for env in environments(groups)
    }
    scores: dict[str, dict[str, np.ndarray]] = {}
    for g in groups:
        values = g.values(attack, radii[g.env])
        if values and best[g.env] > 0:
            scores.setdefault(g.label, {})[g.env] = np.array(values) / best[g.env]
    return scores


def complete(scores: dict[str, dict[str, np.ndarray]]) -> dict[str, list[np.ndarray]]:
    """The methods that were run on every task: only these can be compared over all tasks."""
    tasks = list(dict.fromkeys(task for row in scores.values() for task in row))
    return {label: [row[t] for t in tasks] for label, row in scores.items() if set(row) == set(tasks)}


def statistics_table(groups: Sequence[Group], radii: Radii) -> Table:
    """Median and interquartile mean over seeds and tasks, with stratified bootstrap intervals."""
    natural, worst = (complete(normalised(groups, radii, attack)) for attack in ("none", "worst"))
    rows = []
    for label in worst:
        cells = [TableCell(label)]
        for scores in (natural.get(label), worst[label]):
            cells += [_estimated(scores, statistic) for statistic in (median, iqm)]
        n = sum(len(runs) for runs in worst[label])
        rows.append([*cells, TableCell(str(n), n)])
    tasks = ", ".join(f"{env} at {radius_text(radii[env])}" for env in environments(groups))
    about = (
        "Scores are returns divided by the task's highest median natural return on this page. Median and "
        "interquartile mean (IQM) over the runs of all tasks, intervals of 95 % by bootstrap over seeds within each "
        f"task, none where a task has a single seed. Tasks: {tasks}. Methods that were not run on all of them are left "
        "out."
    )
    headings = ["method", "natural: median", "natural: IQM", "worst: median", "worst: IQM", "runs"]
    return Table("statistics", "Over seeds and tasks", about, headings, rows, audit_commands(groups))


def _estimated(scores: list[np.ndarray] | None, statistic: Statistic) -> TableCell:
    if not scores:
        return TableCell("")
    found = estimate(scores, statistic)
    return TableCell(f"{found.value:.2f}", found.value, _interval(found, scores))


def _interval(found: Estimate, *scores: list[np.ndarray]) -> str:
    """The interval as text; empty where a task has one seed, since the bootstrap resamples seeds."""
    if any(len(runs) < 2 for tasks in scores for runs in tasks):
        return ""
    return f"{found.low:.2f} .. {found.high:.2f}"


def improvement_table(groups: Sequence[Group], radii: Radii) -> Table:
    """For each pair of methods the probability that a run of one beats a run of the other under the worst attack."""
    scores = complete(normalised(groups, radii, "worst"))
    rows = []
    for ours, xs in scores.items():
        cells = [TableCell(ours)]
        for theirs, ys in scores.items():
            found = probability_of_improvement(xs, ys) if ours != theirs else None
            cells.append(
                TableCell(f"{found.value:.2f}", found.value, _interval(found, xs, ys)) if found else TableCell("-")
            )
        rows.append(cells)
    about = (
        "Probability that a run of the row's method has a higher return under its worst attack than a run of the "
        "column's on the same task, mean over tasks; ties count half; 95 % bootstrap intervals over seeds, none "
        "where a task has a single one."
    )
    headings = ["method", *(f"against {label}" for label in scores)]
    return Table("improvement", "Probability of improvement", about, headings, rows, audit_commands(groups))


def profile_chart(groups: Sequence[Group], radii: Radii) -> Chart:
    """Share of runs whose score under the worst attack is above each threshold."""
    series = []
    for label, scores in complete(normalised(groups, radii, "worst")).items():
        found = performance_profile(scores, THRESHOLDS)
        series.append(Series(label, *(x.tolist() for x in (THRESHOLDS, found.share, found.low, found.high))))
    about = (
        "Performance profile: for each score (return under the worst attack over the highest median natural return on "
        "the task) the share of runs, over all tasks, that score higher. Higher curves are better; bands are 95 % "
        "bootstrap intervals over seeds within each task."
    )
    title = "Share of runs above a score, worst attack"
    return Chart("profile", title, about, "score", "share of runs above", "lines", series, audit_commands(groups))
