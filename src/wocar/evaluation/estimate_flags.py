"""Self-checks of an estimate: reasons to trust its numbers less, each a pure function of its result."""

from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

SLACK = 0.2
"""Share of the natural return by which an estimate may be off."""


class EstimateFlag(TypedDict):
    flag: str
    eps: float
    text: str


def estimate_flags(result: Mapping[str, Any], raw_share: float) -> list[EstimateFlag]:
    """All flags. `raw_share`: of the policy's actions that lie outside their range and are taken as they are."""
    return [*natural_missed(result), *above_achieved(result), *raw_actions(result, raw_share)]


def natural_missed(result: Mapping[str, Any]) -> Iterator[EstimateFlag]:
    """At eps 0 there is no attacker: the value there is the natural return, which was also measured."""
    measured, row = result["natural_measured"], result["radii"][0]
    if abs(row["value"] - measured) > SLACK * abs(measured):
        text = (
            f"at eps 0 the estimate is {row['value']:.1f}, measured is {measured:.1f}: the critic has not learned the "
            "policy's own value, so do not use the estimates; raise --steps, --sweeps or --explorations"
        )
        yield {"flag": "natural-missed", "eps": 0.0, "text": text}


def above_achieved(result: Mapping[str, Any]) -> Iterator[EstimateFlag]:
    """An attacker within the sets achieved less than the estimate says he can: it is no lower bound."""
    for row in result["radii"]:
        achieved = row["start"]["achieved"]
        if row["eps"] > 0 and row["value"] > achieved + SLACK * abs(result["natural_measured"]):
            text = f"the estimate is {row['value']:.1f}, but its own attacker already reaches {achieved:.1f}"
            yield {"flag": "above-achieved", "eps": row["eps"], "text": text}


def raw_actions(result: Mapping[str, Any], share: float) -> Iterator[EstimateFlag]:
    """The sets are cut to the action range; rewards (control costs) see what lies beyond it."""
    if share > 0:
        text = (
            f"{share:.0%} of the policy's actions lie outside their range; {result['env']} charges for them as they "
            "are, the sets of the estimate are cut to the range: an attacker can cost more than estimated"
        )
        yield {"flag": "actions-beyond-range", "eps": 0.0, "text": text}
