"""The lookahead attack, and the copies of simulators that it plans on."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.attacks.base import Perturbation
from wocar.attacks.director import LinearDirector
from wocar.envs import can_copy_states, env_spec, make_env
from wocar.episodes import run_episodes
from wocar.evaluation import attack_context
from wocar.evaluation.attack_context import AttackContext
from wocar.evaluation.attack_registry import attack_by_name, kind_of
from wocar.evaluation.audit import audit
from wocar.evaluation.audit_file import AuditFolder
from wocar.evaluation.lookahead import Lookahead, LookaheadPerturbation
from wocar.evaluation.suites import AuditPlan
from wocar.networks import DuelingActionCritic, GaussianPolicy, RunningNormaliser
from wocar.threat import Threat
from wocar.types import UserError

TASK, EPS = "Reacher-v4", 0.3


def reacher() -> Agent:
    """Its joints are pulled back to where they were: an attacker who shows them elsewhere moves the arm."""
    spec = env_spec(TASK)
    policy = GaussianPolicy.create(spec.obs_shape[0], spec.actions.size, jax.random.key(1), (16,), 0.1)
    policy = jax.tree.map(lambda x: 20 * x if getattr(x, "ndim", 0) == 2 else x, policy)
    return Agent(spec, RunningNormaliser.create(spec.obs_shape), policy, {}, {})


def directors(agent: Agent, count: int) -> tuple[Any, ...]:
    shape = agent.spec.actions.size, agent.spec.obs_shape[0]
    keys = jax.random.split(jax.random.key(2), count)
    return tuple(LinearDirector(jax.random.normal(k, shape), jnp.zeros(shape[0])) for k in keys)


def critic(agent: Agent) -> Any:
    return DuelingActionCritic.create(agent.spec.obs_shape[0], agent.spec.actions.size, jax.random.key(3))


@pytest.mark.parametrize("task", ["Hopper-v4", "HalfCheetah-v4", "Ant-v4", "Reacher-v4", "Humanoid-v4"])
def test_copies_go_on_as_the_original(task: str) -> None:
    rng, real, copies = np.random.default_rng(0), make_env(task, 2, 0), make_env(task, 6, 7)
    size = real.spec.actions.size
    real.reset()
    copies.reset()
    for _ in range(5):
        real.step(rng.uniform(-0.4, 0.4, (2, size)).astype(np.float32))
    rows = np.array([0, 1, 1, 0, 0, 1])
    copies.copy_states(real, rows)  # type: ignore[attr-defined]
    for t in range(5):
        actions = rng.uniform(-0.4, 0.4, (2, size)).astype(np.float32)
        expected, found = real.step(actions), copies.step(actions[rows])
        np.testing.assert_allclose(found.obs, expected.obs[rows], rtol=1e-5, atol=1e-5)
        lag = 0.01 if t == 0 else 1e-5  # Ant's torso: after a step MuJoCo's position of a body is of a frame before
        np.testing.assert_allclose(found.rewards, expected.rewards[rows], rtol=lag, atol=lag)
        np.testing.assert_array_equal(found.terminated, expected.terminated[rows])


def test_it_harms_more_than_each_of_its_attacks_and_keeps_to_the_ball() -> None:
    agent, threat, seen = reacher(), Threat(EPS), []
    ball, attacks = threat.ball_for(agent), directors(agent, 3)

    class Kept(LookaheadPerturbation):
        def __call__(self, policy: Any, z: np.ndarray) -> np.ndarray:
            shown = super().__call__(policy, z)
            seen.append(np.abs(shown - z).max())
            return shown

    lookahead = Kept(Lookahead((None, *attacks), critic(agent), 0.0, horizon=10, hold=2), agent, ball, 0)
    found = run_episodes(agent, 10, 5, n_envs=5, perturb=lookahead).returns.mean()
    alone = [run_episodes(agent, 10, 5, n_envs=5, perturb=Perturbation(a, ball, 0)).returns.mean() for a in attacks]
    assert found < min(alone) - 0.1 * abs(min(alone))
    assert max(seen) <= EPS + 1e-6 and 0.3 < lookahead.used <= 1


def test_what_is_left_counts() -> None:
    """With one step ahead the critic alone tells attacks apart: the one whose states it likes least is chosen."""
    agent, ball = reacher(), Threat(EPS).ball_for(reacher())
    attacks, z = directors(agent, 4), agent.normaliser(make_env(TASK, 3, 0).reset())
    env = make_env(TASK, 3, 0)
    env.reset()
    chosen = []
    for scale in (1e6, -1e6):
        plan = LookaheadPerturbation(Lookahead(attacks, critic(agent), scale, horizon=1, hold=1), agent, ball, 0)
        plan.begin(env)
        plan(agent.policy, z)
        chosen.append(plan._chosen)
    assert (chosen[0] != chosen[1]).all()


def test_it_is_refused_where_it_cannot_be() -> None:
    agent = reacher()
    with pytest.raises(UserError, match="wocar audit --attacks lookahead"):
        attack_by_name("lookahead", agent, Threat(EPS), 0)
    assert not can_copy_states("CartPole-v1") and can_copy_states("Hopper-v4")
    spec = agent.spec._replace(id="Pendulum-v1")
    moved = AttackContext(Agent(spec, agent.normaliser, agent.policy, {}, {}), 0)
    assert "copies of the simulator" in (kind_of("lookahead").lacking(moved, Threat(EPS)) or "")


def test_an_audit_runs_it_and_repeats_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack_context, "WORST_STEPS", 512)
    monkeypatch.setattr(attack_context, "ROLLOUT_STEPS", 1024)
    monkeypatch.setattr(AttackContext, "worst_critic", lambda self, threat, explorations: critic(self.agent))
    monkeypatch.setattr(AttackContext, "directors", lambda self, threat: directors(self.agent, 3))
    settings = {"directors": 2, "horizon": 5}
    attacks = {"none": [{}], "lookahead": [settings]}
    plan = AuditPlan(threats=(Threat(EPS),), attacks=attacks, episodes=4, select_episodes=4, finalists=2)
    first, again = (audit(reacher(), plan, AuditFolder(tmp_path / name)) for name in ("a", "b"))
    row = first["attacks"]["lookahead"]
    assert row["mean"] < first["attacks"]["none"]["mean"] and first["worst"] == "lookahead"
    assert row["returns"] == again["attacks"]["lookahead"]["returns"]
    assert row["settings"] == "Lookahead(5 attacks, horizon=5, hold=5)" and 0 < (row["budget_used"] or 0) <= 1
    kept = audit(reacher(), plan, AuditFolder(tmp_path / "a"))
    assert kept["attacks"] == first["attacks"]
