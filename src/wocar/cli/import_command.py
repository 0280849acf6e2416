"""wocar import FILE --out DIR [--env ID] [--normaliser vecnormalize.pkl]"""

from dataclasses import dataclass
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Annotated

import tyro

from wocar.agent import FILES, Agent, load_agent
from wocar.cli.option_types import Maybe
from wocar.cli.options import parse, say
from wocar.envs import allow_import, env_spec
from wocar.files import atomic_directory
from wocar.interop import LoadedFile, findings, load_all
from wocar.types import UserError

ADVERSARY = "adversary"


@dataclass(frozen=True)
class ImportOptions:
    file: Annotated[Path, tyro.conf.Positional]
    """A Stable-Baselines3 zip or hub folder, or a published .model file. Nothing in it is executed."""
    out: Path
    """Folder for the agent; an adversary that comes with it goes into its subfolder `adversary`."""
    env: Maybe[str] = None
    """The environment's id, where the file does not tell it."""
    normaliser: Maybe[Path] = None
    """VecNormalize's pickle; by default the one beside the zip."""
    replace: bool = False
    """Write over another agent that the folder holds."""


def main(argv: list[str]) -> int:
    about = "An agent from a Stable-Baselines3 zip or a published .model file."
    options: ImportOptions = parse(ImportOptions, argv, "import", about)
    out = options.out
    if isfile(out) or (isdir(out) and not {p.name for p in out.iterdir()} <= FILES | {ADVERSARY}):
        raise UserError(f"{out} holds other files than an agent's; choose another folder")
    if not exists(options.file):
        raise UserError(f"there is no {options.file}")
    allow_import(options.env)
    found = load_all(options.file, options.env, options.normaliser, env_spec)
    if exists(out / "agent.json") and not options.replace and not _same(found.victim, out):
        raise UserError(f"{out} holds another agent; choose another folder, or --replace it")
    _write(found, out)
    agent = found.victim
    say(f"{agent.meta['method']} on {agent.spec.id} in {out}")
    for line in findings(agent):
        say(line)
    if found.adversary is not None:
        say(f"the adversary trained against it in {out / ADVERSARY}")
    return 0


def _same(agent: Agent, folder: Path) -> bool:
    try:
        return load_agent(folder).digest() == agent.digest()
    except UserError:
        return False


def _write(found: LoadedFile, out: Path) -> None:
    """Both agents, or none."""
    with atomic_directory(out) as folder:
        found.victim.write(folder)
        if found.adversary is not None:
            (folder / ADVERSARY).mkdir()
            found.adversary.write(folder / ADVERSARY)
