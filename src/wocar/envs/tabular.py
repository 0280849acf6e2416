"""Finite MDPs known by their tables, and exact answers about attacks on them, for other rooms to be tested against.

S states, A actions. A policy is deterministic, an (S,) array of actions. A neighbourhood is an (S, S) mask: row s marks
the states an attacker may show the victim in s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TabularMDP:
    """A terminal state is worth 0 whatever its rows say."""

    transitions: Floats
    """P[s, a, s'], shape (S, A, S)."""
    rewards: Floats
    """R[s, a], the expected reward, shape (S, A)."""
    gamma: float
    terminal: Mask
    """Shape (S,)."""

    def __post_init__(self) -> None:
        states, actions = self.rewards.shape
        if self.transitions.shape != (states, actions, states) or self.terminal.shape != (states,):
            raise ValueError(f"shapes disagree: {self.transitions.shape}, {self.rewards.shape}, {self.terminal.shape}")
        if self.transitions.min() < 0 or not np.allclose(self.transitions.sum(axis=2), 1):
            raise ValueError("transitions[s, a] must be a probability distribution")
        if not 0 <= self.gamma < 1:
            raise ValueError(f"gamma must lie in [0, 1), not {self.gamma}")


def one_step(mdp: TabularMDP, values: Floats) -> Floats:
    """Q(s, a) = R(s, a) + gamma * sum over s' of P(s' | s, a) V(s'), shape (S, A)."""
    q = mdp.rewards + mdp.gamma * mdp.transitions @ np.where(mdp.terminal, 0.0, values)
    return np.where(mdp.terminal[:, None], 0.0, q)


def policy_evaluation(mdp: TabularMDP, policy: Ints) -> Floats:
    """V of the policy, shape (S,), by solving its linear system."""
    states = np.arange(len(policy))
    alive = ~mdp.terminal
    chain = mdp.transitions[states, policy] * alive[:, None]
    rewards = mdp.rewards[states, policy] * alive
    return np.linalg.solve(np.eye(len(policy)) - mdp.gamma * chain, rewards).astype(np.float64)


def policy_iteration(mdp: TabularMDP, allowed: Mask | None = None) -> tuple[Ints, Floats]:
    """The optimal policy among the allowed actions, an (S, A) mask, and its V."""
    allowed = np.ones(mdp.rewards.shape, dtype=bool) if allowed is None else allowed
    states = np.arange(len(allowed))
    policy = allowed.argmax(axis=1)
    while True:
        values = policy_evaluation(mdp, policy)
        q = np.where(allowed, one_step(mdp, values), -np.inf)
        better = q.max(axis=1) > q[states, policy] + 1e-10
        if not better.any():
            return policy, values
        policy = np.where(better, q.argmax(axis=1), policy)


def reachable_actions(policy: Ints, neighbourhood: Mask, num_actions: int) -> Mask:
    """A_adv[s, a]: some state an attacker may show in s makes the victim play a. Shape (S, A)."""
    plays = np.eye(num_actions, dtype=bool)[policy]
    return neighbourhood @ plays


def worst_values(q: Floats, action_mask: Mask) -> Floats:
    """V(s) = min over the masked actions of Q(s, a), shape (S,)."""
    return np.where(action_mask, q, np.inf).min(axis=1)


def worst_value_iteration(mdp: TabularMDP, action_mask: Mask, tolerance: float = 1e-10) -> Floats:
    """The fixed point of Q <- one_step(min over the masked actions of Q), shape (S, A), to within the tolerance."""
    if not action_mask.any(axis=1).all():
        raise ValueError("every state needs at least one action")
    q = np.zeros_like(mdp.rewards)
    while True:
        new_q = one_step(mdp, worst_values(q, action_mask))
        if mdp.gamma * np.abs(new_q - q).max() <= (1 - mdp.gamma) * tolerance:
            return new_q
        q = new_q


def attacker_mdp(mdp: TabularMDP, policy: Ints) -> TabularMDP:
    """The attacker's own MDP: its action is the state it shows, the victim answers, and the reward is negated."""
    return TabularMDP(mdp.transitions[:, policy], -mdp.rewards[:, policy], mdp.gamma, mdp.terminal)


def optimal_attack(mdp: TabularMDP, policy: Ints, neighbourhood: Mask) -> tuple[Ints, Floats]:
    """The strongest attack, an (S,) array of shown states, and the victim's V under it."""
    shown, values = policy_iteration(attacker_mdp(mdp, policy), neighbourhood)
    return shown, -values


def random_mdp(rng: np.random.Generator, states: int, actions: int, gamma: float = 0.9) -> TabularMDP:
    """Sparse-ish random transitions, normal rewards; each state but the first is terminal with probability 0.15."""
    transitions = rng.dirichlet(np.full(states, 0.5), size=(states, actions))
    terminal = rng.random(states) < 0.15
    terminal[0] = False
    return TabularMDP(transitions, rng.normal(size=(states, actions)), gamma, terminal)
