"""Exact optimum of an attacker: against the tabular oracle, against episodes, and as a floor of every attack."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.attacks import PGD, MaxDiff, Random
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.envs.table_task import CORNERS, TableTask, go_home_task, random_task
from wocar.envs.tabular import policy_iteration, worst_value_iteration, worst_values
from wocar.episodes import run_episodes
from wocar.evaluation import attack_context
from wocar.evaluation.attack_registry import attack_by_name, kind_of
from wocar.evaluation.exact_attack import (
    attacked_value,
    natural_value,
    optimal_value,
    reachable_mixtures,
    regret,
    table_victim,
    value_under,
)
from wocar.evaluation.worst_critic import FIT, SEARCHED, new_worst_critic, reachable
from wocar.mechanisms.policy_config import WocarConfig
from wocar.mechanisms.worst_value import WorstCritic
from wocar.threat import Threat

EPS = 0.15


def task_of(kind: str) -> TableTask:
    return go_home_task() if kind == "home" else random_task(1, kind == "continuous")


def test_the_optimum_is_that_of_the_tabular_oracle() -> None:
    task = random_task(0, continuous=False)
    mixtures = reachable_mixtures(task, table_victim(task, "Oracle"), EPS)
    mask = mixtures.any(axis=1)
    assert mask.sum() > len(mask)
    oracle = worst_values(worst_value_iteration(task.mdp, mask), mask)
    assert attacked_value(task, mixtures) == pytest.approx(float(task.start @ oracle), abs=1e-6)


@pytest.mark.parametrize("kind", ["discrete", "continuous", "home"])
def test_the_victim_plays_optimally_without_an_attack(kind: str) -> None:
    task = task_of(kind)
    agent = table_victim(task, f"Optimal{kind}")
    best = float(task.start @ policy_iteration(task.mdp)[1])
    assert natural_value(task, agent) == pytest.approx(best, rel=0.01)


@pytest.mark.parametrize("continuous", [False, True])
def test_episodes_have_the_value_of_the_table(continuous: bool) -> None:
    task = random_task(1, continuous)
    agent = table_victim(task, "Episodes")
    returns = run_episodes(agent, 500, 0, n_envs=25).returns
    assert returns.mean() == pytest.approx(natural_value(task, agent), abs=4 * returns.std() / np.sqrt(len(returns)))


def test_mixtures_of_actions_by_hand() -> None:
    task = random_task(0, continuous=True)
    np.testing.assert_array_equal(task.mixtures(CORNERS), np.eye(4))
    np.testing.assert_allclose(task.mixtures([0.0, 1.0]), [0, 0.5, 0, 0.5])
    np.testing.assert_allclose(task.mixtures([[9.0, 0.5]]), [[0, 0, 0.25, 0.75]])


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_no_attack_is_below_the_optimum(kind: str) -> None:
    """A finer grid over the ball changes nothing, a wider ball lowers the value."""
    task, threat = task_of(kind), Threat(EPS)
    agent = table_victim(task, f"Floor{kind}")
    natural, floor = natural_value(task, agent), optimal_value(task, agent, EPS)
    assert optimal_value(task, agent, 2 * EPS) < floor < natural
    assert attacked_value(task, reachable_mixtures(task, agent, EPS, side=31)) == pytest.approx(floor, abs=0.02)
    for attack in (Random(extreme=True), MaxDiff(noise=0.0), PGD(restarts=2)):
        assert value_under(task, agent, attack, threat, draws=4) > floor - 1e-6
    assert (regret(natural, natural, floor), regret(floor, natural, floor)) == (1.0, 0.0)


class TableCritic(eqx.Module):
    """Knows the value of each action in each state, asked for in the order of the table."""

    q: jax.Array

    def __call__(self, obs: jax.Array) -> jax.Array:
        return self.q


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_critic_of_searched_actions_leads_to_the_optimum_one_of_bounds_astray(seed: int) -> None:
    """Both are solved exactly: bounds allow actions that the attacker cannot cause, on which it then relies."""
    task, threat = random_task(seed, continuous=False), Threat(EPS)
    agent = table_victim(task, f"Sets{seed}")
    natural, floor = natural_value(task, agent), optimal_value(task, agent, EPS)

    def left_undone(config: WocarConfig) -> float:
        obs = jnp.asarray(task.points, jnp.float32)
        mask = np.asarray(reachable(agent, threat, config)(agent.policy, obs).mask)
        critic = TableCritic(jnp.asarray(worst_value_iteration(task.mdp, mask), jnp.float32))
        attack = RobustSarsa(critic, targeted=True)
        return regret(value_under(task, agent, attack, threat, draws=1), natural, floor)

    assert left_undone(SEARCHED) <= 0.01 < 0.2 < left_undone(FIT)


def test_a_softmax_does_not_find_the_worst_action_of_an_argmax() -> None:
    """The agent's own Q: the search towards each action leaves less undone than the gradient of an expectation."""
    task, threat = random_task(0, continuous=False), Threat(EPS)
    agent = table_victim(task, "OwnQ")
    attack = attack_by_name("min-q", agent, threat, 0)
    plain = RobustSarsa(attack.critic)
    assert attack.targeted
    found, less = (value_under(task, agent, a, threat, draws=1) for a in (attack, plain))
    assert found < less - 0.3


@pytest.mark.parametrize("continuous", [False, True])
def test_a_worst_critic_counts_on_searched_actions_where_they_are_discrete(
    continuous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[WocarConfig] = []

    def fitted(agent: Any, *args: Any, **rest: Any) -> WorstCritic:
        asked.append(args[5])
        return new_worst_critic(agent, 2, jax.random.key(0))

    monkeypatch.setattr(attack_context, "fit_worst_value", fitted)
    monkeypatch.setattr(attack_context, "WORST_STEPS", 64)
    agent = table_victim(random_task(0, continuous), "Asked")
    context = attack_context.AttackContext(agent, 0)
    for settings in ({}, {"targeted": False}):
        kind_of("worst-critic").made(context, Threat(EPS), Path(), settings)
    assert asked == ([FIT] if continuous else [SEARCHED, FIT])


def test_searches_of_the_fast_suite_come_within_five_percent_of_the_optimum_with_discrete_actions() -> None:
    """The strongest attack of the committed table; which one an audit names depends on its episodes, too."""
    file = Path(__file__).parents[2] / "results" / "strength" / "strength.json"
    rows = [row for row in json.loads(file.read_text())["rows"] if row["task"].startswith("RandomDiscrete")]
    assert len(rows) >= 3
    for row in rows:
        found = [attack["regret"] for attack in row["suites"]["fast-v2"]["attacks"].values()]
        assert -0.01 < min(found) <= 0.05


def test_learned_attackers_of_the_suite_come_within_five_percent_of_the_optimum() -> None:
    """The committed table of `scripts/attack_strength.py`, continuous actions."""
    file = Path(__file__).parents[2] / "results" / "strength" / "strength.json"
    rows = [row for row in json.loads(file.read_text())["rows"] if row["task"].startswith("RandomContinuous")]
    assert rows
    for row in rows:
        attacks = row["suites"]["mujoco-v2"]["attacks"]
        assert min(attacks[name]["regret"] for name in ("sa-rl", "pa-ad")) <= 0.05
        assert all(attack["regret"] > -0.01 for attack in attacks.values())
