"""What a report is made of: tables and charts as plain data, drawn elsewhere as page, picture or text."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Number = float | None


class PaperNumber(NamedTuple):
    """One number of the paper, kept as printed."""

    label: str
    """Of its table or figure."""
    task: str
    method: str
    variant: str
    """What was changed in the method, as `setting=value`; empty for the method as it is."""
    attack: str
    eps: float
    mean: float
    std: float
    """Over episodes; NaN where it is not printed."""


@dataclass(frozen=True)
class Series:
    """One entry of a legend. Lines may carry a band, points and bars an interval."""

    label: str
    x: Sequence[float]
    y: Sequence[Number]
    low: Sequence[Number] = ()
    high: Sequence[Number] = ()
    published: bool = False
    """Not ours: drawn dashed and hollow."""
    x_low: Sequence[float] = ()
    x_high: Sequence[float] = ()
    names: Sequence[str] = ()
    """A name for each point."""


@dataclass(frozen=True)
class Chart:
    """`bars` stand in groups named by `categories`, x counting them; `points` may have the diagonal drawn."""

    name: str
    title: str
    about: str
    """What is to be seen, for those who cannot see it and those who wonder."""
    x: str
    y: str
    kind: Literal["lines", "points", "bars"]
    series: list[Series]
    sources: list[str]
    """Commands, or files where no command is known, behind the numbers."""
    categories: Sequence[str] = ()
    diagonal: bool = False

    @property
    def labels(self) -> list[str]:
        return [series.label for series in self.series]

    def to_json(self) -> dict[str, Any]:
        """A file with this in it is found and drawn by `wocar report`."""
        return {"chart": dataclasses.asdict(self)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> "Chart":
        fields = dict(data["chart"])
        return Chart(**{**fields, "series": [Series(**series) for series in fields["series"]]})


@dataclass(frozen=True)
class TableCell:
    """`text` is shown, `value` is what a column is sorted by."""

    text: str
    value: Number = None
    note: str = ""
    """A second, smaller line: an interval."""
    published: str = ""
    """The paper's number for the same thing."""
    worst: bool = False


@dataclass(frozen=True)
class Table:
    """The first column names the rows."""

    name: str
    title: str
    about: str
    headings: list[str]
    rows: list[list[TableCell]]
    sources: list[str]
