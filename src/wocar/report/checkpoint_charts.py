"""Looks at agents during training: return under each attack, and the estimated worst value beside the measured one."""

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


def during_charts(groups: Sequence[Group]) -> list[Chart]:
    """For each attack the return at every checkpoint that was audited; "worst" first."""
    seen = [g for g in groups if any(m.during for m in g.members)]
    audits = [audit for g in seen for m in g.members for audit in m.during]
    attacks = list(dict.fromkeys(attack for audit in audits for attack in audit.data["attacks"]))
    charts = []
    for attack in ["worst", *attacks] if len(attacks) > 1 else attacks:
        series = [line for g in seen if (line := _line(g, g.label, partial(_returns, attack=attack)))]
        env, label = groups[0].env, attack_label(attack)
        under = {"worst": "under the worst of the attacks", "none": "without attack"}.get(attack, f"under {label}")
        about = (
            f"{env}: return {under}, of agents as they were at checkpoints of their training. Median over seeds, the "
            "band from the lowest to the highest; attackers were trained anew at each point."
        )
        title = f"During training, {under}"
        charts.append(Chart(f"during-{env}-{attack}", title, about, X, "return", "lines", series, _commands(seen)))
    return charts


def worst_value_chart(groups: Sequence[Group]) -> Chart | None:
    """Over training, the worst-attack value that is estimated without an attacker, and what attacks left of it."""
    seen = [g for g in groups if any(m.estimates_during for m in g.members)]
    if not seen:
        return None
    series = []
    for g in seen:
        lines = _line(g, f"{g.label}: estimated", _estimates), _line(g, f"{g.label}: measured", _discounted)
        series += [line for line in lines if line]
    env = groups[0].env
    about = (
        f"{env}: discounted return from the starting states at checkpoints of training: the worst-attack value that "
        "`wocar estimate` finds without an attacker, and the lowest that an attack left. Median over seeds."
    )
    title, y = "Estimated and measured worst value", "discounted return"
    return Chart(f"worst-value-{env}", title, about, X, y, "lines", series, _commands(seen))


def _line(group: Group, label: str, curve: Callable[[Member], Curve]) -> Series | None:
    """Median over agents at each step where somebody was looked at."""
    curves = [found for m in group.members if (found := curve(m))]
    steps = sorted({step for found in curves for step in found})
    values = [[found[step] for found in curves if step in found] for step in steps]
    if not steps:
        return None
    middle, low, high = ([float(f(v)) for v in values] for f in (np.median, np.min, np.max))
    return Series(label, [float(step) for step in steps], middle, low, high)


def _returns(member: Member, attack: str) -> Curve:
    found = {}
    for audit in member.during:
        name = audit.data["worst"] if attack == "worst" else attack
        if name in audit.data["attacks"]:
            found[_steps(audit.data)] = audit.data["attacks"][name]["mean"]
    return found


def _discounted(member: Member) -> Curve:
    lowest = {}
    for audit in member.during:
        rows = [row for row in audit.data["attacks"].values() if row["eps"] > 0 and "mean_discounted" in row]
        if rows:
            lowest[_steps(audit.data)] = min(row["mean_discounted"] for row in rows)
    return lowest


def _estimates(member: Member) -> Curve:
    found = {}
    for estimated in member.estimates_during:
        rows = [row["value"] for row in estimated.data["radii"] if row["eps"] > 0]
        if rows:
            found[_steps(estimated.data)] = rows[0]
    return found


def _steps(data: dict[str, Any]) -> int:
    return int(data.get("meta", {}).get("steps", 0))


def _commands(groups: Sequence[Group]) -> list[str]:
    members = [m for g in groups for m in g.members]
    found = [str(audit.data.get("command") or audit.file) for m in members for audit in m.during]
    found += [str(estimated.data.get("command") or estimated.file) for m in members for estimated in m.estimates_during]
    return list(dict.fromkeys(found))
