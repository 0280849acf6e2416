"""Kinds of files that a report reads: the fields that it uses, and their types. Files may hold more."""

from typing import Any, Literal, NotRequired, TypedDict


class MetaData(TypedDict):
    """What an agent's file says of itself."""

    method: NotRequired[str | None]
    seed: NotRequired[int | None]
    steps: NotRequired[int]


class ThreatData(TypedDict):
    norm: NotRequired[str]
    units: NotRequired[str]
    radii: NotRequired[list[float] | None]


class SelectData(TypedDict):
    mean: float


class MovedData(TypedDict):
    mean: list[float]
    size: list[float]


class RowData(TypedDict):
    mean: float
    std: float
    interval: tuple[float, float]
    episodes: int
    eps: float
    select: NotRequired[SelectData | None]
    mean_discounted: NotRequired[float]
    returns: NotRequired[list[float]]
    moved: NotRequired[MovedData | None]


class PointData(TypedDict):
    attacks: dict[str, RowData]


class FlagData(TypedDict):
    flag: str
    text: str
    attack: NotRequired[str]
    eps: NotRequired[float]


class SuiteData(TypedDict):
    name: str
    changes: NotRequired[list[Any]]


class ResultData(TypedDict):
    """What audits and estimates have in common."""

    agent: NotRequired[str]
    env: NotRequired[str]
    meta: NotRequired[MetaData]
    norm: NotRequired[str]
    threat: NotRequired[ThreatData | None]
    agent_sha256: NotRequired[str | None]
    command: NotRequired[str | None]
    versions: NotRequired[dict[str, Any]]
    machine: NotRequired[dict[str, Any]]
    flags: NotRequired[list[FlagData]]


class AuditData(ResultData):
    attacks: dict[str, RowData]
    worst: str
    curve: NotRequired[list[PointData]]
    suite: NotRequired[SuiteData | None]
    dimensions: NotRequired[list[str] | None]


class AchievedData(TypedDict):
    achieved: float


class RadiusData(TypedDict):
    eps: float
    value: float
    start: AchievedData


class EstimateData(ResultData):
    radii: list[RadiusData]
    natural_measured: float


class SeriesData(TypedDict):
    label: str
    x: list[float]
    y: list[float | None]
    low: NotRequired[list[float | None]]
    high: NotRequired[list[float | None]]
    published: NotRequired[bool]
    x_low: NotRequired[list[float]]
    x_high: NotRequired[list[float]]
    names: NotRequired[list[str]]


class ChartData(TypedDict):
    name: str
    title: str
    about: str
    x: str
    y: str
    kind: Literal["lines", "points", "bars"]
    series: list[SeriesData]
    sources: list[str]
    categories: NotRequired[list[str]]
    diagonal: NotRequired[bool]


class PlanRow(TypedDict):
    method: str
    env: str
    variant: str


class MissingRow(PlanRow):
    why: str


class PlanTask(TypedDict):
    folder: str
    title: str
    row: PlanRow | None


class PlanData(TypedDict):
    target: str
    scale: str
    about: str
    command: str
    labels: list[str]
    tasks: list[PlanTask]
    missing: list[MissingRow]


class ConfigData(TypedDict):
    method: str
    env: str
    seed: NotRequired[int | None]
    steps: NotRequired[int]


class RunData(TypedDict):
    config: ConfigData
    command: NotRequired[str]
    versions: NotRequired[dict[str, Any]]
    machine: NotRequired[dict[str, Any]]


class CalibrationData(TypedDict):
    start_estimate: float
    start_achieved: float
    eps: NotRequired[float]
    norm: NotRequired[str]
    threat: NotRequired[ThreatData | None]


ClipData = TypedDict(
    "ClipData",
    {
        "env": NotRequired[str],
        "method": NotRequired[str],
        "attack": NotRequired[str],
        "eps": NotRequired[float],
        "steps": NotRequired[int],
        "return": NotRequired[float],
        "picture": NotRequired[str],
        "command": NotRequired[str],
    },
)


def series_fault(series: dict[str, Any], kind: str, categories: int) -> str:
    """What the types do not say: lists of one length, bars within their categories."""
    n = len(series["x"])
    lengths = {name: len(series.get(name, ())) for name in ("y", "low", "high", "x_low", "x_high", "names")}
    for name, length in lengths.items():
        if length != n and (length or name == "y"):
            return f"{name} of series {series['label'][:40]!r} has {length} entries, not {n}"
    if bool(lengths["low"]) != bool(lengths["high"]) or bool(lengths["x_low"]) != bool(lengths["x_high"]):
        return f"series {series['label'][:40]!r} has one end of its intervals only"
    if categories and kind != "bars":
        return "only bars have categories"
    if kind == "bars" and not all(float(x).is_integer() and 0 <= x < categories for x in series["x"]):
        return f"series {series['label'][:40]!r} has bars outside the categories"
    return ""
