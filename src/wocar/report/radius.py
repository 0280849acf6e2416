"""Radius of an audit: size of the perturbation, with the norm, units and dimensions it is measured in."""

from typing import Any, NamedTuple


class Radius(NamedTuple):
    norm: str
    eps: float
    units: str = "normalised"
    dimensions: str = ""
    """The attacked dimensions of the observation; empty where all have the same radius."""

    @property
    def as_in_paper(self) -> bool:
        """Whether it is measured as the paper's numbers are."""
        return self._replace(eps=0.0) == Radius("linf", 0.0)

    @property
    def measure(self) -> str:
        """All but its size, as text."""
        return ", ".join(filter(None, (self.norm, "" if self.units == "normalised" else "raw units", self.dimensions)))


def radius_of(data: dict[str, Any], eps: float) -> Radius:
    """Of a row with this eps in an audit or estimate; older files name the norm at most."""
    threat = data.get("threat") or {"norm": data.get("norm", "linf")}
    return Radius(threat["norm"], eps, threat.get("units", "normalised"), _dimensions(threat.get("radii")))


def _dimensions(factors: list[float] | None) -> str:
    """As text; factors of eps other than 0 and 1 are named with the dimension."""
    if factors is None or set(factors) == {1}:
        return ""
    moved = [f"{i}" if factor == 1 else f"{i} × {factor:g}" for i, factor in enumerate(factors) if factor]
    return f"dimensions {', '.join(moved)}"
