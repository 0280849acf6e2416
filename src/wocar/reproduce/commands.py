"""Kinds of tasks: training, audit, estimate and recording of an agent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wocar.evaluation.frozen_suites import BUDGET_STEPS, SUITES
from wocar.methods.registry import find_method
from wocar.reproduce import durations
from wocar.reproduce.tasks import Task

Setting = tuple[str, Any]


@dataclass(frozen=True)
class TrainTask(Task):
    method: str
    env: str
    seed: int
    steps: int
    checkpoint_every: int
    keep_checkpoints: bool
    preset: str = "paper"
    settings: tuple[Setting, ...] = ()
    """What departs from the preset."""
    first: "TrainTask | None" = None
    """The training whose agent it starts from."""

    kind = "train"
    result = "run/agent/agent.json"

    @property
    def run(self) -> str:
        """Folder of the run."""
        return f"{self.folder}/run"

    @property
    def title(self) -> str:
        return " ".join(["train", self.name])

    @property
    def name(self) -> str:
        """The agent, as the titles of other tasks call it."""
        words = " ".join([self.method, *self._own_options()])
        return f"{words} on {self.env}, {self.steps:,} steps, seed {self.seed}"

    @property
    def needs(self) -> tuple[Task, ...]:
        return (self.first,) if self.first else ()

    @property
    def seconds(self) -> float:
        return durations.train_seconds(find_method(self.method), self.env, self.steps)

    def words(self, out: str) -> list[str]:
        command = ["train", self.method, "--env", self.env, "--seed", str(self.seed), "--steps", str(self.steps)]
        command += self._own_options()
        command += ["--preset", "paper"] if self._hidden_preset else []
        command += ["--init-from", self.first.run] if self.first else []
        command += ["--checkpoint-every", str(self.checkpoint_every)]
        command += ["--keep-checkpoints"] if self.keep_checkpoints else []
        return [*command, "--threads", "1", "--resume", "--out", f"{out}/run"]

    @property
    def _hidden_preset(self) -> bool:
        """Whether the preset is the paper's, which titles leave out, and not the method's default."""
        return self.preset == "paper" != find_method(self.method).presets[0]

    def _own_options(self) -> list[str]:
        preset = ["--preset", self.preset] if self.preset != "paper" else []
        return options(dict(self.settings)) + preset


@dataclass(frozen=True)
class AuditSettings:
    """How agents are attacked: by a suite, or by attacks by name."""

    attacks: tuple[str, ...] = ()
    suite: str = ""
    budget_steps: int | None = None
    """Steps to train a learned attacker, in the place of the usual number."""

    @property
    def grids(self) -> dict[str, int]:
        """Attack to the number of its settings."""
        if self.suite:
            return {name: len(grid) for name, grid in SUITES[self.suite]["attacks"].items()}
        return dict.fromkeys(self.attacks, 1)

    @property
    def rungs(self) -> list[tuple[float, int]]:
        """Share of the training after which so many settings of a learned attacker are left."""
        return [(share, keep) for share, keep in SUITES[self.suite].get("rungs", ())] if self.suite else []

    @property
    def options(self) -> dict[str, Any]:
        chosen = {"suite": self.suite} if self.suite else {"attacks": ",".join(self.attacks)}
        return chosen | ({} if self.budget_steps is None else {"budget_steps": self.budget_steps})


@dataclass(frozen=True)
class AuditTask(Task):
    run: TrainTask
    how: AuditSettings
    radii: tuple[float, ...]
    episodes: int
    checkpoint: str = ""
    """Audit the agent as it was then."""

    kind = "audit"
    result = "audit.json"

    @property
    def title(self) -> str:
        return f"audit {self.run.name}{_at(self.checkpoint)}, eps {_numbers(self.radii)}"

    @property
    def needs(self) -> tuple[Task, ...]:
        return (self.run,)

    @property
    def seconds(self) -> float:
        budget = self.how.budget_steps or BUDGET_STEPS
        how, radii = self.how, len(self.radii)
        return durations.audit_seconds(how.grids, budget, self.episodes, radii, self.run.env, how.rungs)

    def words(self, out: str) -> list[str]:
        given = {**self.how.options, "eps": _numbers(self.radii), "episodes": self.episodes}
        files = {"json": f"{out}/audit.json", "out": f"{out}/parts"}
        return ["audit", _agent(self.run, self.checkpoint), *options(given | files)]


@dataclass(frozen=True)
class EstimateSettings:
    """Of `wocar estimate`; None: its default."""

    steps: int | None = None
    sweeps: int | None = None
    explorations: int | None = None


@dataclass(frozen=True)
class EstimateTask(Task):
    run: TrainTask
    how: EstimateSettings
    eps: float
    episodes: int
    checkpoint: str

    kind = "estimate"
    result = "estimate.json"

    @property
    def title(self) -> str:
        return f"estimate {self.run.name}{_at(self.checkpoint)}"

    @property
    def needs(self) -> tuple[Task, ...]:
        return (self.run,)

    @property
    def seconds(self) -> float:
        return durations.estimate_seconds(self.how.sweeps)

    def words(self, out: str) -> list[str]:
        chosen = {name: value for name, value in vars(self.how).items() if value is not None}
        given = {**chosen, "quick": False, "eps": _numbers([self.eps]), "episodes": self.episodes}
        given["json"] = f"{out}/estimate.json"
        return ["estimate", _agent(self.run, self.checkpoint), *options(given)]


@dataclass(frozen=True)
class RecordTask(Task):
    """States of high and of low importance, as pictures."""

    run: TrainTask

    kind = "record"
    result = "states.png"

    @property
    def title(self) -> str:
        return f"states {self.run.name}"

    @property
    def needs(self) -> tuple[Task, ...]:
        return (self.run,)

    @property
    def seconds(self) -> float:
        return 30.0

    def words(self, out: str) -> list[str]:
        return ["record", self.run.run, *options({"importance": True, "out": f"{out}/states.png"})]


def options(settings: Mapping[str, Any]) -> list[str]:
    """Settings as options of the command line."""
    words: list[str] = []
    for name, value in settings.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words += [f"--{option}", str(value)]
    return words


def _agent(run: TrainTask, checkpoint: str) -> str:
    return f"{run.run}/checkpoints/{checkpoint}" if checkpoint else run.run


def _at(checkpoint: str) -> str:
    return f", checkpoint {int(checkpoint)}" if checkpoint else ""


def _numbers(values: Iterable[float]) -> str:
    return ",".join(f"{value:.6g}" for value in values)
