"""Verification of a zoo entry: its attacks once more on few episodes, compared with the recorded numbers."""

from typing import Any, NamedTuple

from wocar.evaluation.attack_registry import kind_of
from wocar.evaluation.audit_result import AuditResult
from wocar.evaluation.suites import Attacks
from wocar.types import UserError
from wocar.zoo.entries import ZooEntry

SPREAD = 3.0
"""Standard errors of the difference of two means that chance may explain."""


class Comparison(NamedTuple):
    attack: str
    recorded: float
    measured: float
    allowed: float
    """Difference that chance may explain."""

    @property
    def verdict(self) -> str:
        """`lower` refutes the entry; a search that found a weaker attack this time does not."""
        gap = self.measured - self.recorded
        if abs(gap) <= self.allowed:
            return "agrees"
        return "lower" if gap < 0 else "higher"

    @property
    def passed(self) -> bool:
        return self.verdict == "agrees" or (self.verdict == "higher" and self.attack != "none")


def repeated_attacks(entry: ZooEntry) -> Attacks:
    """No attack, and the entry's worst one that needs no training, with the settings that its audit selected."""
    rows = entry.data["attacks"]
    quick = [name for name in rows if name != "none" and kind_of(name).family != "learned"]
    worst = min(quick, key=lambda name: rows[name]["mean"], default=None)
    if worst is None:
        raise UserError(f"{entry.name} was audited by trained attackers only: audit it with wocar audit")
    return {name: [rows[name].get("parameters", {})] for name in ("none", worst)}


def compared(entry: ZooEntry, audit: AuditResult) -> list[Comparison]:
    """The rows of a new audit beside those of the entry."""
    if audit["agent_sha256"] != entry.data["agent_sha256"]:
        raise UserError(f"{entry.name} is not the agent that was audited: its digest differs; install wocar anew")
    found = []
    for name, row in audit["attacks"].items():
        known = entry.data["attacks"][name]
        found.append(Comparison(name, known["mean"], row["mean"], SPREAD * _error(known, row)))
    return found


def _error(first: dict[str, Any], second: Any) -> float:
    """Standard error of the difference of two means; both have the larger of the two spreads.

    Few episodes can all end alike by chance; and simulators of other machines differ in the last digits.
    """
    std = max(first["std"], second["std"], 1e-3 * abs(first["mean"]))
    return std * (1 / first["episodes"] + 1 / second["episodes"]) ** 0.5
