"""Attacks transferred from a surrogate: the victim is asked for actions only, gradients are the surrogate's."""

import numpy as np

from wocar.agent import Agent
from wocar.attacks import PGD
from wocar.attacks.surrogate import Shadowed, Transfer, fit_surrogate
from wocar.evaluation.imitation_examples import attacked_states
from wocar.threat import Threat

ASKED_STEPS = 8192
"""Steps of the victim, unattacked and then attacked through a first surrogate, that show where it is asked."""


def shadowed(victim: Agent, threat: Threat, seed: int, steps: int = ASKED_STEPS) -> Shadowed:
    """The victim with a surrogate fitted twice: where it goes by itself, and where attacks on the first one lead."""
    ball = threat.ball_for(victim)
    seen = attacked_states(victim, None, threat, steps, seed)
    first = fit_surrogate(victim, seen, ball, seed)
    attacked = attacked_states(victim, Transfer(PGD(), first), threat, steps, seed)
    return Shadowed(victim, fit_surrogate(victim, np.concatenate([seen, attacked]), ball, seed + 1))
