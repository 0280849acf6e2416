"""Charts as PNG, SVG and PDF files, drawn by matplotlib."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from wocar.report.axes import intervals
from wocar.report.model import Chart, Series
from wocar.text import file_name

FORMATS = ("png", "svg", "pdf")
MARKERS = ("o", "s", "^", "D", "v", "P")
MARKED = 15
"""Lines with at most so many points have each of them marked."""
PALETTE = (
    *("#0064a8", "#c04a00", "#00755a", "#a03a80", "#7a5c00", "#5b4bb0"),
    *("#b3243c", "#4a6070", "#2f7d1f", "#d0156c", "#007a8c", "#6b3a1e"),
)
"""The page's colours on a light background."""
FIXED: Any = {"svg.hashsalt": "wocar", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
"""Settings that make the same chart the same file."""

MISSING = "charts as files need matplotlib, which is not installed: pip install 'wocar[plots]'"


def can_plot() -> bool:
    return find_spec("matplotlib") is not None


def save_chart(chart: Chart, styles: dict[str, int], folder: Path) -> list[Path]:
    """Write the chart in each format, under its name."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(FIXED):
        figure, axes = plt.subplots(figsize=(5.2, 3.4), constrained_layout=True)
        draw = {"lines": _line, "points": _points, "bars": _bars}[chart.kind]
        for i, series in enumerate(chart.series):
            style = styles[series.label]
            draw(axes, series, PALETTE[style % len(PALETTE)], style, (i, len(chart.series)))
        if chart.kind == "bars":
            axes.set_xticks(range(len(chart.categories)), chart.categories, rotation=20)
        if chart.diagonal:
            axes.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
        axes.set(xlabel=chart.x, ylabel=chart.y, title=chart.title)
        axes.grid(alpha=0.25)
        if chart.series:
            axes.legend(fontsize=7, frameon=False)
        files = [folder / f"{file_name(chart.name)}.{kind}" for kind in FORMATS]
        for file in files:
            date = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[file.suffix[1:]]
            figure.savefig(file, dpi=160, metadata=date)
        plt.close(figure)
    return files


def _line(axes: Any, s: Series, colour: str, style: int, place: tuple[int, int]) -> None:
    y = np.array(s.y, float)
    marker = MARKERS[style % len(MARKERS)] if len(s.x) <= MARKED else None
    dash = (0, (3, 3)) if s.published else "-"
    face = "white" if s.published else colour
    axes.plot(s.x, y, label=s.label, color=colour, linestyle=dash, marker=marker, markersize=4, markerfacecolor=face)
    if s.low:
        axes.fill_between(s.x, np.array(s.low, float), np.array(s.high, float), color=colour, alpha=0.15, linewidth=0)


def _points(axes: Any, s: Series, colour: str, style: int, place: tuple[int, int]) -> None:
    face = "none" if s.published else colour
    x_errors = None if not s.x_low else _error_lengths(s.x, list(zip(s.x_low, s.x_high, strict=True)))
    y_errors = _error_lengths(s.y, intervals(s)) if s.low else None
    marker = {"marker": MARKERS[style % len(MARKERS)], "markerfacecolor": face, "markersize": 5, "linestyle": "none"}
    axes.errorbar(
        s.x, np.array(s.y, float), yerr=y_errors, xerr=x_errors, label=s.label, color=colour, linewidth=0.8, **marker
    )


def _bars(axes: Any, s: Series, colour: str, style: int, place: tuple[int, int]) -> None:
    i, n = place
    at = np.array(s.x, float) - 0.4 + 0.8 * (i + 0.5) / n
    look: dict[str, Any] = {"facecolor": "none" if s.published else colour, "edgecolor": colour}
    errors = _error_lengths(s.y, intervals(s)) if s.low else None
    axes.bar(at, np.array(s.y, float), 0.75 / n, yerr=errors, label=s.label, error_kw={"linewidth": 0.8}, **look)


def _error_lengths(middles: Sequence[float | None], ends: Sequence[tuple[float, float] | None]) -> np.ndarray:
    """Lengths below and above (2, n), zero where there is no interval."""
    pairs = [(0.0, 0.0) if m is None or e is None else (m - e[0], e[1] - m) for m, e in zip(middles, ends, strict=True)]
    return np.clip(np.array(pairs).T, 0, None)
