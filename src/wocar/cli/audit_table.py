"""Table and verdict of an audit, for terminals of 80 columns and more."""

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.markup import escape as markup_escape
from rich.table import Table

from wocar.evaluation.audit_result import AuditPoint, AuditResult, AuditRow, flips_of, kept_share, points_of
from wocar.text import plain_text

Rows = list[tuple[str, AuditRow]]
LEAST_WIDTH = 80
DISPENSABLE = ("std", "episodes", "95 % interval")
"""Columns left out, in this order, where the table would be wider than the terminal."""


def table(title: str, rows: Rows, worst: Iterable[tuple[str, float]] = (), caption: str = "", width: int = 0) -> Table:
    """Rows of an audit; the worst of each radius stands out. Names are never wrapped."""
    columns, limit, found = _columns(rows), width or Console().width, set(worst)
    for name in ("", *DISPENSABLE):
        columns.pop(name, None)
        shown = _drawn(title, rows, columns, found, caption)
        if Console(width=1000).measure(shown).maximum <= max(limit, LEAST_WIDTH):
            break
    return shown


def verdict(point: AuditPoint) -> str:
    """The worst attack of a radius, its return and what it leaves of the natural one, in one line."""
    name, rows = point["worst"], point["attacks"]
    if name == "none":
        return f"no attack is worse than none: {rows['none']['mean']:.4g}"
    text, natural = f"worst: {name}, {_rounded(rows[name]['mean'])}", rows.get("none")
    if natural is None:
        return text
    share = kept_share(rows, rows[name])
    return f"{text} of {_rounded(natural['mean'])}" + ("" if share is None else f", {_percent(share)} kept")


def verdicts(result: AuditResult) -> list[str]:
    """One for each radius, which is named where there are several."""
    points = points_of(result)
    return [f"eps {point['eps']:g}: {verdict(point)}" if len(points) > 1 else verdict(point) for point in points]


def radius_text(result: AuditResult, source: str) -> str:
    """Radii with their units and where they come from."""
    rows = [row for point in points_of(result) for row in point["attacks"].values()]
    eps = list(dict.fromkeys(f"{row['eps']:g}" for row in rows if row["eps"] > 0))
    if not eps:
        return ""
    units = next(row["eps_units"] for row in rows if row["eps"] > 0)
    return f"eps {', '.join(eps)} in {units}{f'; {source}' if source else ''}"


def _columns(rows: Rows) -> dict[str, list[str]]:
    """Headings to cells, without those that say nothing or the same in every row."""
    natural = dict(rows)
    columns = {
        "mean": [f"{row['mean']:.1f}" for _, row in rows],
        "kept": [_percent(kept_share(natural, row)) for _, row in rows],
        "std": [f"{row['std']:.1f}" for _, row in rows],
        "95 % interval": [f"{row['interval'][0]:.1f} .. {row['interval'][1]:.1f}" for _, row in rows],
        "eps": [f"{row['eps']:g}" for _, row in rows],
        "episodes": [str(row["episodes"]) for _, row in rows],
        "flips": [flips_of(row) for _, row in rows],
    }
    if len({row["eps"] for _, row in rows} - {0.0}) < 2:
        del columns["eps"]
    return {heading: cells for heading, cells in columns.items() if any(cells) or heading == "mean"}


def _drawn(title: str, rows: Rows, columns: dict[str, list[str]], worst: set[tuple[str, float]], caption: str) -> Table:
    shown = Table(title=markup_escape(plain_text(title)), caption=markup_escape(plain_text(caption)), box=box.SIMPLE)
    shown.add_column("attack", no_wrap=True)
    for heading in columns:
        shown.add_column(heading, justify="right", no_wrap=True)
    for k, (name, row) in enumerate(rows):
        is_worst = (name, row["eps"]) in worst
        label = markup_escape(plain_text(f"{name} (worst)" if is_worst else name))
        shown.add_row(label, *(cells[k] for cells in columns.values()), style="bold" if is_worst else None)
    return shown


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _rounded(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
