"""wocar estimate AGENT [--eps X,Y] [--no-quick]"""

import shlex
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from wocar.api import estimate
from wocar.bounds import BoundMethod
from wocar.bounds.ball import Norm
from wocar.cli.estimate_display import EstimateDisplay
from wocar.cli.option_types import Maybe
from wocar.cli.options import check_folder, parse, radii, say, show
from wocar.evaluation.estimate import EstimateResult
from wocar.files import write_json
from wocar.threat import Units


@dataclass(frozen=True)
class EstimateOptions:
    agent: Annotated[Path, tyro.conf.Positional]
    """A run folder, an agent folder, or a file from elsewhere (Stable-Baselines3 zip, published .model)."""
    eps: Maybe[str] = None
    """Radius of the ball, or several with commas; by default that of the agent's training or of the paper."""
    norm: Maybe[Norm] = None
    """By default that of the agent's training, else linf."""
    units: Maybe[Units] = None
    """What eps is measured in: observations after the normaliser, or raw ones; by default as in training."""
    radii: Maybe[tuple[float, ...]] = None
    """For each dimension of the observation a factor of eps; 0 where the attacker cannot move it."""
    steps: int = 10_000
    """Steps of the policy's own rollouts."""
    sweeps: int = 400
    """Backups of the worst critic before and after each exploration."""
    explorations: int = 16
    """Explorations of the critic in the environment, from which it learns where its worst actions lead."""
    bounds: BoundMethod = "crown"
    """Bounds that find the actions an attacker can cause."""
    episodes: int = 50
    """Episodes whose starts are valued, and of the measured natural return."""
    seed: int = 1234
    """Seed of rollouts, explorations and episodes."""
    env: Maybe[str] = None
    """The environment's id, where the file does not hold it."""
    normaliser: Maybe[Path] = None
    """For a Stable-Baselines3 zip: the pickle of its VecNormalize."""
    json: Maybe[Path] = None
    """Also write the result here."""
    out: Maybe[Path] = None
    """Folder that keeps finished radii, so that a stopped estimate continues; by default in the run folder, or beside
    the JSON."""
    quick: bool = True
    """End the explorations of a radius once its value has settled; --no-quick takes all of them."""


def main(argv: list[str]) -> int:
    about = "Worst-attack value of a fixed policy from its own rollouts; no attacker is trained."
    options: EstimateOptions = parse(EstimateOptions, argv, "estimate", about)
    check_folder(options.json)
    folder, display = options.out or _default_folder(options), EstimateDisplay()
    try:
        result = _estimated(options, folder, display)
    except KeyboardInterrupt:
        again = shlex.join(["wocar", "estimate", *argv])
        raise KeyboardInterrupt(display.stopped(folder, again)) from None
    if options.json:
        write_json(options.json, result)
    _show(options, result)
    return 0


def _default_folder(options: EstimateOptions) -> Path | None:
    """In the run folder; where there is none, beside the JSON; else nothing is kept."""
    if isfile(options.agent / "run.json"):
        return options.agent / "estimates"
    return options.json.with_name(options.json.name.removesuffix(".json") + ".parts") if options.json else None


def _estimated(options: EstimateOptions, folder: Path | None, display: EstimateDisplay) -> EstimateResult:
    return estimate(
        options.agent,
        eps=radii(options.eps),
        norm=options.norm,
        units=options.units,
        radii=options.radii,
        steps=options.steps,
        sweeps=options.sweeps,
        explorations=options.explorations,
        bounds=options.bounds,
        episodes=options.episodes,
        seed=options.seed,
        env=options.env,
        normaliser=options.normaliser,
        on_radius=display.radius,
        on_progress=display.progress,
        out=folder,
        quick=options.quick,
    )


def _show(options: EstimateOptions, result: EstimateResult) -> None:
    table = Table(
        title=f"{options.agent}: discounted return from the start (measured {result['natural_measured']:.1f})"
    )
    for heading in ("eps", "worst-attack value", "gap", "relaxed attack", "estimate / achieved"):
        table.add_column(heading, justify="right")
    for row in result["radii"]:
        relaxed = row["relaxed_attack"]
        table.add_row(
            f"{row['eps']:g}",
            f"{row['value']:.1f}",
            f"{row['gap']:.1f}",
            f"{row['start']['achieved']:.1f}",
            f"{relaxed['ratio']:.2f}",
        )
    show(table)
    for flag in result.get("flags", []):
        say(f"flag {flag['flag']}: {flag['text']}")
