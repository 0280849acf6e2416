"""Suite of sensor faults, each at several strengths, beside two attacks; the return kept under each."""

from typing import Any

from wocar.evaluation.audit_result import AuditResult

STRENGTHS: dict[str, tuple[float, ...]] = {
    "sensor-noise": (0.05, 0.1, 0.3, 1.0),
    "sensor-bias": (0.05, 0.1, 0.3, 1.0),
    "sensor-dropout": (0.01, 0.05, 0.2),
    "sensor-stuck": (1, 2, 4),
    "sensor-delay": (1, 2, 4),
    "sensor-steps": (0.1, 0.5, 1.0),
}
"""Noise, bias and steps in standard deviations of each sensor, dropout as a probability, stuck sensors, late steps."""
SENSORS_V1: dict[str, Any] = {
    "about": "sensor faults at several strengths, beside a random and a gradient attack at eps",
    "episodes": 50,
    "select_episodes": 10,
    "attacks": {
        "none": [{}],
        **{f"{fault}:{x:g}": [{"strength": x}] for fault, strengths in STRENGTHS.items() for x in strengths},
        "random-corner": [{}],
        "maxdiff-plain": [{}],
    },
}


def kept_returns(result: AuditResult) -> dict[str, dict[float, float]]:
    """Of each fault and strength the share of the return without it; empty where there is nothing to compare with."""
    rows = result["attacks"]
    natural = rows["none"]["mean"] if "none" in rows else 0.0
    kept: dict[str, dict[float, float]] = {}
    for name, row in rows.items():
        fault, _, strength = name.partition(":")
        if row["family"] == "fault" and natural > 0 and strength:
            kept.setdefault(fault, {})[float(strength)] = row["mean"] / natural
    return kept
