"""Charts of one task: training curves, natural against worst return, return against eps, ablations."""

import math
import re
from collections.abc import Sequence

import numpy as np

from wocar.report.groups import Group, audit_commands, method_label, training_commands
from wocar.report.labels import attack_label, radius_text, slug
from wocar.report.model import Chart, PaperNumber, Series
from wocar.report.radius import Radius
from wocar.report.tables import attacks_of, median_interval, paper_numbers

GRID = 80
PAPER, REPORTED = " (paper)", " (reported)"
SWEEP = "app:fig:weight"


def training_chart(groups: Sequence[Group]) -> Chart | None:
    """Return over training: median over seeds, band from the lowest to the highest seed."""
    series = []
    for group in groups:
        runs = [m.run for m in group.members if m.run and len(m.run.steps) > 1]
        if runs:
            grid = np.linspace(min(r.steps[0] for r in runs), max(r.steps[-1] for r in runs), GRID)
            curves = [np.interp(grid, r.steps, r.returns, left=np.nan, right=np.nan) for r in runs]
            values = np.ma.masked_invalid(np.array(curves))
            rows = (np.ma.median(values, axis=0), values.min(axis=0), values.max(axis=0))
            middle, low, high = (_plain(row) for row in rows)
            series.append(Series(group.label, grid.tolist(), middle, low, high))
    if not series:
        return None
    env = groups[0].env
    about = (
        f"Return during training on {env}, with exploration, and under attack where an adversary is trained too (ATLA, "
        "PA-ATLA; its steps count). Median over seeds; the band is "
        "from the lowest to the highest seed."
    )
    axes = ("environment steps", "return")
    return Chart(f"training-{env}", "Training", about, *axes, "lines", series, training_commands(groups))


def natural_worst_chart(groups: Sequence[Group], radius: Radius, published: Sequence[PaperNumber]) -> Chart:
    """Natural return (x) against worst return (y); the paper's numbers hollow."""
    series = []
    for group in groups:
        natural, worst = group.values("none", radius), group.values("worst", radius)
        if natural and worst:
            x, y = (median_interval(group, attack, radius) for attack in ("none", "worst"))
            series.append(Series(group.label, [x[0]], [y[0]], [y[1]], [y[2]], x_low=[x[1]], x_high=[x[2]]))
    series += _paper_points(groups[0].task, radius, published)
    env = groups[0].env
    about = (
        f"{env}, {radius_text(radius)}: each method's return without attack (x) and under its worst attack (y), "
        "median over seeds with 95 % intervals. Up and to the right is better. Hollow: the paper's numbers, whose "
        "worst attack may be one that was not run here."
    )
    name = f"natural-worst-{env}-{slug(radius)}"
    axes = ("natural return", "worst return")
    return Chart(name, "Natural against worst return", about, *axes, "points", series, audit_commands(groups))


def _paper_points(task: str, radius: Radius, published: Sequence[PaperNumber]) -> list[Series]:
    here = [p for p in published if p.task == task and not p.label.startswith("fig:") and radius.as_in_paper]
    series = []
    for method in dict.fromkeys(p.method for p in here):
        found = paper_numbers(here, task, method, "", radius)
        if "none" in found and len(found) > 1:
            worst = min(found.values(), key=lambda p: p.mean)
            names = [f"{method_label(method)}, {worst.label}, worst: {attack_label(worst.attack)}"]
            label = method_label(method) + PAPER
            series.append(Series(label, [found["none"].mean], [worst.mean], published=True, names=names))
    pairs: dict[str, dict[str, float]] = {}
    for p in here:
        if p.label == SWEEP and (p.eps == 0 or math.isclose(p.eps, radius.eps, rel_tol=1e-3)):
            pairs.setdefault(p.variant, {})[p.attack] = p.mean
    whole = {variant: pair for variant, pair in pairs.items() if {"none", "worst"} <= pair.keys()}
    if whole:
        x, y = ([pair[a] for pair in whole.values()] for a in ("none", "worst"))
        names = [f"{SWEEP}, {variant}" for variant in whole]
        series.append(Series("WocaR-PPO, kappa_wst sweep" + PAPER, x, y, published=True, names=names))
    return series


