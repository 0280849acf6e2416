"""Networks as plain Equinox pytrees: MLPs, CNNs, LSTMs, policies, critics, and the observation normalisers."""

from wocar.networks.context_critic import ContextCritic
from wocar.networks.critics import ActionCritic, DiscreteCritic, DuelingActionCritic, TwinCritic, ValueCritic
from wocar.networks.host import host_function, host_step
from wocar.networks.layers import SMALL_CNN, cnn, conv2d, forward, linear, mlp, uniform_weights
from wocar.networks.normaliser import Normaliser, PixelNormaliser, RunningNormaliser, ScaledNormaliser
from wocar.networks.policies import CategoricalPolicy, GaussianPolicy, GreedyPolicy
from wocar.networks.recurrent import (
    HeldPolicy,
    LSTMState,
    Moments,
    RecurrentCritic,
    RecurrentNetwork,
    RecurrentPolicy,
    lstm_cell,
    reset_state,
)
from wocar.networks.squashed import SquashedGaussianPolicy, SquashedPolicy

__all__ = [
    "SMALL_CNN",
    "ActionCritic",
    "CategoricalPolicy",
    "ContextCritic",
    "DiscreteCritic",
    "DuelingActionCritic",
    "GaussianPolicy",
    "GreedyPolicy",
    "HeldPolicy",
    "LSTMState",
    "Moments",
    "Normaliser",
    "PixelNormaliser",
    "RecurrentCritic",
    "RecurrentNetwork",
    "RecurrentPolicy",
    "RunningNormaliser",
    "ScaledNormaliser",
    "SquashedGaussianPolicy",
    "SquashedPolicy",
    "TwinCritic",
    "ValueCritic",
    "cnn",
    "conv2d",
    "forward",
    "host_function",
    "host_step",
    "linear",
    "lstm_cell",
    "mlp",
    "reset_state",
    "uniform_weights",
]
