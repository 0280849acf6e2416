"""Sources of a report: run folders, audits, estimates, charts and recordings found below given paths."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from os.path import exists, isdir, isfile, realpath
from pathlib import Path
from typing import Any

import numpy as np

from wocar.files import named_path, read_json
from wocar.metrics_file import read_metrics, spent_seconds
from wocar.report.clips import read_clip
from wocar.report.kinds import AuditData, CalibrationData, EstimateData, PlanData, RunData
from wocar.report.model import Chart
from wocar.schema import fault
from wocar.types import UserError

NOT_ENTERED = {"agent", "audits", "checkpoints", "tensorboard", "parts", "figures", "tables", ".cache"}
"""Folders without results of agents; attackers are trained in `audits` and `parts`."""
CLIPS = (".gif", ".mp4", ".png")
CURVE_POINTS = 80
MOST_RADII = 100
"""In one audit."""
DEEPEST = 128
"""Parts of a path that is shown."""


@dataclass(frozen=True)
class ReproducePlan:
    """A plan of `wocar reproduce`: a table or figure of the paper, and the state of its tasks."""

    path: Path
    target: str
    scale: str
    about: str
    labels: tuple[str, ...]
    """Of the paper's tables and figures that are compared with it."""
    command: str
    missing: list[dict[str, str]]
    """Rows (method, env, variant) that cannot be made, and why."""
    failed: dict[str, str]
    """Title of a failed task to the reason."""
    waiting: int
    """Tasks that are neither done nor failed."""
    asked: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Row (task, method, variant) to the number of its trainings."""


@dataclass(frozen=True)
class Run:
    path: Path
    data: dict[str, Any]
    """The file run.json."""
    steps: np.ndarray
    returns: np.ndarray
    """Mean return of the episodes that ended around these training steps."""
    hours: float | None
    calibration: dict[str, Any] | None = None
    row: tuple[str, str] | None = None
    """Method and variant in the plan that trained it."""

    @property
    def config(self) -> dict[str, Any]:
        return self.data["config"]


@dataclass(frozen=True)
class ResultFile:
    file: Path
    data: dict[str, Any]

    @property
    def command(self) -> str:
        """The command that made it, or the file's name where none is recorded."""
        return str(self.data.get("command") or self.file)

    @cached_property
    def agent(self) -> Path | None:
        """Where its agent is, or was: the file says it from the folder in which the command was run."""
        if not (name := self.data.get("agent")):
            return None
        places = [named_path(folder, name) for folder in self.file.resolve().parents]
        return next((place for place in places if place and exists(place)), named_path(Path(), name))


@dataclass(frozen=True)
class AuditFile(ResultFile):
    calibration: dict[str, Any] | None = None


@dataclass(frozen=True)
class EstimateFile(ResultFile):
    pass


