"""Charts as SVG inside the page: one group per series, which the legend can hide; colours come from the page's CSS."""

from collections.abc import Sequence

from wocar.report.axes import Axis, extents, intervals, tick_text
from wocar.report.model import Chart, Series
from wocar.text import html_text as escape

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 46
COLOURS = 12
SHAPES = ("circle", "square", "triangle", "diamond", "down", "cross")
DASHES = ("", "7 3", "2 3", "9 3 2 3")
HUES = 4
"""So many colours differ for every eye; those after them have another dash, and shapes tell twelve apart."""
CROSS = ((-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1), (-3, -1), (-1, -1))
MARKED = 15
"""Lines with at most so many points have each of them marked."""


def svg(chart: Chart, styles: dict[str, int], id: str) -> str:
    """The chart with title and description for screen readers."""
    (x_low, x_high), (y_low, y_high) = extents(chart)
    x = Axis(x_low, x_high, LEFT, WIDTH - RIGHT)
    y = Axis(y_low, y_high, HEIGHT - BOTTOM, TOP)
    draw = {"lines": _line, "points": _points, "bars": _bar}[chart.kind]
    groups = []
    for i, series in enumerate(chart.series):
        marks = draw(series, x, y, styles[series.label], i, len(chart.series))
        kind = "series paper" if series.published else "series"
        groups.append(f'<g class="{kind} c{styles[series.label] % COLOURS}" data-series="{i}">{marks}</g>')
    inside = "".join([_axes(chart, x, y), _diagonal(x, y) if chart.diagonal else "", *groups])
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{id}-t {id}-d">'
        f'<title id="{id}-t">{escape(chart.title)}</title><desc id="{id}-d">{escape(chart.about)}</desc>{inside}</svg>'
    )


def swatch(style: int, series: Series, kind: str) -> str:
    """The symbol of a series in the legend."""
    paper = "paper " if series.published else ""
    inside = f'<path class="line" d="M1 7H23"{_dash(style, series.published)}/>' if kind == "lines" else ""
    inside += '<rect class="bar" x="5" y="2" width="14" height="10"/>' if kind == "bars" else _mark(12, 7, style)
    return f'<svg class="{paper}c{style % COLOURS}" viewBox="0 0 24 14" aria-hidden="true">{inside}</svg>'


def _axes(chart: Chart, x: Axis, y: Axis) -> str:
    parts = []
    for tick in y.ticks():
        at = _n(y(tick))
        parts.append(f'<path class="grid" d="M{LEFT} {at}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at}" dy=".32em" text-anchor="end">{tick_text(tick)}</text>')
    if chart.kind == "bars":
        parts += _category_names(chart.categories, x)
    else:
        for tick in x.ticks():
            parts.append(f'<path class="grid" d="M{_n(x(tick))} {TOP}V{HEIGHT - BOTTOM}"/>')
            parts.append(_text(x(tick), HEIGHT - BOTTOM + 16, tick_text(tick)))
    if y.low < 0 < y.high:
        parts.append(f'<path class="zero" d="M{LEFT} {_n(y(0))}H{WIDTH - RIGHT}"/>')
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, chart.x, "axis"))
    middle = _n((TOP + HEIGHT - BOTTOM) / 2)
    turned = f'transform="translate(13 {middle}) rotate(-90)" text-anchor="middle"'
    parts.append(f'<text class="axis" {turned}>{escape(chart.y)}</text>')
    return "".join(parts)


def _category_names(names: Sequence[str], x: Axis) -> list[str]:
    crowded = sum(map(len, names)) > 48
    parts = []
    for i, name in enumerate(names):
        at, down = _n(x(i)), HEIGHT - BOTTOM + 14
        turned = f' transform="rotate(-28 {at} {down})" text-anchor="end"' if crowded else ' text-anchor="middle"'
        parts.append(f'<text x="{at}" y="{down}"{turned}>{escape(name)}</text>')
    return parts


def _diagonal(x: Axis, y: Axis) -> str:
    low, high = max(x.low, y.low), min(x.high, y.high)
    if low >= high:
        return ""
    return f'<path class="zero" d="M{_n(x(low))} {_n(y(low))}L{_n(x(high))} {_n(y(high))}"/>'


