"""Exact optimum of an attacker on a finite MDP, against which attacks and suites are measured."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.attacks.base import Attack, Perturbation
from wocar.envs import env_spec
from wocar.envs.table_task import TableTask, register_task
from wocar.envs.tabular import Floats, one_step
from wocar.networks import GaussianPolicy, GreedyPolicy, ScaledNormaliser, linear
from wocar.threat import Threat

FEATURES, STEEPNESS = 3, 2.0
"""Random features for each state, and the standard deviation of their slopes."""
SIDE = 81
"""Points along an edge of the ball that stand for all of it."""


def table_victim(task: TableTask, name: str, seed: int = 0) -> Agent:
    """A network that plays optimally without an attack: random tanh features, the last layer by least squares.

    Discrete actions: it is greedy in its fit of the optimal Q values. Continuous: its mean is the optimal corner.
    """
    rng = np.random.default_rng(seed)
    wanted = task.best_actions() if task.continuous else _optimal_q(task)
    count = FEATURES * len(task.points)
    weight, bias = rng.normal(size=(count, 2)) * STEEPNESS, rng.normal(size=count)
    features = np.column_stack([np.tanh(task.points @ weight.T + bias), np.ones(len(wanted))])
    gram = features.T @ features + 1e-6 * np.eye(count + 1)
    last = np.linalg.solve(gram, features.T @ wanted)
    layers: list[Any] = [linear(weight, bias), eqx.nn.Lambda(jnp.tanh), linear(last[:-1].T, last[-1])]
    network = eqx.nn.Sequential(layers)
    policy = GaussianPolicy(network, jnp.full(2, -1.0)) if task.continuous else GreedyPolicy(network)
    spec = env_spec(register_task(name, task))
    return Agent(spec, ScaledNormaliser.identity((2,)), policy, {}, {"method": "by hand"})


def natural_value(task: TableTask, agent: Agent) -> float:
    """Expected return of the victim without an attack."""
    return attacked_value(task, reachable_mixtures(task, agent, 0.0))


def optimal_value(task: TableTask, agent: Agent, eps: float) -> float:
    """Expected return under the strongest attack: it knows the table, and shows any point of the l_inf ball."""
    return attacked_value(task, reachable_mixtures(task, agent, eps))


def value_under(task: TableTask, agent: Agent, attack: Attack, threat: Threat, draws: int = 32) -> float:
    """Expected return under an attack without memory; over several draws, where it is random."""
    perturb = Perturbation(attack, threat.ball_for(agent), seed=0)
    seen = task.points.astype(np.float32)
    played = [task.mixtures(agent.act(perturb(agent.policy, seen))) for _ in range(draws)]
    return attacked_value(task, np.mean(played, axis=0)[:, None])


def regret(found: float, natural: float, optimal: float) -> float:
    """Share of the possible harm that an attack leaves undone."""
    return (found - optimal) / (natural - optimal)


def reachable_mixtures(task: TableTask, agent: Agent, eps: float, side: int = SIDE) -> Floats:
    """What the victim plays at the points of a grid over each state's ball, as weights of actions. (S, M, A)"""
    edge = np.linspace(-eps, eps, side if eps else 1)
    offsets = np.stack(np.meshgrid(edge, edge), axis=-1).reshape(-1, 2)
    shown = (task.points[:, None] + offsets).astype(np.float32)
    played = agent.act(shown.reshape(-1, 2))
    return task.mixtures(played).reshape(len(shown), len(offsets), -1)


def attacked_value(task: TableTask, mixtures: Floats, tolerance: float = 1e-9) -> float:
    """Fixed point of V(s) = min over the mixtures of Σ_a w_a Q(s, a), expected over the start."""
    values = np.zeros(len(mixtures))
    while True:
        found = np.einsum("sma,sa->sm", mixtures, one_step(task.mdp, values)).min(axis=1)
        if np.abs(found - values).max() <= (1 - task.mdp.gamma) * tolerance:
            return float(task.start @ found)
        values = found


def _optimal_q(task: TableTask) -> Floats:
    values = np.zeros(len(task.points))
    for _ in range(1000):
        values = one_step(task.mdp, values).max(axis=1)
    return one_step(task.mdp, values)