def eps_charts(groups: Sequence[Group], published: Sequence[PaperNumber]) -> list[Chart]:
    """Return against eps: under the worst attack, and under each attack audited at several radii."""
    radii = sorted({r for g in groups for m in g.members for r in m.radii()})
    charts = []
    for measure in dict.fromkeys(r.measure for r in radii):
        here = [r for r in radii if r.measure == measure]
        paper = published if here[0].as_in_paper else []
        attacks = list(dict.fromkeys(a for r in here for a in attacks_of(groups, r) if a != "none"))
        for attack in ["worst", *attacks]:
            series = [line for g in groups if (line := _eps_line(g, attack, here))]
            if series:
                series += _paper_lines(groups[0].task, attack, paper)
                charts.append(_eps_chart(groups, attack, measure, series))
    return charts


def _eps_line(group: Group, attack: str, radii: Sequence[Radius]) -> Series | None:
    audited = [r for r in radii if group.values(attack, r)]
    if len(audited) < 2:
        return None
    rows = [median_interval(group, attack, r) for r in audited]
    eps = [r.eps for r in audited]
    if group.values("none", None):
        rows, eps = [median_interval(group, "none", None), *rows], [0.0, *eps]
    y, low, high = zip(*rows, strict=True)
    return Series(group.label, eps, y, low, high)


def _eps_chart(groups: Sequence[Group], attack: str, measure: str, series: list[Series]) -> Chart:
    env = groups[0].env
    under = "each agent's worst attack at that radius" if attack == "worst" else attack_label(attack)
    about = f"{env}: return under {under} against eps ({measure}); median over seeds, 95 % intervals."
    about += " Dashed: the paper's." if any(s.published for s in series) else ""
    title = f"Return against eps: {attack_label(attack)}"
    name = re.sub(r"[^\w-]+", "-", f"eps-{env}-{attack}-{measure}")
    return Chart(name, title, about, "eps", "return", "lines", series, audit_commands(groups))


def _paper_lines(task: str, attack: str, published: Sequence[PaperNumber]) -> list[Series]:
    here = [p for p in published if p.label == "fig:eps" and p.task == task and attack in (p.attack, "worst", "none")]
    series = []
    for method in dict.fromkeys(p.method for p in here):
        lowest: dict[float, PaperNumber] = {}
        for p in here:
            if p.method == method and (p.eps not in lowest or p.mean < lowest[p.eps].mean):
                lowest[p.eps] = p
        rows = [lowest[eps] for eps in sorted(lowest)]
        label = method_label(method) + PAPER
        series.append(Series(label, [p.eps for p in rows], [p.mean for p in rows], published=True))
    return series


def ablation_charts(
    groups: Sequence[Group], radius: Radius, published: Sequence[PaperNumber], together: bool = False
) -> list[Chart]:
    """Bars for each method with several audited variants, or for all methods together; the paper's are hollow."""
    charts = []
    for method in ["all"] if together else dict.fromkeys(g.method for g in groups):
        variants = [g for g in groups if (together or g.method == method) and g.values("worst", radius)]
        if len(variants) < 2:
            continue
        attacks = [*attacks_of(variants, radius), "worst"]
        series = [_bars(g, attacks, radius) for g in variants]
        series += [bars for g in variants if (bars := _paper_bars(g, attacks, radius, published))]
        env = groups[0].env
        whose = "the methods" if together else method_label(method)
        about = (
            f"{env}, {radius_text(radius)}: return of variants of {whose}, named by the settings that "
            "differ from the most common ones; median over seeds, 95 % intervals. Hollow: the paper's."
        )
        name = f"ablation-{env}-{method}-{slug(radius)}"
        title = f"Variants of {whose}"
        names = list(map(attack_label, attacks))
        commands = audit_commands(variants)
        charts.append(Chart(name, title, about, "", "return", "bars", series, commands, categories=names))
    return charts


def _bars(group: Group, attacks: Sequence[str], radius: Radius) -> Series:
    at = [i for i, attack in enumerate(attacks) if group.values(attack, radius)]
    y, low, high = zip(*(median_interval(group, attacks[i], radius) for i in at), strict=True)
    return Series(group.label, at, y, low, high)


def _paper_bars(
    group: Group, attacks: Sequence[str], radius: Radius, published: Sequence[PaperNumber]
) -> Series | None:
    ablations = [p for p in published if p.label.startswith(("tab:", "app:fig:abl", "app:fig:reg"))]
    found = paper_numbers(ablations, group.task, group.method, group.variant, radius)
    if len(found) < 2:
        return None
    worst = min(found.values(), key=lambda p: p.mean)
    shown = {**found, "worst": worst}
    at = [i for i, attack in enumerate(attacks) if attack in shown]
    return Series(group.label + PAPER, at, [shown[attacks[i]].mean for i in at], published=True)


def _plain(row: np.ma.MaskedArray) -> list[float | None]:
    return [None if value is np.ma.masked else float(value) for value in row]