def _line(series: Series, x: Axis, y: Axis, style: int, i: int, n: int) -> str:
    points = [None if v is None else (x(at), y(v)) for at, v in zip(series.x, series.y, strict=True)]
    pieces: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if point is None:
            pieces.append([])
        else:
            pieces[-1].append(point)
    bands = [(x(at), y(band[0]), y(band[1])) for at, band in zip(series.x, intervals(series), strict=True) if band]
    around = [(a, low) for a, low, _ in bands] + [(a, high) for a, _, high in reversed(bands)]
    out = [f'<path class="band" d="{_path(around)}Z"/>'] if around else []
    out += [f'<path class="line" d="{_path(piece)}"{_dash(style, series.published)}/>' for piece in pieces if piece]
    for k, point in enumerate(points):
        if point:
            mark = _mark(*point, style) if len(points) <= MARKED else _hit(*point)
            out.append(_titled(mark, series, k, at=True))
    return "".join(out)


def _points(series: Series, x: Axis, y: Axis, style: int, i: int, n: int) -> str:
    out = []
    for k, (at, value) in enumerate(zip(series.x, series.y, strict=True)):
        if value is None:
            continue
        band = intervals(series)[k]
        if band:
            out.append(f'<path class="whisker" d="M{_n(x(at))} {_n(y(band[0]))}V{_n(y(band[1]))}"/>')
        if series.x_low:
            ends = _n(x(series.x_low[k])), _n(x(series.x_high[k]))
            out.append(f'<path class="whisker" d="M{ends[0]} {_n(y(value))}H{ends[1]}"/>')
        out.append(_titled(_mark(x(at), y(value), style), series, k))
    return "".join(out)


def _bar(series: Series, x: Axis, y: Axis, style: int, i: int, n: int) -> str:
    room = x(1) - x(0)
    width = 0.8 * room / n
    out = []
    for k, (at, value) in enumerate(zip(series.x, series.y, strict=True)):
        if value is None:
            continue
        left = x(at) - 0.4 * room + i * width
        top, bottom = sorted((y(value), y(0)))
        size = f'x="{_n(left + 0.5)}" y="{_n(top)}" width="{_n(max(width - 1, 1))}" height="{_n(bottom - top)}"'
        out.append(_titled(f'<rect class="bar" {size}/>', series, k))
        band = intervals(series)[k]
        if band:
            out.append(f'<path class="whisker" d="M{_n(left + width / 2)} {_n(y(band[0]))}V{_n(y(band[1]))}"/>')
    return "".join(out)


def _mark(x: float, y: float, style: int) -> str:
    shape = SHAPES[(style + style // COLOURS) % len(SHAPES)]
    if shape == "circle":
        return f'<circle class="mark" cx="{_n(x)}" cy="{_n(y)}" r="4"/>'
    points = {
        "square": ((-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)),
        "triangle": ((0, -4.5), (4.5, 3.5), (-4.5, 3.5)),
        "diamond": ((0, -5), (5, 0), (0, 5), (-5, 0)),
        "down": ((0, 4.5), (4.5, -3.5), (-4.5, -3.5)),
        "cross": tuple((a * 5 / 3, b * 5 / 3) for a, b in CROSS),
    }[shape]
    return f'<path class="mark" d="{_path([(x + a, y + b) for a, b in points])}Z"/>'


def _hit(x: float, y: float) -> str:
    """An invisible mark: what a pointer meets on a line without marks."""
    return f'<circle class="hit" cx="{_n(x)}" cy="{_n(y)}" r="6"/>'


def _titled(mark: str, series: Series, k: int, at: bool = False) -> str:
    """A mark with its value, which the page shows under the pointer; on lines also where it is."""
    name = series.names[k] if series.names else series.label
    where = f" at {tick_text(series.x[k])}" if at else ""
    band = intervals(series)[k]
    around = f" ({band[0]:.5g} .. {band[1]:.5g})" if band else ""
    return f"<g><title>{escape(name)}{where}: {series.y[k]:.5g}{around}</title>{mark}</g>"


def _dash(style: int, published: bool) -> str:
    dash = "3 3" if published else DASHES[style // HUES % len(DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in points)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{_n(x)}" y="{_n(y)}" text-anchor="middle">{escape(text)}</text>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
