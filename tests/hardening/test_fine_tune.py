"""Trainers that start from an agent: nothing of it is lost, and its policy waits until critics are fitted."""

import dataclasses
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.black_box import black_box
from wocar.envs import env_spec, make_env
from wocar.evaluation.imitation_examples import attacked_states
from wocar.hardening import LEAD, logit_scale
from wocar.methods.hardening import hardening_config, hardening_methods, warm_up_iterations
from wocar.methods.presets import make_algorithm
from wocar.networks import (
    ActionCritic,
    CategoricalPolicy,
    GaussianPolicy,
    GreedyPolicy,
    RunningNormaliser,
    ScaledNormaliser,
    SquashedPolicy,
    ValueCritic,
    mlp,
)
from wocar.threat import Threat
from wocar.training.fine_tune import (
    ClippedActions,
    fine_tuning,
    frozen_normaliser,
    in_unit_actions,
    known_scale,
    stochastic_actor,
)
from wocar.training.reward import RewardScaler
from wocar.types import ActionSpace, UserError

KEY = jax.random.key(0)
SIZE = 31
TINY = {"n_envs": 2, "n_steps": 8, "hidden": (8,)}
PPO = {**TINY, "minibatches": 2, "policy_epochs": 1, "value_epochs": 1, "critic_epochs": 1, "critic_minibatches": 1}


def make_agent(kind: str) -> Agent:
    """An agent as other libraries have them: a frozen normaliser, and other widths than any preset."""
    discrete = kind in ("categorical", "greedy")
    spec, body = env_spec("Signals-v0" if discrete else "Dial-v0"), mlp([SIZE, 5, 2 if discrete else 1], KEY)
    policies: dict[str, Any] = {
        "categorical": lambda: CategoricalPolicy(body),
        "greedy": lambda: GreedyPolicy(body),
        "gaussian": lambda: GaussianPolicy(body, jnp.zeros(1)),
        "squashed": lambda: SquashedPolicy(body, -jnp.ones(1), jnp.ones(1)),
    }
    critics: dict[str, Any] = {"value": ValueCritic.create(SIZE, KEY, (7,))}
    if kind == "squashed":
        critics = {name: ActionCritic.create(SIZE, 1, KEY, (7,)) for name in ("q", "q-twin")}
    meta = {"method": "a2c" if kind == "gaussian" else "?", "reward_std": 2.0, "clip_actions": kind == "gaussian"}
    normaliser = ScaledNormaliser(np.full(SIZE, 0.1), np.full(SIZE, 0.5))
    return Agent(spec, normaliser, policies[kind](), critics, meta)


def trainer_of(agent: Agent, tmp_path: Path, warm_up: int, **settings: Any) -> Any:
    config = hardening_config(agent, Threat(0.3), tmp_path, steps=64, settings={**TINY, **settings})
    return fine_tuning(config, make_algorithm(config, agent.spec), agent.spec, agent, warm_up)


METHODS = {"categorical": "wocar-ppo", "greedy": "wocar-ppo", "gaussian": "wocar-a2c", "squashed": "wocar-sac"}
SETTINGS: dict[str, dict[str, Any]] = {
    "categorical": PPO,
    "greedy": PPO,
    "gaussian": {"critic_epochs": 1, "critic_minibatches": 1, "min_std": 0.0},
    "squashed": {"batch_size": 4, "train_freq": 4, "policy_delay": 1, "n_steps": 8},
}


@pytest.mark.parametrize("kind", METHODS)
def test_training_starts_as_the_agent_and_its_policy_waits_for_the_critics(tmp_path: Path, kind: str) -> None:
    agent = make_agent(kind)
    assert hardening_methods(agent)[0] == METHODS[kind]
    trainer = trainer_of(agent, tmp_path, warm_up=2, **SETTINGS[kind])
    z = np.random.default_rng(0).normal(size=(6, SIZE)).astype(np.float32)
    np.testing.assert_allclose(trainer.agent().head(z), agent.head(z), atol=1e-6)
    env = make_env(agent.spec.id, 2, 0)
    trainer.begin(env, np.random.default_rng(0))
    moved = []
    for iteration in range(3):
        trainer.iterate(iteration)
        moved.append(bool(np.abs(trainer.agent().head(z) - agent.head(z)).max() > 1e-6))
    assert moved == [False, False, True]
    found = trainer.agent()
    assert type(found.policy) is type(agent.policy) or kind == "squashed"
    assert found.normaliser is agent.normaliser
    assert found.meta.get("clip_actions") == agent.meta["clip_actions"]
    assert set(found.critics) > ({"value"} if kind != "squashed" else set())
    env.close()


