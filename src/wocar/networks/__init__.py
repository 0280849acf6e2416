"""Networks as plain Equinox pytrees: MLPs, policies, critics, and the observation normaliser."""

from wocar.networks.critics import ActionCritic, DiscreteCritic, DuelingActionCritic, TwinCritic, ValueCritic
from wocar.networks.host import host_function
from wocar.networks.layers import forward, mlp
from wocar.networks.normaliser import RunningNormaliser
from wocar.networks.policies import CategoricalPolicy, GaussianPolicy, Policy

__all__ = [
    "ActionCritic",
    "CategoricalPolicy",
    "DiscreteCritic",
    "DuelingActionCritic",
    "GaussianPolicy",
    "Policy",
    "RunningNormaliser",
    "TwinCritic",
    "ValueCritic",
    "forward",
    "host_function",
    "mlp",
]
