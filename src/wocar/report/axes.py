"""Axes of a chart: ranges and ticks."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from wocar.report.model import Chart, Number, Series

ROOM = 0.05
"""Space around the data, as a share of its extent."""


class Axis(NamedTuple):
    """[low, high] of the data to [start, end] of the picture."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round numbers inside, 1, 2 or 5 times a power of ten apart."""
        rough = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def tick_text(value: float) -> str:
    size = abs(value)
    for unit, letter in ((1e6, "M"), (1e4, "k")):
        if size >= unit:
            return f"{value / (1e3 if letter == 'k' else unit):g}{letter}"
    return f"{value:.6g}" if size > 1e-12 else "0"


def extent(values: Iterable[Number], with_zero: bool = False) -> tuple[float, float]:
    """Lowest and highest, with some room; never empty."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    known += [0.0] if with_zero or not known else []
    low, high = min(known), max(known)
    room = (high - low) * ROOM or max(abs(high), 1.0) * ROOM
    return low - (room if not with_zero or low < 0 else 0), high + (room if not with_zero or high > 0 else 0)


def extents(chart: Chart) -> tuple[tuple[float, float], tuple[float, float]]:
    """((x low, x high), (y low, y high)) that show everything."""
    bars = chart.kind == "bars"
    ys = extent([v for s in chart.series for v in (*s.y, *s.low, *s.high)], with_zero=bars)
    if bars:
        return (-0.5, len(chart.categories) - 0.5), ys
    if chart.kind == "lines":
        xs = [v for s in chart.series for v in s.x]
        low, high = (min(xs), max(xs)) if xs else (0.0, 1.0)
        return (low, high if high > low else low + 1), ys
    return extent([v for s in chart.series for v in (*s.x, *s.x_low, *s.x_high)]), ys


def intervals(series: Series) -> list[tuple[float, float] | None]:
    """(low, high) of each point, None where it has none."""
    pairs = list(zip(series.low, series.high, strict=True)) or [(None, None)] * len(series.y)
    return [None if low is None or high is None else (low, high) for low, high in pairs]
