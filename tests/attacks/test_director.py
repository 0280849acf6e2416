"""Linear directors: exact on linear policies, and found by search where the worst attack is known."""

from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from wocar.agent import Agent
from wocar.attacks import Perturbation
from wocar.attacks.director import LinearDirector
from wocar.attacks.director_search import returns_under, search_directors
from wocar.bounds import Ball
from wocar.envs import env_spec
from wocar.episodes import run_episodes
from wocar.evaluation.attack_context import AttackContext
from wocar.mechanisms.directors import constant_directors
from wocar.networks import GaussianPolicy, ScaledNormaliser, linear
from wocar.threat import Threat
from wocar.training.adversary import train_attacker

EPS = 0.1
MATRIX = np.array([[1.0, -2.0, 0.0], [0.5, 1.0, 1.0]], np.float32)
STEPS = 8


class Rail(gymnasium.Env):
    """Three random numbers are shown; the reward is the first action minus the second."""

    observation_space = Box(-2, 2, (3,), np.float32)
    action_space = Box(-9, 9, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        return self._seen(), float(action[0] - action[1]), self.t == STEPS, False, {}

    def _seen(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)


gymnasium.register("Rail-v0", Rail)


def linear_policy() -> GaussianPolicy:
    return GaussianPolicy(eqx.nn.Sequential([linear(jnp.asarray(MATRIX), jnp.zeros(2))]), jnp.zeros(2))


@pytest.fixture(scope="module")
def agent() -> Agent:
    return Agent(env_spec("Rail-v0"), ScaledNormaliser(np.zeros(3), np.ones(3), 10.0), linear_policy())


def perturbed(attack: LinearDirector, obs: np.ndarray) -> np.ndarray:
    ball = Ball(EPS)
    shown = attack.perturb(linear_policy(), ball, jnp.asarray(obs), jax.random.key(0))
    return np.asarray(ball.project(jnp.asarray(obs), shown))


def test_on_a_linear_policy_it_is_the_best_corner_of_the_ball() -> None:
    """argmax over the ball of <d, M s~> is s + eps sign(Mᵀ d)."""
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(5, 3)).astype(np.float32)
    weight, bias = (rng.normal(size=s).astype(np.float32) for s in ((2, 3), (2,)))
    wanted = obs @ weight.T + bias
    np.testing.assert_allclose(
        perturbed(LinearDirector(jnp.asarray(weight), jnp.asarray(bias)), obs),
        obs + EPS * np.sign(wanted @ MATRIX),
        atol=1e-6,
    )


def test_a_row_follows_its_own_director() -> None:
    rng = np.random.default_rng(1)
    obs, bias = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=(4, 2)).astype(np.float32)
    weight = rng.normal(size=(4, 2, 3)).astype(np.float32)
    together = perturbed(LinearDirector(jnp.asarray(weight), jnp.asarray(bias)), obs)
    for i in range(4):
        alone = perturbed(LinearDirector(jnp.asarray(weight[i]), jnp.asarray(bias[i])), obs[i : i + 1])
        np.testing.assert_allclose(together[i : i + 1], alone, atol=1e-6)


@pytest.mark.parametrize(("actions", "most", "count"), [(2, 64, 8), (3, 64, 26), (6, 64, 64)])
def test_constant_directors_are_all_or_as_many_as_there_is_room_for(actions: int, most: int, count: int) -> None:
    found = constant_directors(actions, 5, most, np.random.default_rng(0))
    assert found.bias.shape == (count, actions) and found.weight.shape == (count, actions, 5)
    assert found.bias.any(axis=1).all() and not found.weight.any()
    assert count == most or len(np.unique(found.bias, axis=0)) == count


def test_the_search_finds_the_worst_attack_where_it_is_a_constant_push(agent: Agent) -> None:
    """The reward is <(1, -1), a>: no attack takes more than eps ||Mᵀ(1, -1)||_1 of it in a step."""
    found: Any = search_directors(agent, Threat(EPS), seed=3, generations=2, population=16)[0]
    weight, bias = (np.asarray(x)[None] for x in (found.weight, found.bias))
    constants = constant_directors(2, 3, 16, np.random.default_rng(0))
    shown = constants._replace(weight=weight, bias=bias)
    still = constants._replace(weight=0 * weight, bias=0 * bias)
    drop = returns_under(agent, still, Threat(0.0), 7)[0] - returns_under(agent, shown, Threat(EPS), 7)[0]
    most = STEPS * EPS * np.abs(MATRIX.T @ np.array([1.0, -1.0])).sum()
    assert drop[0] == pytest.approx(most, rel=0.02)


@pytest.mark.parametrize(("kind", "wanted"), [("pa-ad", [-(0.5**0.5), 0.5**0.5]), ("sa-rl", [-1.0, 1.0, 1.0])])
def test_a_director_shows_attackers_how_to_begin(
    agent: Agent, kind: str, wanted: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reward is <(1, -1), a>: push along (-1, 1), and what is seen by the sign of Mᵀ(-1, 1)."""
    monkeypatch.setattr("wocar.evaluation.imitation_examples.STATES", 2048)
    worst = LinearDirector(jnp.zeros((2, 3)), jnp.array([-1.0, 1.0]))
    monkeypatch.setattr(AttackContext, "directors", lambda self, threat: (worst,))
    found = AttackContext(agent, 0).examples(kind, Threat(EPS), "director")
    assert found is not None and found.obs.shape == (2048, 3)
    np.testing.assert_allclose(found.wanted, np.tile(wanted, (2048, 1)), atol=1e-4)


def test_an_attacker_trained_by_sac_approaches_the_worst_attack(agent: Agent, tmp_path: Path) -> None:
    settings = {
        "trainer": "sac",
        "hidden": (32, 32),
        "batch_size": 64,
        "learning_starts": 128,
        "gamma": 0.0,
        "n_envs": 4,
    }
    attack = train_attacker("pa-ad", agent, Threat(EPS), tmp_path / "run", 1500, 0, {**settings, "learning_rate": 3e-3})
    taken = [
        run_episodes(agent, 16, 7, n_envs=4, perturb=Perturbation(a, Threat(EPS).ball_for(agent), 0) if a else None)
        for a in (None, attack)
    ]
    drop = taken[0].returns.mean() - taken[1].returns.mean()
    assert drop > 0.9 * STEPS * EPS * np.abs(MATRIX.T @ np.array([1.0, -1.0])).sum()
