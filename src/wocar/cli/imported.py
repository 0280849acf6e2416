"""What was found beside an agent from elsewhere, said before work begins."""

from os.path import exists
from pathlib import Path

from wocar.cli.options import say
from wocar.interop import findings, is_foreign
from wocar.loading import load


def say_findings(agent: Path, env: str | None, normaliser: Path | None) -> None:
    """Which normaliser was found, or that there is none; nothing of our own agents."""
    if exists(agent) and is_foreign(agent):
        for line in findings(load(agent, env, normaliser)):
            say(line)
