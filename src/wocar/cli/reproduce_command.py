"""wocar reproduce TARGET [--scale smoke|small|paper] [--dry-run] [--out DIR] [--jobs N] [--ray ADDRESS] [--json F]"""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from wocar.cli import report_command, task_process
from wocar.cli.option_types import Maybe
from wocar.cli.options import check_folder, parse, say
from wocar.cli.plan_display import PlanDisplay, budget, listing
from wocar.files import one_line_errors, read_json, write_json
from wocar.report.plots import MISSING, can_plot
from wocar.reproduce.collect import collect, state
from wocar.reproduce.local_processes import LocalExecutor
from wocar.reproduce.plan import Plan
from wocar.reproduce.scales import SCALES
from wocar.reproduce.scheduler import Executor, Result, TaskOutcome, carry_out
from wocar.reproduce.targets import TARGETS, make_plan
from wocar.reproduce.tasks import TaskFolder
from wocar.types import UserError


@dataclass(frozen=True)
class ReproduceOptions:
    target: Annotated[str, tyro.conf.Positional]
    """A table or figure; `wocar reproduce` alone lists them."""
    scale: Literal["smoke", "small", "paper"] = "small"
    """smoke: seconds, a test; small: one evening on two cores; paper: as published."""
    dry_run: bool = False
    """Show the plan and how long it takes; run nothing."""
    out: Path = Path("runs/reproduce")
    """Folder of all plans: tasks in common are shared, and finished ones are not run again."""
    jobs: Maybe[int] = None
    """Tasks at a time; by default one for each core."""
    ray: Maybe[str] = None
    """Run on a Ray cluster: its address, or local."""
    envs: Maybe[str] = None
    """Only these environments, separated by commas."""
    methods: Maybe[str] = None
    """Only these methods, separated by commas."""
    seeds: Maybe[int] = None
    """Agents of each row, in the place of the scale's number."""
    collect: Maybe[Path] = None
    """Copy every audit to this folder as soon as it is done."""
    json: Maybe[Path] = None
    """Write what is asked for, what is done and the numbers of each row here, anew whenever an audit is done."""


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        listed = "\n".join(f"  {name:24} {target.about}" for name, target in TARGETS.items())
        print(
            f"usage: wocar reproduce TARGET [options]\n\n{listed}\n\nwocar reproduce TARGET --help shows the options."
        )
        return 0 if argv else 2
    about = "A table or figure of the paper: runs the trainings and audits that are not done yet, and draws the page."
    options: ReproduceOptions = parse(ReproduceOptions, argv, "reproduce", about)
    if options.jobs is not None and options.jobs <= 0:
        raise UserError(f"--jobs must be positive, not {options.jobs}")
    if options.ray and options.jobs and options.ray != "local":
        raise UserError("--jobs is for this machine: on a cluster Ray decides")
    envs, methods = (text.split(",") if text else None for text in (options.envs, options.methods))
    plan = make_plan(options.target, options.scale, envs, methods, options.seeds)
    if not plan.tasks and not plan.missing:
        raise UserError("nothing to do: no row of this target has the chosen --envs and --methods")
    jobs = options.jobs or os.cpu_count() or 1
    check_folder(options.json)
    if options.dry_run:
        print(listing(plan, options.out, jobs))
        print(budget(make_plan(options.target, scale, envs, methods, options.seeds) for scale in SCALES))
        if options.json:
            write_json(options.json, state(plan, options.out))
        return 0
    with one_line_errors("write", options.out):
        folder = plan.write(options.out, shlex.join(["wocar", "reproduce", *argv]))
    for missing in plan.missing:
        say(f"{missing.row.method} on {missing.row.env}: {missing.why}")
    with CollectingDisplay(plan, options) as display:
        result = carry_out(plan.tasks, options.out, _executor(options, plan, jobs), display)
    _draw(plan, folder, result)
    return _verdict(plan, result)


class CollectingDisplay(PlanDisplay):
    """Also copies finished audits and writes their numbers, those of earlier runs first."""

    def __init__(self, plan: Plan, options: ReproduceOptions) -> None:
        super().__init__(len(plan.tasks))
        self.plan, self.options = plan, options
        self.collect()

    def collect(self) -> None:
        if self.options.collect:
            collect(self.plan, self.options.out, self.options.collect)
        if self.options.json:
            write_json(self.options.json, state(self.plan, self.options.out))

    def ended(self, outcome: TaskOutcome, again: bool) -> None:
        super().ended(outcome, again)
        if outcome.kind == "done" and outcome.task.kind == "audit":
            self.collect()


def _executor(options: ReproduceOptions, plan: Plan, jobs: int) -> Executor:
    if options.ray is None:
        return LocalExecutor(options.out, jobs, plan.scale.tasks_each, task_process.__name__)
    from wocar.reproduce.ray_cluster import RayExecutor

    address = None if options.ray == "local" else options.ray
    return RayExecutor(options.out, address, options.jobs, plan.scale.tasks_each, task_process.run)


def _draw(plan: Plan, folder: Path, result: Result) -> None:
    """Draw the page, its tables and figures, unless they are up to date."""
    shown = {"done": sorted(task.key for task in result.done), "missing": [str(m) for m in plan.missing]}
    shown |= {"failed": sorted(result.failed), "labels": list(plan.labels)}
    drawn = folder / "drawn.json"
    if not result.done:
        say("no task is done: there is nothing to draw")
    elif drawn.is_file() and read_json(drawn) == shown and (folder / "report.html").is_file():
        print(f"{folder / 'report.html'} is up to date")
    else:
        report_command.main(draw_words(folder))
        write_json(drawn, shown)


def draw_words(folder: Path) -> list[str]:
    """The arguments of `wocar report` that draw a plan's page."""
    files = ["--out", folder / "report.html", "--tables", folder / "tables"]
    if can_plot():
        files += ["--figures", folder / "figures"]
    else:
        say(MISSING)
    return [str(word) for word in (folder, *files)]


def _verdict(plan: Plan, result: Result) -> int:
    for title, why in result.failed.items():
        say(f"failed: {title}: {why}")
    if result.failed:
        folders = {task.title: TaskFolder(Path(task.folder)).log for task in plan.tasks}
        log = folders[min(result.failed)]
        say(f"{len(result.failed)} failed, {len(result.left_out)} were skipped because of them; log: {log}")
    return 1 if result.failed else 0
