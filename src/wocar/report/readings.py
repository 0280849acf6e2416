"""Readings of a curve against eps: a slider that tells every method's return at one radius."""

from wocar.report.axes import Axis, extents, intervals
from wocar.report.labels import eps_text, number
from wocar.report.model import Chart
from wocar.report.svg import LEFT, RIGHT, WIDTH
from wocar.text import html_text as escape

AXIS = "eps"
"""The x axis of charts that have a slider."""


def readings_html(chart: Chart) -> str:
    """The slider stops at the radii that were audited or printed: nothing is interpolated."""
    stops = sorted({at for series in chart.series for at in series.x})
    ours = [series for series in chart.series if not series.published]
    if chart.x != AXIS or chart.kind != "lines" or len(stops) < 2 or not ours:
        return ""
    x = Axis(*extents(chart)[0], LEFT, WIDTH - RIGHT)
    rows = "".join(f'<li data-x="{x(stop):.1f}">{_reading(chart, stop)}</li>' for stop in stops)
    name = escape(f"Radius of {chart.title}", quote=True)
    first = max(i for i, stop in enumerate(stops) if any(stop in s.x for s in ours))
    return (
        f'<div class="readings" hidden><input type="range" min="0" max="{len(stops) - 1}" step="1" value="{first}" '
        f'aria-label="{name}"><output></output><ol hidden>{rows}</ol></div>'
    )


def _reading(chart: Chart, stop: float) -> str:
    told = []
    for series in chart.series:
        for at, y, band in zip(series.x, series.y, intervals(series), strict=True):
            if at == stop and y is not None:
                around = f" ({number(band[0])} .. {number(band[1])})" if band else ""
                told.append(f"{series.label} {number(y)}{around}")
    return escape(f"eps {eps_text(stop)}: " + "; ".join(told))
