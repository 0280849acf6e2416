"""Audit summary: the numbers of an audit without its episodes, as model cards and leaderboards keep them."""

import re
from typing import Any

from wocar.types import UserError

ROW = ("mean", "std", "interval", "episodes", "eps", "family", "parameters", "attacker_sha256")
"""Fields of an attack's row that a summary keeps, where the row has them."""


def summarised(audit: Any) -> dict[str, Any]:
    """Digest, threat, suite, seeds, the rows of all attacks and the worst one; of a curve its first radius."""
    try:
        rows = {name: {key: row[key] for key in ROW if key in row} for name, row in audit["attacks"].items()}
        natural, worst = rows["none"], rows[audit["worst"]]
        for row in (natural, worst):
            float(row["mean"]), list(row["interval"]), int(row["episodes"])
        return {
            "env": audit["env"],
            "method": audit["meta"].get("method", "agent"),
            "seed": audit["meta"].get("seed"),
            "steps": audit["meta"].get("steps"),
            "agent_sha256": audit["agent_sha256"],
            "threat": audit.get("threat") or _old_threat(audit),
            "suite": audit["suite"],
            "seeds": audit["seeds"],
            "worst": audit["worst"],
            "attacks": rows,
            "skipped": audit["skipped"],
            "flags": [flag["text"] for flag in audit["flags"]],
            "command": portable(audit.get("command", "")),
            "commit": audit.get("git", {}).get("commit", ""),
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"not an audit with natural return and threat: {type(error).__name__} {error}") from error


def _old_threat(audit: Any) -> dict[str, Any]:
    """The threat of an audit that was written before audits named it."""
    widest = max(audit["attacks"].values(), key=lambda row: row["eps"])
    units = "raw" if "units of the observation" in widest["eps_units"] else "normalised"
    return {"eps": widest["eps"], "norm": audit["norm"], "on": "observation", "units": units, "radii": None}


def portable(command: str) -> str:
    """A command without folders of one machine: of absolute paths the last two names are left."""
    return re.sub(r"(?<![\w.:/-])/(?:[\w.-]+/)*(?=[\w.-]+/[\w.-]+)", "", command)


def suite_text(suite: dict[str, Any] | None) -> str:
    """The suite's name and what departs from it; an audit may also be of attacks by name."""
    if suite is None:
        return "attacks by name"
    return suite["name"] + (f" ({'; '.join(suite['changes'])})" if suite["changes"] else "")


def threat_text(threat: dict[str, Any]) -> str:
    """Norm and radius as a folder's name; what departs from normalised observations is added."""
    words = [threat["norm"], f"{threat['eps']:.6g}"]
    words += [threat["on"]] if threat["on"] != "observation" else []
    words += ["raw"] if threat["units"] == "raw" else []
    words += ["masked"] if threat["radii"] is not None else []
    return "-".join(words)
