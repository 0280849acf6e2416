"""Folders of the RL Zoo and the Hugging Face hub: a zip, VecNormalize's pickle, and settings as YAML."""

import re
from os.path import isdir, isfile
from pathlib import Path
from typing import Any, NamedTuple

from wocar.files import read_regular
from wocar.interop.torch_files import Archive, is_zip, read_file
from wocar.types import UserError

MAX_YAML = 2**20
MAX_ZIPS = 64
# Of single lines, and each character has one place: a pattern over several lines takes hours on a file of empty ones.
LISTED_KEY, LISTED_VALUE = re.compile(r"\s*(?:- )?- - ([\w.-]+)\s*"), re.compile(r"\s+- (?:- )*(.*)")
PAIR = re.compile(r"([\w.-]+):[ \t](.*)")
SETTINGS = ("args.yml", "config.yml", "env_kwargs.yml")


class HubFolder(NamedTuple):
    zip: Path
    env: str | None
    env_kwargs: dict[str, Any]
    notes: list[str]
    """What the agent was trained with that is not applied here."""


def find_zip(folder: Path) -> Path | None:
    """The agent's zip in a folder; None where there is none, a UserError where there are several."""
    files = sorted(file for file in folder.glob("*.zip") if isfile(file))[:MAX_ZIPS]
    agents = [file for file in files if _is_agent(file)]
    if len(agents) > 1:
        raise UserError(f"{folder} holds several agents: name one of {', '.join(file.name for file in agents)}")
    return agents[0] if agents else None


def read_hub_folder(folder: Path, zip: Path) -> HubFolder:
    """The settings beside the zip, which the RL Zoo keeps in the folder or in one of the environment's id."""
    settings: dict[str, dict[str, Any]] = {}
    for name in SETTINGS:
        places = [place / name for place in (folder, *sorted(p for p in folder.iterdir() if isdir(p))[:MAX_ZIPS])]
        found = next((file for file in places if isfile(file)), None)
        settings[name] = yaml_pairs(read_regular(found, MAX_YAML).decode("utf-8", "replace")) if found else {}
    args, config, kwargs = (settings[name] for name in SETTINGS)
    notes = [
        f"it was trained with {name} {config[name]}, which is not applied here"
        for name in ("env_wrapper", "frame_stack")
        if config.get(name) not in (None, 1, "")
    ]
    env = args.get("env")
    return HubFolder(zip, env if isinstance(env, str) else None, kwargs, notes)


def yaml_pairs(text: str) -> dict[str, Any]:
    """Keys and plain values of a YAML mapping, or of the list of pairs that an ordered dict is written as.

    Nested values and tags are left out: nothing in the file is constructed.
    """
    lines = [line for line in text[:MAX_YAML].splitlines() if line.strip()]
    listed, rest = {}, iter(lines)
    for line in rest:
        if (key := LISTED_KEY.fullmatch(line)) and (value := LISTED_VALUE.fullmatch(next(rest, ""))):
            listed[key[1]] = value[1]
    found = listed or {pair[1]: pair[2] for pair in map(PAIR.fullmatch, lines) if pair}
    return {key: _scalar(value) for key, value in found.items()}


def _scalar(text: str) -> Any:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    words: dict[str, Any] = {"null": None, "~": None, "": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _is_agent(file: Path) -> bool:
    data = read_file(file)
    try:
        return is_zip(data) and {"data", "policy.pth"} <= Archive(data).names
    except Exception as error:
        raise UserError(f"cannot read {file}: {type(error).__name__}") from error
