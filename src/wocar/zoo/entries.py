"""Zoo entries: which agents there are, and what their audits say."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from wocar.agent import Agent, load_agent
from wocar.files import read_json
from wocar.text import did_you_mean
from wocar.types import UserError

PREFIX = "zoo:"
FORMAT, VERSION = "wocar-zoo", 1
AGENTS = Path(str(files("wocar.zoo"))) / "agents"
"""One folder per agent: TASK/NAME with agent.json, agent.safetensors, entry.json and card.md."""


@dataclass(frozen=True)
class ZooEntry:
    name: str
    """TASK/NAME, as after `zoo:`."""
    folder: Path
    data: dict[str, Any]
    """The file entry.json."""

    @property
    def natural(self) -> dict[str, Any]:
        return self.data["attacks"]["none"]

    @property
    def worst(self) -> dict[str, Any]:
        return self.data["attacks"][self.data["worst"]]

    def agent(self) -> Agent:
        return load_agent(self.folder)


def is_zoo_name(path: Path | str) -> bool:
    return str(path).startswith(PREFIX)


def entries(root: Path = AGENTS) -> list[ZooEntry]:
    """All agents of the zoo, by task, the best worst-case return first."""
    found = [read_entry(file.parent, root) for file in sorted(root.glob("*/*/entry.json"))]
    return sorted(found, key=lambda entry: (entry.data["env"], -entry.worst["mean"]))


def find_entry(name: Path | str, root: Path = AGENTS) -> ZooEntry:
    """The entry of a name, with or without `zoo:`."""
    plain = str(name).removeprefix(PREFIX)
    known = {entry.name: entry for entry in entries(root)}
    if plain not in known:
        close = did_you_mean(plain, known)
        raise UserError(f"no agent {plain!r} in the zoo{close}; agents: {', '.join(known) or 'none'}")
    return known[plain]


def read_entry(folder: Path, root: Path) -> ZooEntry:
    data = read_json(folder / "entry.json")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError(f"{folder / 'entry.json'} is not an entry of the zoo")
    if data.get("version") != VERSION:
        raise UserError(f"{folder} has zoo format {data.get('version')}, this wocar reads {VERSION}; update wocar")
    return ZooEntry(folder.relative_to(root).as_posix(), folder, data)
