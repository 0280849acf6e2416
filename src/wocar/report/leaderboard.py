"""Leaderboard entries: one JSON file per audited agent, checked when read.

`leaderboard/TASK/THREAT/NAME.json` holds numbers only, never weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wocar.evaluation.audit_summary import summarised, threat_text
from wocar.files import read_json
from wocar.types import UserError

FORMAT, VERSION = "wocar-leaderboard", 1
ORIGINS = ("ours", "published", "submitted")


@dataclass(frozen=True)
class LeaderboardEntry:
    name: str
    data: dict[str, Any]

    @property
    def env(self) -> str:
        return self.data["env"]

    @property
    def threat(self) -> str:
        return threat_text(self.data["threat"])

    @property
    def natural(self) -> dict[str, Any]:
        return self.data["natural"]

    @property
    def worst(self) -> dict[str, Any]:
        return self.data["worst"]

    @property
    def whole(self) -> bool:
        """Whether a named suite was run; else only some attacks, and the worst of them says less."""
        return self.data["suite"] is not None

    @property
    def path(self) -> Path:
        """Below the leaderboard's folder."""
        return Path(self.env, self.threat, f"{self.name}.json")


def make_entry(
    name: str,
    audits: Sequence[Any],
    origin: str = "ours",
    link: str = "",
    about: str = "",
    reported: dict[str, Any] | None = None,
    method: str | None = None,
) -> LeaderboardEntry:
    """The entry of one agent from one or several audits of it: the worst attack of all counts.

    `method` is given where the audit does not know it, as of agents from elsewhere.
    """
    found = [summarised(audit) for audit in audits]
    if not found:
        raise UserError("an entry needs at least one audit")
    if len({(one["agent_sha256"], one["env"], threat_text(one["threat"])) for one in found}) > 1:
        raise UserError(f"the audits of {name} differ in agent, task or threat")
    lowest = min(found, key=lambda one: one["attacks"][one["worst"]]["mean"])
    rows: dict[str, Any] = {}
    for one in found:
        for attack, row in one["attacks"].items():
            if attack not in rows or row["mean"] < rows[attack]["mean"]:
                rows[attack] = row
    first = max(found, key=lambda one: one["attacks"]["none"]["episodes"])
    rows["none"] = first["attacks"]["none"]
    attackers = {attack: digest for attack, row in rows.items() if (digest := _attacker(row))}
    data = {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "env": first["env"],
        "threat": first["threat"],
        "origin": origin,
        "method": method or first["method"],
        "seed": first["seed"],
        "steps": first["steps"],
        "about": about,
        "link": link,
        "agent_sha256": first["agent_sha256"],
        "natural": _numbers(first["attacks"]["none"]),
        "worst": {"attack": lowest["worst"], **_numbers(lowest["attacks"][lowest["worst"]])},
        "reported": reported,
        "suite": next((one["suite"] for one in [lowest, *found] if one["suite"]), None),
        "seeds": lowest["seeds"],
        "attacks": {attack: _numbers(row) for attack, row in rows.items()},
        "attackers": attackers,
        "flags": list(dict.fromkeys(flag for one in found for flag in one["flags"])),
        "audits": [{key: one[key] for key in ("suite", "seeds", "command", "commit")} for one in found],
    }
    return checked(data, name)


def read_leaderboard(folder: Path) -> list[LeaderboardEntry]:
    """All entries below a folder, by task and threat; those by a suite first, the best worst return first."""
    files = sorted(folder.glob("*/*/*.json"))
    if not files:
        raise UserError(f"no entries in {folder}: they are TASK/THREAT/NAME.json")
    found = []
    for file in files:
        entry = checked(read_json(file), str(file))
        if file != folder / entry.path:
            raise UserError(f"{file} belongs at {entry.path}")
        found.append(entry)
    return sorted(found, key=lambda e: (e.env, e.threat, not e.whole, -e.worst["mean"], e.name))


def checked(data: Any, where: str) -> LeaderboardEntry:
    """The entry, or a UserError that names the first field that does not fit."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError(f"{where} is not a leaderboard entry")
    if data.get("version") != VERSION:
        raise UserError(f"{where} has leaderboard format {data.get('version')}, this wocar reads {VERSION}")
    for field, fits in SCHEMA.items():
        if field not in data or not fits(data[field]):
            raise UserError(f"{where}: field {field!r} is missing or not as docs/leaderboard.md says")
    if data["worst"]["attack"] not in data["attacks"] or data["natural"] != data["attacks"].get("none"):
        raise UserError(f"{where}: natural and worst must be among its attacks")
    return LeaderboardEntry(data["name"], data)


def _row(value: Any) -> bool:
    if not isinstance(value, dict) or not {"mean", "std", "interval", "episodes"} <= value.keys():
        return False
    interval = value["interval"]
    numbers = [value["mean"], value["std"], *(interval if isinstance(interval, list) else ["no"])]
    return len(numbers) == 4 and all(map(_number, numbers)) and _count(value["episodes"])


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and value > 0


def _words(value: Any) -> bool:
    return isinstance(value, str)


def _suite(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and {"name", "sha256", "changes"} <= value.keys())


def _threat(value: Any) -> bool:
    return isinstance(value, dict) and {"eps", "norm", "on", "units", "radii"} <= value.keys()


def _reported(value: Any) -> bool:
    """None, or natural, worst and source; a number that the authors do not give is None."""
    if value is None:
        return True
    keys = {"natural", "worst", "source"}
    return isinstance(value, dict) and keys <= value.keys() and _words(value["source"]) and bool(value["source"])


SCHEMA: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: _words(value) and bool(value),
    "env": _words,
    "threat": _threat,
    "origin": lambda value: value in ORIGINS,
    "method": _words,
    "about": _words,
    "link": _words,
    "agent_sha256": lambda value: _words(value) and len(value) == 64,
    "natural": _row,
    "worst": lambda value: _row(value) and _words(value.get("attack")),
    "reported": _reported,
    "suite": _suite,
    "seeds": lambda value: isinstance(value, dict),
    "attacks": lambda value: isinstance(value, dict) and all(map(_row, value.values())),
    "attackers": lambda value: isinstance(value, dict) and all(map(_words, value.values())),
    "flags": lambda value: isinstance(value, list) and all(map(_words, value)),
    "audits": lambda value: isinstance(value, list) and bool(value),
}


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("mean", "std", "interval", "episodes")}


def _attacker(row: dict[str, Any]) -> str | None:
    """Hash of the attack's arrays, or that of the folder of a trained attacker."""
    return row.get("attacker_sha256") or row.get("parameters", {}).get("sha256")
