"""Reinforcement-learning agents that keep their reward when an adversary perturbs what they see."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wocar.agent import Agent
    from wocar.api import audit, estimate, train
    from wocar.evaluation.action_bounds import action_bounds
    from wocar.evaluation.attack_registry import register_attack
    from wocar.evaluation.attacked_observation import AttackedObservation
    from wocar.evaluation.audit_result import AuditResult
    from wocar.hardening import harden
    from wocar.loading import export, load
    from wocar.methods.method import Method
    from wocar.methods.registry import register_method
    from wocar.threat import Threat
    from wocar.types import UserError

__version__ = "0.2.0"
__all__ = [
    "Agent",
    "AttackedObservation",
    "AuditResult",
    "Method",
    "Threat",
    "UserError",
    "__version__",
    "action_bounds",
    "audit",
    "estimate",
    "export",
    "harden",
    "load",
    "register_attack",
    "register_method",
    "train",
]

_PLACES = {
    "Agent": "wocar.agent",
    "AttackedObservation": "wocar.evaluation.attacked_observation",
    "AuditResult": "wocar.evaluation.audit_result",
    "Method": "wocar.methods.method",
    "Threat": "wocar.threat",
    "UserError": "wocar.types",
    "action_bounds": "wocar.evaluation.action_bounds",
    "audit": "wocar.api",
    "estimate": "wocar.api",
    "export": "wocar.loading",
    "harden": "wocar.hardening",
    "load": "wocar.loading",
    "register_attack": "wocar.evaluation.attack_registry",
    "register_method": "wocar.methods.registry",
    "train": "wocar.api",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that `import wocar` is instant."""
    if name not in _PLACES:
        raise AttributeError(f"module 'wocar' has no attribute {name!r}")
    import_module("wocar.runtime").configure()
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
