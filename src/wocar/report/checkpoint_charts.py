"""Charts over checkpoints of training: return under each attack, estimated and measured worst value."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wocar.report.groups import Group, Member
from wocar.report.labels import attack_label
from wocar.report.model import Chart, Series

Curve = dict[int, float]
"""Steps of training to a number."""
X = "environment steps"


def checkpoint_charts(groups: Sequence[Group]) -> list[Chart]:
    """For each attack the return at every audited checkpoint; "worst" first."""
    audited = [g for g in groups if any(m.checkpoint_audits for m in g.members)]
    audits = [audit for g in audited for m in g.members for audit in m.checkpoint_audits]
    attacks = list(dict.fromkeys(attack for audit in audits for attack in audit.data["attacks"]))
    charts = []
    for attack in ["worst", *attacks] if len(attacks) > 1 else attacks:
        series = [line for g in audited if (line := _line(g, g.label, partial(_returns, attack=attack)))]
        env, label = groups[0].env, attack_label(attack)
        under = {"worst": "under the worst of the attacks", "none": "without attack"}.get(attack, f"under {label}")
        about = (
            f"{env}: return {under} at checkpoints of training. Median over seeds, the "
            "band from the lowest to the highest; learned attackers were trained for each checkpoint."
        )
        title = f"During training, {under}"
        charts.append(Chart(f"during-{env}-{attack}", title, about, X, "return", "lines", series, _commands(audited)))
    return charts


def worst_value_chart(groups: Sequence[Group]) -> Chart | None:
    """Worst-attack value over training: estimated without an attacker, and measured under attacks."""
    estimated = [g for g in groups if any(m.checkpoint_estimates for m in g.members)]
    if not estimated:
        return None
    series = []
    for g in estimated:
        lines = _line(g, f"{g.label}: estimated", _estimates), _line(g, f"{g.label}: measured", _discounted)
        series += [line for line in lines if line]
    env = groups[0].env
    about = (
        f"{env}: discounted return from the starting states at checkpoints of training: the worst-attack value that "
        "`wocar estimate` finds without an attacker, and the lowest under an attack. Median over seeds."
    )
    title, y = "Estimated and measured worst value", "discounted return"
    return Chart(f"worst-value-{env}", title, about, X, y, "lines", series, _commands(estimated))


def _line(group: Group, label: str, curve: Callable[[Member], Curve]) -> Series | None:
    """Median over agents at each step with a measured checkpoint."""
    curves = [found for m in group.members if (found := curve(m))]
    steps = sorted({step for found in curves for step in found})
    values = [[found[step] for found in curves if step in found] for step in steps]
    if not steps:
        return None
    middle, low, high = ([float(f(v)) for v in values] for f in (np.median, np.min, np.max))
    return Series(label, [float(step) for step in steps], middle, low, high)


def _returns(member: Member, attack: str) -> Curve:
    found = {}
    for audit in member.checkpoint_audits:
        name = audit.data["worst"] if attack == "worst" else attack
        if name in audit.data["attacks"]:
            found[_steps(audit.data)] = audit.data["attacks"][name]["mean"]
    return found


def _discounted(member: Member) -> Curve:
    lowest = {}
    for audit in member.checkpoint_audits:
        rows = [row for row in audit.data["attacks"].values() if row["eps"] > 0 and "mean_discounted" in row]
        if rows:
            lowest[_steps(audit.data)] = min(row["mean_discounted"] for row in rows)
    return lowest


def _estimates(member: Member) -> Curve:
    found = {}
    for estimated in member.checkpoint_estimates:
        rows = [row["value"] for row in estimated.data["radii"] if row["eps"] > 0]
        if rows:
            found[_steps(estimated.data)] = rows[0]
    return found


def _steps(data: dict[str, Any]) -> int:
    return int(data.get("meta", {}).get("steps", 0))


def _commands(groups: Sequence[Group]) -> list[str]:
    members = [m for g in groups for m in g.members]
    files = [file for m in members for file in m.checkpoint_audits]
    estimates = [file for m in members for file in m.checkpoint_estimates]
    return list(dict.fromkeys(file.command for file in (*files, *estimates)))