@dataclass
class Sources:
    runs: list[Run] = field(default_factory=list)
    audits: list[AuditFile] = field(default_factory=list)
    estimates: list[EstimateFile] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    clips: list[Path] = field(default_factory=list)
    plans: list[ReproducePlan] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Files that could not be read."""

    @property
    def empty(self) -> bool:
        return not (self.runs or self.audits or self.estimates or self.charts or self.clips)


def collect(paths: Iterable[Path]) -> Sources:
    """Everything that a report can show below the paths; each file once."""
    paths = list(paths)
    found = _Collector({Path(realpath(path)) for path in paths})
    for path in paths:
        if isdir(path):
            found.folder(path)
        elif isfile(path):
            found.file(path, asked=True)
        else:
            raise UserError(f"there is no {path}")
    if found.sources.empty:
        raise UserError("nothing to report: no run folder, audit, estimate, chart or recording in the paths given")
    return found.sources


class _Collector:
    def __init__(self, roots: set[Path]) -> None:
        self.sources, self.roots = Sources(), roots
        """Nothing is shown that lies elsewhere, where links lead."""
        self.seen: set[Path] = set()
        self.rows: dict[Path, tuple[str, str]] = {}
        """Run folder to its method and variant in a plan."""

    def new(self, path: Path) -> bool:
        """Whether it lies where it may and was not seen before."""
        place = Path(realpath(path))
        if place in self.seen:
            return False
        self.seen.add(place)
        if not any(place.is_relative_to(root) for root in self.roots):
            self.sources.notes.append(f"{path} is a link to elsewhere: it is left out, unless {place} is named too")
            return False
        if len(place.parts) > DEEPEST:
            self.sources.notes.append(f"{path} lies deeper than {DEEPEST} folders: it is left out")
        return len(place.parts) <= DEEPEST

    def folder(self, folder: Path) -> None:
        if not self.new(folder):
            return
        plan = read_object(folder / "plan.json") if isfile(folder / "plan.json") else None
        if plan and "reproduce" in plan:
            if self.good(folder / "plan.json", plan["reproduce"], PlanData):
                self.plan(folder, plan["reproduce"])
            return
        if isfile(folder / "run.json"):
            self.run(folder)
        for child in self.children(folder):
            if isdir(child):
                if child.name not in NOT_ENTERED and not child.name.endswith((".parts", ".partial")):
                    self.folder(child)
            elif child.suffix in (".json", *CLIPS):
                self.file(child)

    def children(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.iterdir())
        except OSError as error:
            self.sources.notes.append(f"{folder} cannot be read ({error.strerror}): it is left out")
            return []

    def plan(self, folder: Path, data: dict[str, Any]) -> None:
        """The results of a plan's finished tasks, and what failed or waits."""
        failed, waiting, beside = {}, 0, Path(realpath(folder)).parent
        rows = [(row["env"], row["method"], row["variant"]) for task in data["tasks"] if (row := task["row"])]
        for task in data["tasks"]:
            path = named_path(folder, task["folder"])
            if path is None or not Path(realpath(path)).is_relative_to(beside):
                self.sources.notes.append(f"{task['folder']} is not beside the plan {folder}: it is left out")
            elif isfile(path / "done.json"):
                if task["row"]:
                    self.rows.setdefault((path / "run").resolve(), (task["row"]["method"], task["row"]["variant"]))
                self.roots.add(Path(realpath(path)))
                self.folder(path)
            elif why := read_object(path / "failed.json"):
                failed[str(task["title"])] = str(why.get("why"))
            else:
                waiting += 1
        target, scale, about, command = (str(data[key]) for key in ("target", "scale", "about", "command"))
        labels = tuple(data["labels"])
        asked = dict(Counter(rows))
        plan = ReproducePlan(folder, target, scale, about, labels, command, data["missing"], failed, waiting, asked)
        self.sources.plans.append(plan)

    def good(self, file: Path, data: Any, kind: Any) -> bool:
        """Whether data are of a kind; a note says where they are not."""
        if problem := fault(data, kind):
            self.sources.notes.append(f"{file} is damaged ({problem}): it is left out")
        return not problem

    def run(self, folder: Path) -> None:
        run = read_run(folder)
        if run is None:
            self.sources.notes.append(f"{folder / 'run.json'} is damaged: the run is left out")
        else:
            self.sources.runs.append(replace(run, row=self.rows.get(folder.resolve())))

    def file(self, file: Path, asked: bool = False) -> None:
        """Read a file by its content; one of another kind is an error only where it was `asked` for by name."""
        if not self.new(file):
            return
        if file.suffix in CLIPS:
            return self.clip(file, asked)
        data = read_object(file)
        if data is None:
            self.sources.notes.append(f"{file} is damaged: it is left out")
        elif "attacks" in data and "worst" in data:
            self.audit(file, data)
        elif "radii" in data and "natural_measured" in data:
            if self.good(file, data, EstimateData):
                self.sources.estimates.append(EstimateFile(file, data))
        elif "chart" in data:
            self.chart(file, data)
        elif asked:
            raise UserError(f"{file} is neither an audit, nor an estimate, nor a chart")

    def clip(self, file: Path, asked: bool) -> None:
        if not isfile(file):
            self.sources.notes.append(f"{file} is not a regular file: it is left out")
        elif asked or file.suffix != ".png" or read_clip(file).about:
            self.sources.clips.append(file)

    def audit(self, file: Path, data: dict[str, Any]) -> None:
        if not self.good(file, data, AuditData):
            return
        if (radii := len(data.get("curve", ()))) > MOST_RADII:  # each has its table, of all agents
            self.sources.notes.append(f"{file} has {radii:,} radii, more than {MOST_RADII}: it is left out")
        else:
            calibration = _calibration(file.with_name(f"{file.stem}-calibration.json"))
            self.sources.audits.append(AuditFile(file, data, calibration))

    def chart(self, file: Path, data: dict[str, Any]) -> None:
        try:
            self.sources.charts.append(Chart.from_json(data))
        except UserError as error:
            self.sources.notes.append(f"{file}: {error}: it is left out")


def read_run(folder: Path) -> Run | None:
    """A run folder's configuration and training curve, also while it is still being written."""
    data = read_object(folder / "run.json")
    if data is None or fault(data, RunData):
        return None
    rows = read_metrics(folder / "metrics.jsonl")
    curve = [(row["steps"], row["return"]) for row in rows if "return" in row and "steps" in row]
    hours = spent_seconds(rows) / 3600 if len(rows) > 1 else None
    return Run(folder, data, *_thinned(curve), hours, _calibration(folder / "calibration.json"))


def read_object(file: Path) -> dict[str, Any] | None:
    """The JSON object in a file, or None where there is none."""
    try:
        data = read_json(file)
    except UserError:
        return None
    return data if isinstance(data, dict) else None


def _thinned(curve: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Means of neighbouring points: at most `CURVE_POINTS` of them."""
    pairs = np.array(curve, np.float64).reshape(-1, 2)
    parts = np.array_split(pairs, min(CURVE_POINTS, len(pairs)) or 1)
    means = np.array([part.mean(axis=0) for part in parts if len(part)]).reshape(-1, 2)
    return means[:, 0], means[:, 1]


def _calibration(file: Path) -> dict[str, Any] | None:
    data = read_object(file) if isfile(file) else None
    return data if data is not None and not fault(data, CalibrationData) else None
