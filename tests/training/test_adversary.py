"""Adversaries in training: their environment by hand, the host path against JAX, resuming, and that they hurt."""

import json
import shutil
from pathlib import Path

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.attacks import Random
from wocar.attacks.base import Perturbation
from wocar.attacks.learned import Actor, Direction, Displacement, TargetAction, load_attack
from wocar.bounds import Ball
from wocar.cli import main
from wocar.envs import env_spec, make_env
from wocar.envs.go_home import HOME, GoHomeDiscrete
from wocar.episodes import run_episodes
from wocar.methods.attackers import attacker_grid, attacker_settings
from wocar.networks import CategoricalPolicy, GaussianPolicy
from wocar.networks.layers import linear, mlp
from wocar.networks.normaliser import ScaledNormaliser
from wocar.networks.recurrent import RecurrentPolicy
from wocar.threat import Threat
from wocar.training.adversary import train_attacker
from wocar.training.adversary_env import AdversaryEnv, host_show
from wocar.training.run_config import PPOConfig
from wocar.types import UserError

KEY = jax.random.key(0)
TINY = {"n_envs": 2, "n_steps": 16, "hidden": (8,), "minibatches": 2, "policy_epochs": 1, "value_epochs": 1}


class Echo(gymnasium.Env):
    """Three steps; the observation is the number of the episode at first, then ten times the action; reward: action."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
    action_space = gymnasium.spaces.Box(-1000, 1000, (1,))
    episode = 0

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.episode, self.steps = self.episode + 1, 0
        return np.full(1, self.episode, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.steps += 1
        return 10 * action, float(action[0]), self.steps == 3, False, {}


gymnasium.register("Echo-v0", Echo)


def dense(weight: np.ndarray, bias: np.ndarray) -> eqx.nn.Sequential:
    return eqx.nn.Sequential([linear(weight, bias)])


def echo_victim() -> Agent:
    """z = o / 2, action = 3 z."""
    policy = GaussianPolicy(dense(np.array([[3.0]]), np.zeros(1)), jnp.zeros(1))
    return Agent(env_spec("Echo-v0"), ScaledNormaliser(np.zeros(1), np.full(1, 2.0), np.inf), policy)


def walker(id: str) -> Agent:
    """Walks straight towards home, which takes it past the bomb."""
    spec, home = env_spec(id), np.array(HOME[:2])
    identity = ScaledNormaliser.identity((2,))
    if spec.actions.discrete:
        ways = 10 * GoHomeDiscrete.directions
        return Agent(spec, identity, CategoricalPolicy(dense(-ways, ways @ home)))
    return Agent(spec, identity, GaussianPolicy(dense(-4 * np.eye(2), 4 * home), jnp.zeros(2)))


def test_the_adversary_s_environment_by_hand() -> None:
    env = AdversaryEnv(echo_victim(), make_env("Echo-v0", 2, 0), Displacement(), Ball(0.1))
    np.testing.assert_allclose(env.reset(), [[0.5], [0.5]])
    step = env.step(np.array([[1.0], [-0.5]], np.float32))  # z~ = 0.6, 0.45; actions 1.8, 1.35
    np.testing.assert_allclose(step.obs, [[9.0], [6.75]], rtol=1e-6)
    np.testing.assert_allclose(step.rewards, [-1.8, -1.35], rtol=1e-6)
    step = env.step(np.array([[-7.0]], np.float32), np.array([1], np.int32))  # cut to -1: z~ = 6.65
    np.testing.assert_allclose(step.rewards, [-19.95], rtol=1e-6)
    step = env.step(np.zeros((2, 1), np.float32))
    np.testing.assert_allclose(step.rewards, [-27, -3 * 99.75], rtol=1e-6)
    assert step.terminated.tolist() == [False, True]
    assert not step.truncated.any()
    assert not step.is_reset.any()
    step = env.step(np.ones((2, 1), np.float32))
    assert step.is_reset.tolist() == [False, True]
    assert step.terminated.tolist() == [True, False]
    np.testing.assert_allclose(step.obs[1], 1.0)  # the second episode opens with 2
    step = env.step(np.ones((2, 1), np.float32))
    assert step.is_reset.tolist() == [True, False]
    np.testing.assert_allclose(step.rewards[1], -3.3, rtol=1e-6)
    env.close()


def test_a_recurrent_victim_keeps_its_memory_within_an_episode_only() -> None:
    policy = RecurrentPolicy.create(1, 1, KEY, hidden=4)
    policy = eqx.tree_at(lambda p: p.network.embedding, policy, mlp([1, 4], KEY))
    victim = Agent(env_spec("Echo-v0"), ScaledNormaliser.identity((1,)), policy)
    env = AdversaryEnv(victim, make_env("Echo-v0", 2, 0), Direction(), Ball(0.1))
    z = env.reset()
    states = [victim.start(1), victim.start(1)]
    direction = np.ones((2, 1), np.float32)
    for ids in ([0, 1], [1], [0, 1], [0, 1], [0, 1], [0], [0, 1]):
        step = env.step(direction[ids], np.array(ids, np.int32))
        for k, i in enumerate(ids):
            if step.is_reset[k]:
                states[i] = victim.start(1)
                continue
            gradient = jax.grad(lambda x, s=states[i]: policy.held(s).head(x[None])[0, 0])(jnp.asarray(z[i]))
            action, states[i] = victim.step(z[i][None] + 0.1 * np.sign(gradient), states[i])
            np.testing.assert_allclose(step.rewards[k], -action[0, 0], rtol=1e-4, atol=1e-6)
        z[ids] = step.obs
    env.close()


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("actor", [Displacement(), Direction()])
def test_the_host_shows_what_the_attack_shows(actor: Actor, discrete: bool, norm: str) -> None:
    rng = np.random.default_rng(0)
    network = mlp([5, 16, 3], KEY)
    policy = CategoricalPolicy(network) if discrete else GaussianPolicy(network, jnp.zeros(3))
    z = rng.uniform(0, 1, (6, 5)).astype(np.float32)
    size = 5 if isinstance(actor, Displacement) else 2 if discrete else 3
    actions = 2 * rng.standard_normal((6, size)).astype(np.float32)
    ball = Ball(0.3, norm, 0.0, 1.0)
    show = host_show(actor, policy, ball)
    assert show is not None
    wanted = ball.project(z, actor.move(policy, ball, jnp.asarray(z), jnp.asarray(actions)))
    np.testing.assert_allclose(show(z, actions), wanted, atol=1e-5)
    assert not np.allclose(wanted, z, atol=0.05)


def test_what_needs_more_than_products_is_left_to_jax() -> None:
    policy = CategoricalPolicy(mlp([5, 3], KEY))
    assert host_show(TargetAction(), policy, Ball(0.1)) is None
    assert host_show(Direction(5), policy, Ball(0.1)) is None
    assert host_show(Direction(), RecurrentPolicy.create(5, 3, KEY), Ball(0.1)) is None


@pytest.mark.parametrize(
    ("kind", "env", "actor"),
    [
        ("sa-rl", "GoHome-v0", None),
        ("pa-ad", "GoHome-v0", "sign"),
        ("pa-ad", "GoHomeDiscrete-v0", "sign"),
        ("pa-ad", "GoHomeDiscrete-v0", "target"),
    ],
)
def test_a_trained_attacker_hurts_where_chance_does_not(kind: str, env: str, actor: str | None, tmp_path: Path) -> None:
    victim, eps = walker(env), 0.3
    settings = {"n_envs": 8, "n_steps": 64, "gamma": 0.95, "policy_lr": 3e-3, "value_lr": 3e-3, "hidden": (32,)}
    settings |= {"minibatches": 8, "policy_epochs": 4, "value_epochs": 4}
    if actor:
        settings |= {"actor": actor, "pgd_steps": 10}
    attack = train_attacker(kind, victim, Threat(eps), tmp_path / "run", 6_000, 0, settings)
    attacked, by_chance = (
        run_episodes(victim, 24, 0, perturb=Perturbation(a, Ball(eps), 0)).returns.mean() for a in (attack, Random())
    )
    assert run_episodes(victim, 24, 0).returns.mean() > 5
    assert by_chance > 5
    assert attacked < 0  # the bomb, or never home


def test_a_training_belongs_to_its_victim(tmp_path: Path) -> None:
    victim, threat, settings = walker("GoHome-v0"), Threat(0.2, "l2"), dict(TINY)
    train_attacker("sa-rl", victim, threat, tmp_path / "run", 64, 0, settings)
    meta = json.loads((tmp_path / "run" / "agent" / "agent.json").read_text())["meta"]
    assert (meta["attack"], meta["eps"], meta["norm"]) == ("sa-rl", 0.2, "l2")
    assert Threat.from_json(meta["threat"]) == threat
    train_attacker("sa-rl", victim, threat, tmp_path / "run", 64, 0, settings)  # finished: nothing to do
    policy = eqx.tree_at(lambda p: p.network.layers[0].bias, victim.policy, jnp.ones(2))
    with pytest.raises(UserError, match="victim_digest"):
        other = Agent(victim.spec, victim.normaliser, policy)
        train_attacker("sa-rl", other, threat, tmp_path / "run", 64, 0, settings)


def test_the_command_line_trains_resumes_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim = tmp_path / "victim"
    walker("GoHome-v0").save(victim)
    tiny = ["--n-envs", "2", "--n-steps", "16", "--hidden", "8", "--minibatches", "2", "--policy-epochs", "1"]

    def wocar(*words: str) -> int:
        with pytest.raises(SystemExit) as stop:
            main(["train", *words])
        return int(stop.value.code or 0)

    run = [*tiny, "--steps", "256", "--checkpoint-every", "64", "--out", str(tmp_path / "run")]
    assert wocar("sa-rl", "--victim", str(victim), "--eps", "0.2", *run) == 0
    weights = tmp_path / "run" / "agent" / "agent.safetensors"
    whole = weights.read_bytes()
    last = max((tmp_path / "run" / "checkpoints").iterdir())
    shutil.rmtree(last)
    shutil.rmtree(weights.parent)
    assert wocar("sa-rl", "--resume", "--out", str(tmp_path / "run")) == 0
    assert weights.read_bytes() == whole
    load_attack(tmp_path / "run", env_spec("GoHome-v0"))
    capsys.readouterr()
    for words, reason in [
        (["sa-rl"], "--victim"),
        (["pa-ad", "--victim", str(victim), "--actor", "target", "--out", str(tmp_path / "a")], "discrete"),
        (["sa-rl", "--victim", str(victim), "--eps", "-1"], "--eps must be a number from 0 up"),
        (["sa-rl", "--victim", str(victim), "--threat", "action"], "they move observations"),
        (
            ["sa-rl", "--victim", str(victim), "--radii", "1", "0", "1", *tiny, "--out", str(tmp_path / "c")],
            "must be 2",
        ),
        (["sa-rl", "--victim", str(victim), "--normalise-obs"], "--normalise-obs"),
        (["sa-rl", "--victim", str(victim), "--env", "CartPole-v1", *tiny, "--out", str(tmp_path / "b")], "CartPole"),
        (["sa-rl", "--victim", str(tmp_path / "nobody")], "there is no"),
    ]:
        assert wocar(*words) == 2
        message = capsys.readouterr().err
        assert message.startswith("wocar: ")
        assert reason in message


def test_the_published_grid_has_its_rows() -> None:
    victim = walker("GoHome-v0")
    robust = Agent(
        victim.spec._replace(id="HalfCheetah-v4"), victim.normaliser, victim.policy, meta={"method": "sa-ppo"}
    )
    rows = attacker_grid(robust)
    assert len(rows) == len({json.dumps(row) for row in rows}) == 216
    assert {row["policy_lr"] for row in rows} == {1e-4, 3e-4, 1e-3}
    assert {row["value_lr"] for row in rows} == {3e-5, 1e-4, 3e-4}
    assert {row["init_std"] for row in rows} == {0.5}
    assert all(PPOConfig(**row) for row in [*rows, attacker_settings(victim)])
