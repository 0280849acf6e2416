"""Tables and charts as plain data; other modules draw them as page, picture or text."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from wocar.report.kinds import ChartData, series_fault
from wocar.schema import checked
from wocar.types import UserError

Number = float | None


class PaperNumber(NamedTuple):
    """One number of the paper, kept as printed."""

    label: str
    """Of its table or figure."""
    task: str
    method: str
    variant: str
    """The changed setting, as `setting=value`; empty for the unchanged method."""
    attack: str
    eps: float
    mean: float
    std: float
    """Over episodes; NaN where the paper prints none."""


@dataclass(frozen=True)
class Series:
    """One entry of a legend. Lines may carry a band, points and bars an interval."""

    label: str
    x: Sequence[float]
    y: Sequence[Number]
    low: Sequence[Number] = ()
    high: Sequence[Number] = ()
    published: bool = False
    """The paper's numbers: drawn dashed and hollow."""
    x_low: Sequence[float] = ()
    x_high: Sequence[float] = ()
    names: Sequence[str] = ()
    """A name for each point."""


@dataclass(frozen=True)
class Chart:
    """`bars` are grouped by `categories`, x being their index; `points` may have the diagonal drawn."""

    name: str
    title: str
    about: str
    """What the chart shows, in words: its caption, and its description for screen readers."""
    x: str
    y: str
    kind: Literal["lines", "points", "bars"]
    series: list[Series]
    sources: list[str]
    """Commands that made the numbers, or files where no command is known."""
    categories: Sequence[str] = ()
    diagonal: bool = False

    @property
    def labels(self) -> list[str]:
        return [series.label for series in self.series]

    def to_json(self) -> dict[str, Any]:
        """The content of a file that `wocar report` draws as this chart."""
        return {"chart": dataclasses.asdict(self)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> "Chart":
        """What `to_json` wrote; a UserError where it is not that."""
        fields = dict(checked(data["chart"], ChartData, "chart"))
        if unknown := fields.keys() - {field.name for field in dataclasses.fields(Chart)}:
            raise UserError(f"chart is damaged: it has {min(unknown)}")
        names = {field.name for field in dataclasses.fields(Series)}
        for series in fields["series"]:
            problem = series_fault(series, fields["kind"], len(fields.get("categories", ())))
            if problem or not series.keys() <= names:
                raise UserError(f"chart is damaged: {problem or 'a series has unknown fields'}")
        return Chart(**{**fields, "series": [Series(**series) for series in fields["series"]]})


@dataclass(frozen=True)
class TableCell:
    """`text` is shown; a column is sorted by `value`."""

    text: str
    value: Number = None
    note: str = ""
    """A second, smaller line: an interval."""
    published: str = ""
    """The paper's number for the same quantity."""
    worst: bool = False
    flags: Sequence[str] = ()
    """Reasons to trust this number less: `name: text`."""


@dataclass(frozen=True)
class Table:
    """The first column names the rows."""

    name: str
    title: str
    about: str
    headings: list[str]
    rows: list[list[TableCell]]
    sources: list[str]
