"""wocar export AGENT --to sb3 | onnx --out FILE"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wocar.cli.imported import say_findings
from wocar.cli.option_types import Maybe
from wocar.cli.options import parse, say
from wocar.interop.export import ExportFormat
from wocar.loading import export


@dataclass(frozen=True)
class ExportOptions:
    agent: Annotated[Path, tyro.conf.Positional]
    """A run folder, an agent folder, or a file from elsewhere."""
    to: ExportFormat
    """sb3: a zip for Stable-Baselines3, with VecNormalize's statistics beside it. onnx: one file, the normaliser
    inside."""
    out: Path
    """The file to write."""
    env: Maybe[str] = None
    """The environment's id, where a file from elsewhere does not tell it."""
    normaliser: Maybe[Path] = None
    """For a Stable-Baselines3 zip: the pickle of its VecNormalize."""
    overwrite: bool = False
    """Replace files that exist."""


def main(argv: list[str]) -> int:
    about = "An agent for Stable-Baselines3 or as an ONNX file."
    options: ExportOptions = parse(ExportOptions, argv, "export", about)
    say_findings(options.agent, options.env, options.normaliser)
    done = export(
        options.agent,
        options.to,
        options.out,
        env=options.env,
        normaliser=options.normaliser,
        overwrite=options.overwrite,
    )
    for note in done.notes:
        say(note)
    for file in done.files:
        say(f"wrote {file}")
    return 0