def test_a_q_network_is_trained_as_its_softmax_with_the_same_greedy_actions(tmp_path: Path) -> None:
    agent = make_agent("greedy")
    scale = logit_scale(agent, Threat(0.3))
    seen = attacked_states(agent, None, Threat(0.3), 512, seed=5)
    config = hardening_config(agent, Threat(0.3), tmp_path, steps=64, settings=PPO)
    trainer: Any = fine_tuning(config, make_algorithm(config, agent.spec), agent.spec, agent, 0, scale)
    acting = trainer.trainer.learner.policy
    assert type(acting) is CategoricalPolicy
    np.testing.assert_allclose(acting.head(seen), scale * agent.head(seen), rtol=1e-4, atol=1e-5)
    leads = np.abs(np.diff(np.asarray(acting.head(seen)), axis=-1))
    assert LEAD / 1.5 < np.median(leads) < LEAD * 1.5
    assert logit_scale(make_agent("categorical"), Threat(0.3)) == 1.0
    assert vars(config.robust)["director_share"] == 0.5
    by_values = hardening_config(agent, Threat(0.3), tmp_path, method="wocar-dqn")
    assert (by_values.method, by_values.algorithm.kind) == ("wocar-dqn", "dqn")


def test_actions_reach_the_environments_within_their_range() -> None:
    env = make_env("Dial-v0", 2, 0)
    env.reset()
    clipped = ClippedActions(env)
    clipped.reset()
    rewards = clipped.step(np.array([[5.0], [-5.0]], np.float32)).rewards
    assert set(np.abs(rewards)) == {1.0}
    clipped.close()


def test_a_critic_of_scaled_actions_is_taken_back_to_units() -> None:
    low, high = jnp.array([-2.0, 0.0]), jnp.array([4.0, 1.0])
    critic = ActionCritic.create(3, 2, KEY, (7,))
    again = in_unit_actions(critic.in_units(low, high), low, high)
    for old, new in zip(jax.tree.leaves(critic), jax.tree.leaves(again), strict=True):
        if eqx.is_array(old):
            np.testing.assert_allclose(old, new, atol=1e-6)


def test_an_actor_without_noise_keeps_its_actions() -> None:
    policy = SquashedPolicy(mlp([3, 5, 2], KEY), jnp.array([-2.0, 0.0]), jnp.array([4.0, 1.0]))
    obs = jax.random.normal(KEY, (4, 3))
    np.testing.assert_allclose(stochastic_actor(policy).mode(obs), policy.mode(obs), atol=1e-6)


def test_a_running_normaliser_is_frozen_and_the_scale_of_rewards_is_known() -> None:
    running = RunningNormaliser.create((3,)).update(np.random.default_rng(0).normal(2, 3, (50, 3)))
    obs = np.random.default_rng(1).normal(size=(4, 3))
    np.testing.assert_array_equal(frozen_normaliser(running)(obs), running(obs))
    assert known_scale(RewardScaler.create(2), 7.0).returns.std == pytest.approx(7.0)


def test_a_raw_threat_is_that_of_the_normalised_observations(tmp_path: Path) -> None:
    agent = make_agent("categorical")
    config = hardening_config(agent, Threat(0.2, units="raw"), tmp_path, settings=TINY)
    assert config.threat is not None
    assert config.threat.units == "normalised"
    np.testing.assert_allclose(config.threat.eps * np.array(config.threat.radii), 0.2 / 0.5)
    assert warm_up_iterations(config) == round(0.1 * config.iterations)


def test_what_cannot_be_hardened_is_refused(tmp_path: Path) -> None:
    agent = make_agent("squashed")
    with pytest.raises(UserError, match="wocar-ppo cannot go on from this agent's policy; wocar-sac can"):
        hardening_config(agent, Threat(0.1), tmp_path, method="wocar-ppo")
    with pytest.raises(UserError, match="ppo does not harden agents"):
        hardening_config(agent, Threat(0.1), tmp_path, method="ppo")
    strange = dataclasses.replace(make_agent("categorical"))
    strange.policy = object()
    with pytest.raises(UserError, match="a object cannot be hardened"):
        hardening_methods(strange)
    with pytest.raises(UserError, match="a black box cannot be hardened"):
        hardening_methods(black_box(lambda obs: 0, agent.spec._replace(actions=ActionSpace(2))))
