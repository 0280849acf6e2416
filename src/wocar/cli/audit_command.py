"""wocar audit AGENT [--suite NAME | --attacks a,b] [--eps X,Y] [--json FILE] [--fail-below X]"""

import math
import shlex
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import Annotated

import tyro
from rich.text import Text

from wocar.api import audit
from wocar.bounds.ball import Norm
from wocar.cli.audit_display import AuditDisplay
from wocar.cli.audit_table import radius_text, table, verdicts
from wocar.cli.fault_display import show_faults
from wocar.cli.imported import say_findings
from wocar.cli.option_types import Maybe
from wocar.cli.options import check_folder, parse, radii, say, show, words
from wocar.evaluation.audit_result import AuditResult, markdown, points_of, rows_of
from wocar.files import write_atomic, write_json
from wocar.threat import Units
from wocar.types import UserError


@dataclass(frozen=True)
class AuditOptions:
    agent: Annotated[Path, tyro.conf.Positional]
    """A run folder, an agent folder, or a file from elsewhere (Stable-Baselines3 zip, published .model)."""
    suite: Maybe[str] = None
    """A frozen set of attacks: fast-v2 (default), mujoco-v3, atari-v2, paper-v1; mujoco-v2, fast-v1, mujoco-v1,
    atari-v1."""
    attacks: Maybe[str] = None
    """Attacks by name, separated by commas, instead of a suite."""
    attackers: Maybe[str] = None
    """Folders of trained attackers to add, separated by commas."""
    eps: Maybe[str] = None
    """Radius of the ball around the observation, or several with commas, which give a curve; by default that of the
    agent's training or of the paper."""
    norm: Maybe[Norm] = None
    """By default that of the agent's training, else linf."""
    units: Maybe[Units] = None
    """What eps is measured in: observations after the normaliser, or raw ones; by default as in training."""
    radii: Maybe[tuple[float, ...]] = None
    """For each dimension of the observation a factor of eps; 0 where the attacker cannot move it."""
    sensors: Maybe[Path] = None
    """File of radii in the units of each sensor, as `wocar sensors` writes it."""
    episodes: Maybe[int] = None
    """Episodes reported for each attack; by default 50."""
    seed: int = 1234
    """Seed of the evaluation's environments, which are never those of training."""
    env: Maybe[str] = None
    """Another environment than the agent's own."""
    normaliser: Maybe[Path] = None
    """For a Stable-Baselines3 zip: the pickle of its VecNormalize."""
    max_steps: int = 10_000
    """Where the environment has no time limit, cut episodes here."""
    budget_steps: Maybe[int] = None
    """Steps to train each learned attacker, instead of the suite's number."""
    json: Maybe[Path] = None
    """Write the result here."""
    markdown: Maybe[Path] = None
    """Write the tables here."""
    out: Maybe[Path] = None
    """Folder that keeps finished parts and trained attackers, so that a killed audit continues; by default in the run
    folder, or beside the JSON."""
    fresh: bool = False
    """Run everything anew; do not use parts that the folder holds from before."""
    fail_below: Maybe[float] = None
    """Exit code 1 if the worst mean return is below this."""


def main(argv: list[str]) -> int:
    about = "Returns of an agent without attack and under attacks."
    options: AuditOptions = parse(AuditOptions, argv, "audit", about)
    if options.suite and options.attacks:
        raise UserError("--suite and --attacks exclude each other")
    check_folder(options.json, options.markdown)
    if options.fail_below is not None and math.isnan(options.fail_below):
        raise UserError("--fail-below must be a number, not nan")
    say_findings(options.agent, options.env, options.normaliser)
    folder, display = options.out or _default_folder(options), AuditDisplay(options.agent.name)
    try:
        result = _audited(options, folder, display)
    except KeyboardInterrupt:
        again = shlex.join(["wocar", "audit", *(word for word in argv if word != "--fresh")])
        raise KeyboardInterrupt(display.stopped(folder, again)) from None
    if options.json:
        write_json(options.json, result)
    if options.markdown:
        write_atomic(options.markdown, markdown(result).encode())
    _show(result, display.source)
    return _verdict(result, options.fail_below)


def _audited(options: AuditOptions, folder: Path | None, display: AuditDisplay) -> AuditResult:
    with display:
        return audit(
            options.agent,
            options.suite,
            words(options.attacks),
            attackers=words(options.attackers) or (),
            eps=radii(options.eps),
            norm=options.norm,
            units=options.units,
            radii=options.radii,
            sensors=options.sensors,
            episodes=options.episodes,
            seed=options.seed,
            env=options.env,
            normaliser=options.normaliser,
            max_steps=options.max_steps,
            budget_steps=options.budget_steps,
            out=folder,
            fresh=options.fresh,
            watch=display,
        )


def _default_folder(options: AuditOptions) -> Path | None:
    """In the run folder; where there is none, beside the JSON; else nothing is kept."""
    if isfile(options.agent / "run.json"):
        return options.agent / "audits"
    return options.json.with_name(options.json.name.removesuffix(".json") + ".parts") if options.json else None


def _show(result: AuditResult, source: str) -> None:
    points = points_of(result)
    rows = [item for point in points for item in rows_of(point)]
    worst = {(point["worst"], point["attacks"][point["worst"]]["eps"]) for point in points}
    suite = result["suite"]
    name = f", {suite['name']}{' (modified)' if suite['changes'] else ''}" if suite else ""
    method = result["meta"].get("method", "agent")
    show(table(f"{method} on {result['env']}{name}", rows, worst, radius_text(result, source)))
    show_faults(result)
    for attack, reason in result["skipped"].items():
        say(f"skipped {attack}: {reason}")
    for flag in result["flags"]:
        say(f"flag {flag['flag']}: {flag['text']}")
    for line in verdicts(result):
        show(Text(line, style="bold"))


def _verdict(result: AuditResult, fail_below: float | None) -> int:
    """1 where the worst attack at some radius leaves less than asked for."""
    points = points_of(result)
    lowest = min(point["attacks"][point["worst"]]["mean"] for point in points)
    if fail_below is None or lowest >= fail_below:
        return 0
    say(f"the worst mean return {lowest:.1f} is below {fail_below:g}")
    return 1
