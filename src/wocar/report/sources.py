"""What a report is made from: run folders, audits, estimates, charts and recordings, found below the paths given."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wocar.report.clips import read_clip
from wocar.report.model import Chart
from wocar.types import UserError

NOT_ENTERED = {"agent", "audits", "checkpoints", "tensorboard", "parts", "figures", "tables", ".cache"}
"""Folders that hold no results of their own; attackers are trained in `audits` and `parts`."""
CLIPS = (".gif", ".mp4", ".png")
CURVE_POINTS = 80


@dataclass(frozen=True)
class Reproduced:
    """A plan of `wocar reproduce`: a table or figure of the paper, and how far it has come."""

    path: Path
    target: str
    scale: str
    about: str
    labels: tuple[str, ...]
    """Of the paper's tables and figures that belong beside it."""
    command: str
    missing: list[dict[str, str]]
    """Rows (method, env, variant) that cannot be made, and why."""
    failed: dict[str, str]
    """Title of a task to why it failed."""
    waiting: int
    """Tasks that are neither done nor failed."""


@dataclass(frozen=True)
class Run:
    path: Path
    data: dict[str, Any]
    """The file run.json."""
    steps: np.ndarray
    returns: np.ndarray
    """Mean return of the episodes that ended around these steps of training."""
    hours: float | None
    calibration: dict[str, Any] | None = None
    row: tuple[str, str] | None = None
    """Method and variant that a plan trained it for."""

    @property
    def config(self) -> dict[str, Any]:
        return self.data["config"]


@dataclass(frozen=True)
class Audit:
    file: Path
    data: dict[str, Any]
    calibration: dict[str, Any] | None = None


@dataclass(frozen=True)
class Estimated:
    file: Path
    data: dict[str, Any]


@dataclass
class Sources:
    runs: list[Run] = field(default_factory=list)
    audits: list[Audit] = field(default_factory=list)
    estimates: list[Estimated] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    clips: list[Path] = field(default_factory=list)
    plans: list[Reproduced] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Files that could not be read."""

    @property
    def empty(self) -> bool:
        return not (self.runs or self.audits or self.estimates or self.charts or self.clips)


def collect(paths: Iterable[Path]) -> Sources:
    """Everything that a report can show below the paths; each file once."""
    found = _Collector()
    for path in paths:
        if path.is_dir():
            found.folder(path)
        elif path.is_file():
            found.file(path, asked=True)
        else:
            raise UserError(f"there is no {path}")
    if found.sources.empty:
        raise UserError("nothing to report: no run folder, audit, estimate, chart or recording in the paths given")
    return found.sources


class _Collector:
    def __init__(self) -> None:
        self.sources = Sources()
        self.seen: set[Path] = set()
        self.rows: dict[Path, tuple[str, str]] = {}
        """Run folder to what a plan trained it for."""

    def folder(self, folder: Path) -> None:
        if folder.resolve() in self.seen:
            return
        self.seen.add(folder.resolve())
        plan = read_object(folder / "plan.json") if (folder / "plan.json").is_file() else None
        if plan and isinstance(plan.get("reproduce"), dict):
            self.plan(folder, plan["reproduce"])
            return
        if (folder / "run.json").is_file():
            self.run(folder)
        for child in sorted(folder.iterdir()):
            if child.is_dir():
                if child.name not in NOT_ENTERED and not child.name.endswith((".parts", ".partial")):
                    self.folder(child)
            elif child.suffix in (".json", *CLIPS):
                self.file(child)

    def plan(self, folder: Path, data: dict[str, Any]) -> None:
        """The tasks of a plan, as far as they are done; what they are named here."""
        failed, waiting = {}, 0
        for task in data["tasks"]:
            path = folder / task["folder"]
            if (path / "done.json").is_file():
                if task["row"]:
                    self.rows.setdefault((path / "run").resolve(), (task["row"]["method"], task["row"]["variant"]))
                self.folder(path)
            elif why := read_object(path / "failed.json"):
                failed[str(task["title"])] = str(why.get("why"))
            else:
                waiting += 1
        target, scale, about, command = (str(data[key]) for key in ("target", "scale", "about", "command"))
        labels = tuple(data["labels"])
        plan = Reproduced(folder, target, scale, about, labels, command, data["missing"], failed, waiting)
        self.sources.plans.append(plan)

    def run(self, folder: Path) -> None:
        run = read_run(folder)
        if run is None:
            self.sources.notes.append(f"{folder / 'run.json'} is damaged: the run is left out")
        else:
            self.sources.runs.append(replace(run, row=self.rows.get(folder.resolve())))

    def file(self, file: Path, asked: bool = False) -> None:
        """Sort a file in; one that is none of ours is an error only where it was asked for by name."""
        if file.resolve() in self.seen:
            return
        self.seen.add(file.resolve())
        if file.suffix in CLIPS:
            if asked or file.suffix != ".png" or read_clip(file).about:
                self.sources.clips.append(file)
            return
        data = read_object(file)
        if data is not None and "agent" in data:
            data["agent"] = _agent_path(file, str(data["agent"]))
        if data is None:
            self.sources.notes.append(f"{file} is damaged: it is left out")
        elif "attacks" in data and "worst" in data:
            self.sources.audits.append(Audit(file, data, _calibration(file.with_name(f"{file.stem}-calibration.json"))))
        elif "radii" in data and "natural_measured" in data:
            self.sources.estimates.append(Estimated(file, data))
        elif "chart" in data:
            self.chart(file, data)
        elif asked:
            raise UserError(f"{file} is neither an audit, nor an estimate, nor a chart")

    def chart(self, file: Path, data: dict[str, Any]) -> None:
        try:
            self.sources.charts.append(Chart.from_json(data))
        except (KeyError, TypeError):
            self.sources.notes.append(f"{file} is damaged: it is not a chart of this version")


def read_run(folder: Path) -> Run | None:
    """A run folder's configuration and training curve, also while it is still being written."""
    data = read_object(folder / "run.json")
    if data is None or not isinstance(data.get("config"), dict):
        return None
    rows = _metrics(folder / "metrics.jsonl")
    curve = [(row["steps"], row["return"]) for row in rows if row.get("return") is not None and "steps" in row]
    times = [row["time"] for row in rows if "time" in row]
    hours = (times[-1] - times[0]) / 3600 if len(times) > 1 else None
    return Run(folder, data, *_thinned(curve), hours, _calibration(folder / "calibration.json"))


def read_object(file: Path) -> dict[str, Any] | None:
    """The JSON object in a file, or None where there is none."""
    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _agent_path(file: Path, agent: str) -> str:
    """Where the agent of a result lies: what was written is relative to the folder its command was run in."""
    for folder in () if Path(agent).is_absolute() else file.resolve().parents:
        if (folder / agent).exists():
            return str(folder / agent)
    return agent


def _metrics(file: Path) -> list[dict[str, Any]]:
    rows = []
    for line in file.read_bytes().splitlines() if file.is_file() else ():
        try:
            rows.append(json.loads(line))
        except ValueError:  # the line that is being written
            break
    return rows


def _thinned(curve: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Means of neighbours, so that a long training is a few dozen points."""
    pairs = np.array(curve, np.float64).reshape(-1, 2)
    parts = np.array_split(pairs, min(CURVE_POINTS, len(pairs)) or 1)
    means = np.array([part.mean(axis=0) for part in parts if len(part)]).reshape(-1, 2)
    return means[:, 0], means[:, 1]


def _calibration(file: Path) -> dict[str, Any] | None:
    data = read_object(file) if file.is_file() else None
    return data if data is not None and {"start_estimate", "start_achieved"} <= data.keys() else None
