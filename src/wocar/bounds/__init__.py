"""Bounds of networks over B_eps(s), searches inside it, and the sets of actions an attacker can cause."""

from wocar.bounds.action_sets import (
    action_ball,
    action_box,
    action_mask,
    any_action,
    attacked_value,
    margin,
    search_each_action,
    taken,
    worst_action_in_box,
    worst_action_in_mask,
)
from wocar.bounds.ball import Ball
from wocar.bounds.network import BoundMethod, network_bounds
from wocar.bounds.search import ascend, ascend_in_ball

__all__ = [
    "Ball",
    "BoundMethod",
    "action_ball",
    "action_box",
    "action_mask",
    "any_action",
    "ascend",
    "ascend_in_ball",
    "attacked_value",
    "margin",
    "network_bounds",
    "search_each_action",
    "taken",
    "worst_action_in_box",
    "worst_action_in_mask",
]
