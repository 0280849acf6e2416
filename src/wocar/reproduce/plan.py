"""Plans: the trainings, audits and estimates of a table or figure, and the rows they belong to."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax

from wocar.envs import env_spec
from wocar.files import write_json
from wocar.methods.presets import default_config, make_algorithm
from wocar.methods.registry import find_method, known_method
from wocar.methods.tasks import table_radii
from wocar.reproduce.commands import AuditSettings, AuditTask, EstimateTask, RecordTask, TrainTask
from wocar.reproduce.scales import Scale, discrete, game
from wocar.reproduce.tasks import Task
from wocar.types import UserError

T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class TableRow:
    """The row of a table that a training belongs to: a method, perhaps with other settings, on a task."""

    method: str
    env: str
    variant: str = ""
    """As the paper's numbers are named: `setting=value`."""


@dataclass(frozen=True)
class Missing:
    """A row that cannot be produced, and why."""

    row: TableRow
    why: str


@dataclass
class Plan:
    """Tasks, each after those it needs."""

    target: str
    scale: Scale
    labels: tuple[str, ...]
    """Of the paper's tables and figures whose numbers are shown beside ours."""
    envs: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    seeds: int | None = None
    tasks: list[Task] = field(default_factory=list)
    rows: dict[str, TableRow] = field(default_factory=dict)
    """Key of a training to its row."""
    missing: list[Missing] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.target}-{self.scale.name}"

    def add(self, task: T) -> T:
        if task.key not in {known.key for known in self.tasks}:
            self.tasks.append(task)
        return task

    def seconds(self, jobs: int, done: Collection[str] = ()) -> float:
        """An estimate, with so many tasks at a time; those with the keys in `done` take none."""
        left = sum(task.seconds for task in self.tasks if task.key not in done)
        chain = max((task.seconds + sum(need.seconds for need in task.needs) for task in self.tasks), default=0.0)
        return max(left / jobs, min(left, chain))

    def wanted(self, row: TableRow) -> bool:
        """Whether a row is among the chosen environments and methods, by default the scale's."""
        methods = self.methods or self.scale.methods
        return (self.envs is None or row.env in self.envs) and (methods is None or row.method in methods)

    def agents(
        self,
        row: TableRow,
        settings: Mapping[str, Any] | None = None,
        method: str | None = None,
        steps: int | None = None,
        preset: str = "",
        seeds: Iterable[int] | None = None,
    ) -> list[TrainTask]:
        """A training for each seed, by `method` where that is not the row's own; empty where the row is missing.

        `preset`, `steps` and `seeds` are by default the scale's.
        """
        if not self.wanted(row):
            return []
        name = method or self.scale.trained_by(row.method)
        if why := lacking(name, row.env):
            self.missing += [] if any(m.row == row for m in self.missing) else [Missing(row, why)]
            return []
        usual = self.scale.atari_seeds if game(row.env) else self.scale.seeds
        chosen = steps or self.scale.train_steps(name, row.env, row.method)
        made = []
        for seed in range(self.seeds or usual) if seeds is None else seeds:
            task = self._training(name, row.env, seed, chosen, settings or {}, preset)
            self.rows[task.key] = row
            made.append(task)
        return made

    def _training(
        self, name: str, env: str, seed: int, steps: int, settings: Mapping[str, Any], preset: str = ""
    ) -> TrainTask:
        """The training of a method, after that of the agent it starts from."""
        method, first = find_method(name), None
        if method.starts_from:
            first = self._training(method.starts_from, env, seed, self.scale.train_steps(method.starts_from, env), {})
        usual = self.scale.game_preset if game(env) and self.scale.game_preset in method.presets else "paper"
        task = TrainTask(
            method=name,
            env=env,
            seed=seed,
            steps=steps,
            checkpoint_every=max(1, steps // self.scale.checkpoints),
            keep_checkpoints=not discrete(env),
            preset=preset or usual,
            settings=tuple(settings.items()),
            first=first,
        )
        return self.add(task)

    def audit(self, run: TrainTask, how: AuditSettings, radii: Iterable[float], checkpoint: str = "") -> AuditTask:
        """An audit of a training's agent, or of a checkpoint."""
        return self.add(AuditTask(run, how, tuple(radii), self.scale.episodes, checkpoint))

    def estimate(self, run: TrainTask, checkpoint: str) -> EstimateTask:
        eps = table_radii(run.env)[0]
        return self.add(EstimateTask(run, self.scale.estimate, eps, self.scale.episodes, checkpoint))

    def states(self, run: TrainTask) -> RecordTask:
        return self.add(RecordTask(run))

    def checkpoints(self, run: TrainTask) -> list[str]:
        """Names of the checkpoints that a training leaves."""
        preset = default_config(run.method, run.env, run.preset)
        config = dataclasses.replace(preset, steps=run.steps, checkpoint_every=run.checkpoint_every)
        ends = range(config.segment, config.iterations + config.segment, config.segment)
        return [f"{min(end, config.iterations):07d}" for end in ends]

    def write(self, root: Path, command: str) -> Path:
        """Write what `wocar report` reads: the plan's rows and the folders of its results."""
        folder = root / self.name
        folder.mkdir(parents=True, exist_ok=True)
        names = [
            {
                "folder": f"../{task.folder}",
                "kind": task.kind,
                "title": task.title,
                "row": dataclasses.asdict(self.rows[task.key]) if task.key in self.rows else None,
            }
            for task in self.tasks
        ]
        missing = [{**dataclasses.asdict(m.row), "why": m.why} for m in self.missing]
        about: dict[str, Any] = {"target": self.target, "scale": self.scale.name, "about": self.scale.about}
        about |= {"labels": self.labels, "command": command, "tasks": names, "missing": missing}
        write_json(folder / "plan.json", {"reproduce": about})
        return folder


@cache
def lacking(method: str, env: str) -> str:
    """Why a method cannot be trained on a task; empty where it can."""
    if known_method(method) is None:
        return "not available yet"
    if not game(env):
        return ""
    try:
        algorithm = make_algorithm(default_config(method, env, "paper"), spec := env_spec(env))
        eqx.filter_eval_shape(algorithm.init, spec, jax.random.key(0))
    except UserError as error:
        return f"not available yet on {env}: {error}"
    except jax.errors.JAXTypeError:
        return ""  # it takes the environment, but not an abstract key
    return ""
