"""Names of environments as people type them: without version, in any case."""

import re

import gymnasium

from wocar.envs import atari
from wocar.envs.mujoco.tasks import TASKS

PAPER_VERSION = "-v4"
"""MuJoCo's tasks in the version of the papers; of all others the newest."""


def full_id(name: str) -> str:
    """`hopper` to Hopper-v4, `Pong` to Pong-v5; a name that is complete or unknown stays as it is."""
    plain, mark, keywords = name.partition("?")
    if re.search(r"-v\d+$", plain) or ":" in plain or plain in gymnasium.registry:
        return name
    versions = {id: _version(id) for id in (*TASKS, *gymnasium.registry) if _name(id) == plain.lower()}
    paper = next((id for id in versions if id in TASKS and id.endswith(PAPER_VERSION)), None)
    newest = max(versions, key=versions.__getitem__, default=None)
    found = paper or _game(plain) or newest
    return f"{found}{mark}{keywords}" if found else name


def _name(id: str) -> str:
    return re.sub(r"-v\d+$", "", id).lower()


def _version(id: str) -> int:
    found = re.search(r"-v(\d+)$", id)
    return int(found[1]) if found else -1


def _game(name: str) -> str | None:
    """The id of an Atari game: `pong`, `BankHeist` or `bank_heist`."""
    for spelled in (name, "".join(part[:1].upper() + part[1:] for part in re.split(r"[_ ]", name))):
        if atari.parse(f"{spelled}-v5"):
            return f"{spelled}-v5"
    return None
