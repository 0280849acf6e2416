"""A plan: the trainings, audits and estimates behind a table or figure, and which of its rows each stands for."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from wocar.envs import env_spec
from wocar.files import write_json
from wocar.methods.presets import default_config, make_algorithm
from wocar.methods.registry import METHODS
from wocar.reproduce.durations import audit_seconds, estimate_seconds, train_seconds
from wocar.reproduce.scales import Scale, discrete, eps_of, game
from wocar.reproduce.tasks import Task
from wocar.types import UserError

WHERE_OUT = ("--out", "{out}/run")
FIRST = {"radial-dqn": "dqn"}
"""Methods that go on from an agent of another."""


@dataclass(frozen=True)
class TableRow:
    """What one training stands for in a table: a method, perhaps changed, on a task."""

    method: str
    env: str
    variant: str = ""
    """As the paper's numbers are named: `setting=value`."""


@dataclass(frozen=True)
class Missing:
    """A row that cannot be made, and why."""

    row: TableRow
    why: str


@dataclass
class Plan:
    """Tasks in an order in which each stands after those it needs."""

    target: str
    scale: Scale
    labels: tuple[str, ...]
    """Of the paper's tables and figures that are shown beside."""
    envs: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    seeds: int | None = None
    tasks: list[Task] = field(default_factory=list)
    rows: dict[str, TableRow] = field(default_factory=dict)
    """Key of a training to what it stands for here."""
    missing: list[Missing] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.target}-{self.scale.name}"

    def add(self, task: Task) -> Task:
        if task.key not in {known.key for known in self.tasks}:
            self.tasks.append(task)
        return task

    def wanted(self, row: TableRow) -> bool:
        """Whether a row is among those asked for, or where none was among the scale's."""
        methods = self.methods or self.scale.methods
        return (self.envs is None or row.env in self.envs) and (methods is None or row.method in methods)

    def agents(
        self, row: TableRow, words: Sequence[str] = (), method: str | None = None, steps: int | None = None
    ) -> list[Task]:
        """A training for each seed; `method` trains it where that is not the row's own. None where it is missing."""
        if not self.wanted(row):
            return []
        method = method or (self.scale.atla if row.method == "atla-ppo" else row.method)
        why = lacking(method, row.env)
        if why:
            self.missing += [] if any(m.row == row for m in self.missing) else [Missing(row, why)]
            return []
        usual = self.scale.atari_seeds if game(row.env) else self.scale.seeds
        made = []
        for seed in range(self.seeds or usual):
            needs = [self.add(train_task(self.scale, FIRST[method], row.env, seed))] if method in FIRST else []
            task = self.add(train_task(self.scale, method, row.env, seed, steps, words, needs))
            self.rows[task.key] = row
            made.append(task)
        return made

    def audit(self, run: Task, words: Sequence[str], eps: Iterable[float], at: str = "") -> Task:
        """Of a training's agent, or as it was at a checkpoint."""
        radii = ",".join(f"{value:.6g}" for value in eps)
        agent = f"{{0}}/run/checkpoints/{at}" if at else "{0}/run"
        command = ("audit", agent, *words, "--eps", radii, "--episodes", str(self.scale.episodes))
        seconds = audit_seconds(words, self.scale.episodes, len(radii.split(",")), self.rows[run.key].env)
        title = f"audit {run.title.removeprefix('train ')}{f', checkpoint {int(at)}' if at else ''}, eps {radii}"
        files = ("--json", "{out}/audit.json", "--out", "{out}/parts")
        return self.add(Task("audit", title, (*command, *files), "audit.json", (run,), seconds))

    def estimate(self, run: Task, at: str) -> Task:
        eps = eps_of(self.rows[run.key].env)[0]
        words = ("estimate", f"{{0}}/run/checkpoints/{at}", *self.scale.estimate, "--eps", f"{eps:.6g}")
        files = ("--episodes", str(self.scale.episodes), "--json", "{out}/estimate.json")
        title = f"estimate {run.title.removeprefix('train ')}, checkpoint {int(at)}"
        return self.add(Task("estimate", title, (*words, *files), "estimate.json", (run,), estimate_seconds(words)))

    def states(self, run: Task) -> Task:
        words = ("record", "{0}/run", "--importance", "--out", "{out}/states.png")
        title = f"states {run.title.removeprefix('train ')}"
        return self.add(Task("record", title, words, "states.png", (run,), 30.0))

    def checkpoints(self, run: Task) -> list[str]:
        """Names of the checkpoints that a training leaves."""
        row, words = self.rows[run.key], list(run.words)
        steps, every = (int(words[words.index(name) + 1]) for name in ("--steps", "--checkpoint-every"))
        config = dataclasses.replace(default_config(words[1], row.env), steps=steps, checkpoint_every=every)
        ends = range(config.segment, config.iterations + config.segment, config.segment)
        return [f"{min(end, config.iterations):07d}" for end in ends]

    def write(self, root: Path, command: str) -> Path:
        """What `wocar report` reads: the plan's rows and where its results lie."""
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


def train_task(
    scale: Scale,
    method: str,
    env: str,
    seed: int,
    steps: int | None = None,
    words: Sequence[str] = (),
    needs: Sequence[Task] = (),
) -> Task:
    """A training; `needs` is the one whose agent it starts from."""
    steps = steps or scale.train_steps(method, env)
    every = max(1, steps // scale.checkpoints)
    keep = () if discrete(env) else ("--keep-checkpoints",)
    words = [*words, *(scale.dqn if method.endswith("dqn") and game(env) else ())]
    first = ["--init-from", "{0}/run"] if needs else []
    command = ["train", method, "--env", env, "--seed", str(seed), "--steps", str(steps), *words, *first]
    command += ["--checkpoint-every", str(every), *keep, "--threads", "1", "--resume", *WHERE_OUT]
    title = " ".join(["train", method, *words]) + f" on {env}, {steps:,} steps, seed {seed}"
    seconds = train_seconds(method, env, steps)
    return Task("train", title, tuple(command), "run/agent/agent.json", tuple(needs), seconds)


@cache
def lacking(method: str, env: str) -> str:
    """Why a method cannot be trained on a task; empty where it can."""
    if method not in METHODS:
        return "not available yet"
    if not game(env):
        return ""
    try:
        algorithm: Any = make_algorithm(default_config(method, env), spec := env_spec(env))
        eqx.filter_eval_shape(algorithm.init, spec, jax.random.key(0))
    except UserError as error:
        return f"not available yet on {env}: {error}"
    except jax.errors.JAXTypeError:
        return ""  # it takes the environment, but not an abstract key
    return ""


PlanBuilder = Callable[[Plan], None]
