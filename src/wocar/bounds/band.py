"""Bands between two lines."""

from typing import NamedTuple

from wocar.types import Array


class Line(NamedTuple):
    slope: Array
    offset: Array


class Band(NamedTuple):
    """|f(x) - center(x)| <= margin(x) for all x of an interval."""

    center: Line
    margin: Line


def between(below: Line, above: Line) -> Band:
    center = Line((below.slope + above.slope) / 2, (below.offset + above.offset) / 2)
    margin = Line((above.slope - below.slope) / 2, (above.offset - below.offset) / 2)
    return Band(center, margin)
