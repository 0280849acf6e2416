"""The worst-attack value of a fixed policy, against the exact answer where one is known."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wocar
from wocar.agent import Agent
from wocar.bounds import Ball, action_mask
from wocar.cli import main
from wocar.envs import env_spec
from wocar.envs.tabular import TabularMDP, policy_evaluation, worst_value_iteration, worst_values
from wocar.evaluation import estimate, worst_critic
from wocar.evaluation.estimate import settled
from wocar.evaluation.worst_case import calibrate, worst_case
from wocar.evaluation.worst_critic import FIT, collect_rollout, explore, explored, fit_worst_value
from wocar.mechanisms.worst_set import ActionSet
from wocar.networks import CategoricalPolicy, GaussianPolicy, RunningNormaliser
from wocar.networks.layers import linear
from wocar.threat import Threat
from wocar.types import ActionSpace, EnvSpec, Interval, Transitions

RUNS_LONG = True
EPS = 0.05


def grid_agent() -> Agent:
    spec = env_spec("GoHomeGrid-v0")
    policy = CategoricalPolicy.create(spec.obs_shape[0], spec.actions.size, jax.random.key(4), (16,))
    return Agent(spec, RunningNormaliser.create(spec.obs_shape, np.inf), policy)


def test_the_fitted_critic_finds_the_exact_worst_value() -> None:
    """Two states, two actions that lead to them; in state 0 the policy can be tricked into either action."""
    rewards, gamma = np.array([[1.0, 0.0], [0.5, -1.0]]), 0.8
    network = eqx.nn.Sequential([linear(np.array([[0.0], [1.0]]), np.array([0.0, 0.97]))])
    spec = EnvSpec("two-states", (1,), ActionSpace(2))
    agent = Agent(spec, RunningNormaliser.create((1,), np.inf), CategoricalPolicy(network))
    states = np.array([[-1.0], [1.0]], np.float32)
    mask = np.asarray(action_mask(network, Ball(EPS), jnp.asarray(states), "crown"))
    assert mask.tolist() == [[True, True], [False, True]]
    leads_to = np.broadcast_to(np.eye(2), (2, 2, 2))
    mdp = TabularMDP(leads_to, rewards, gamma, np.zeros(2, bool))
    exact = worst_value_iteration(mdp, mask)

    actions = np.random.default_rng(0).integers(0, 2, (1, 400)).astype(np.int32)
    path = np.concatenate([[[0]], actions], axis=1)
    here, there = path[:, :-1], path[:, 1:]
    ends = np.zeros((1, 400), bool)
    rollout = Transitions(states[here], actions, rewards[here, actions].astype(np.float32), states[there], ends, ends)
    critic = fit_worst_value(agent, Threat(EPS), rollout, scale=1.0, sweeps=400, seed=0, gamma=gamma).target
    np.testing.assert_allclose(critic(jnp.asarray(states)), exact, atol=0.05)
    found = worst_case(agent, critic, Threat(EPS))(states)
    np.testing.assert_allclose(found.value, worst_values(exact, mask), atol=0.05)
    natural = fit_worst_value(agent, Threat(0.0), rollout, scale=1.0, sweeps=400, seed=0, gamma=gamma).target
    values = worst_case(agent, natural, Threat(0.0))(states).value
    np.testing.assert_allclose(values, policy_evaluation(mdp, np.array([0, 1])), atol=0.05)
    assert values[0] > exact.max() + 1


def test_calibration_of_a_critic_that_knows_nothing_is_far_off() -> None:
    spec = env_spec("Pendulum-v1")
    policy = GaussianPolicy.create(3, 1, jax.random.key(0), (8,))
    agent = Agent(spec, RunningNormaliser.create((3,), np.inf), policy)
    rollout = collect_rollout(agent, 256, seed=0, n_envs=4)
    critic = fit_worst_value(agent, Threat(0.1), rollout, scale=100.0, sweeps=1, seed=0).target
    check = calibrate(agent, critic, Threat(0.1), 100.0, seed=0, episodes=2, horizon=50)
    assert check.achieved < -100 and abs(check.ratio - 1) > 0.5


def test_the_command_reports_every_radius(tmp_path: Path) -> None:
    agent = grid_agent()
    agent.save(tmp_path / "agent")
    words = [
        str(tmp_path / "agent"),
        "--eps",
        "0.05,0.1",
        "--steps",
        "320",
        "--sweeps",
        "2",
        "--explorations",
        "1",
        "--episodes",
        "4",
    ]
    try:
        main(["estimate", *words, "--json", str(tmp_path / "out.json")])
    except SystemExit as stop:
        assert not stop.code
    data = json.loads((tmp_path / "out.json").read_text())
    assert [row["eps"] for row in data["radii"]] == [0.0, 0.05, 0.1]
    assert data["radii"][0]["gap"] == 0.0 and np.isfinite(data["natural_measured"])


def test_an_explorer_stays_inside_the_sets_and_tries_more_than_the_worst() -> None:
    rng = np.random.default_rng(0)
    mode = rng.normal(size=(500, 2)).astype(np.float32)
    box = Interval(mode - np.array([0.1, 0.5]), mode + np.array([0.3, 0.0]))
    worst = np.asarray(box.lower, np.float32)
    actions = explored(ActionSet(mode, box, None, np.ones(500)), worst, rng)
    assert np.all(actions >= box.lower - 1e-6) and np.all(actions <= box.upper + 1e-6)
    followed = np.all(actions == worst, axis=1).mean()
    assert 0.4 < followed < 0.7

    mask = rng.uniform(size=(500, 4)) < 0.5
    mask[:, 0] = True
    chosen = explored(ActionSet(np.zeros(500, int), None, mask, np.ones(500)), np.zeros(500, int), rng)
    assert np.all(mask[np.arange(500), chosen]) and len(set(chosen.tolist())) == 4


def test_exploring_leads_where_the_policy_never_goes() -> None:
    spec = env_spec("Pendulum-v1")
    network = eqx.nn.Sequential([linear(np.array([[0.0, 0.0, 0.2]]), np.zeros(1))])
    policy = GaussianPolicy(network, jnp.full(1, -10.0))
    agent = Agent(spec, RunningNormaliser.create((3,), np.inf), policy)
    own = collect_rollout(agent, 400, seed=0, n_envs=4)
    critic = fit_worst_value(agent, Threat(0.5), own, scale=100.0, sweeps=2, seed=0)
    found = explore(agent, critic, Threat(0.5), 400, 0, FIT)
    torque = 0.2 * found.obs[..., 2:]
    assert np.all(np.abs(found.actions - np.clip(torque, -2, 2)) <= 0.1 + 1e-5)
    assert np.abs(found.actions - np.clip(torque, -2, 2)).mean() > 0.03


@pytest.fixture
def short_explorations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worst_critic, "explore", lambda a, c, t, steps, *rest: explore(a, c, t, 64, *rest))


SMALL = ["--eps", "0.05", "--steps", "320", "--sweeps", "2", "--episodes", "4"]


@pytest.mark.usefixtures("short_explorations")
def test_a_stopped_estimate_goes_on_with_the_radii_that_it_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grid_agent().save(tmp_path / "agent")
    words = ["estimate", str(tmp_path / "agent"), *SMALL, "--explorations", "2", "--json", str(tmp_path / "out.json")]
    whole = estimate.fit_worst_value

    def stops(agent: Agent, threat: Threat, *rest: Any, **more: Any) -> Any:
        if threat.eps:
            raise KeyboardInterrupt
        return whole(agent, threat, *rest, **more)

    monkeypatch.setattr(estimate, "fit_worst_value", stops)
    with pytest.raises(SystemExit) as stop:
        main(words)
    said = capsys.readouterr().err
    assert stop.value.code == 130 and f"1 radii are kept in {tmp_path / 'out.parts'}; go on with: wocar " in said
    assert "eps 0: exploration 1 of 2, value so far" in said
    monkeypatch.setattr(estimate, "fit_worst_value", lambda *a, **k: whole(*a, **k) if a[1].eps else 1 / 0)
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert not stop.value.code
    assert [row["eps"] for row in json.loads((tmp_path / "out.json").read_text())["radii"]] == [0.0, 0.05]


@pytest.mark.usefixtures("short_explorations")
def test_a_quick_estimate_ends_where_the_value_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settled([0.0, 50.0, 100.0, 102.0, 104.0], natural=100.0)
    assert not settled([0.0, 50.0, 100.0, 102.0, 106.0], natural=100.0)
    assert not settled([100.0, 100.0, 100.0], natural=100.0)  # the first fit has seen no exploration
    agent, seen = grid_agent(), []
    how: dict[str, Any] = {"eps": 0.05, "steps": 320, "sweeps": 1, "explorations": 6, "episodes": 4}
    monkeypatch.setattr(estimate, "SETTLED_WITHIN", 1e9)
    found = wocar.estimate(agent, **how, quick=True, on_progress=lambda eps, done, total, value: seen.append(done))
    assert max(seen) == 3 and len(found["radii"]) == 2
