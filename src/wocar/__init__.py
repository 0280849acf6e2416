"""Reinforcement-learning agents that keep their reward when an adversary perturbs what they see."""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"
__all__ = ["AttackedObservation", "__version__", "audit", "load"]

_PLACES = {
    "AttackedObservation": "wocar.evaluation.attacked_observation",
    "audit": "wocar.api",
    "load": "wocar.api",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that `import wocar` is instant."""
    if name not in _PLACES:
        raise AttributeError(f"module 'wocar' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
