"""PPO with a memory: what it is told is what the agent lived through, it learns to remember, and it resumes."""

import dataclasses
from pathlib import Path
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent, load_agent
from wocar.envs import env_spec, make_env
from wocar.episodes import run_episodes
from wocar.mechanisms.objective import Vanilla
from wocar.methods.presets import default_config, make_algorithm
from wocar.networks import RunningNormaliser
from wocar.rollout import Collector, Rollout
from wocar.training.learner import Learner, forget, make_batch, minibatches
from wocar.training.loop import train
from wocar.training.ppo import PPO, PPOConfig
from wocar.training.recurrent_ppo import RecurrentPPOConfig
from wocar.training.run_config import RunConfig, from_json, to_json
from wocar.types import Batch, Memory, UserError

KEY = jax.random.key(0)
RUNS_LONG = True


class Cue(gymnasium.Env):
    """A cue is shown once; two blank steps later its action is worth 1."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.cue, self.now = int(self.np_random.integers(2)), 0
        return np.array([2 * self.cue - 1, 0], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.now += 1
        asked = self.now == 3
        return np.array([0, self.now == 2], np.float32), float(asked and action == self.cue), asked, False, {}


class Noise(gymnasium.Env):
    """Random observations; episodes of 1 to 9 steps, terminated or truncated."""

    observation_space = gymnasium.spaces.Box(-9, 9, (3,))
    action_space = gymnasium.spaces.Box(-9, 9, (2,))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(1, 10))
        return self.np_random.standard_normal(3).astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.left -= 1
        done, lucky = self.left == 0, bool(self.np_random.integers(2))
        return self.np_random.standard_normal(3).astype(np.float32), 1.0, done and lucky, done and not lucky, {}


gymnasium.register("Cue-v0", Cue)
gymnasium.register("Noise-v0", Noise)
CONFIG = RecurrentPPOConfig(n_envs=4, n_steps=7, hidden=(8,), init_std=1e-4, gae_lambda=0.0, policy_epochs=1, chunk=3)


def loud(learner: Learner) -> Learner:
    """Networks in which the memory matters from the start."""
    policy, value = jax.tree.map(lambda x: 3 * x, (learner.policy, learner.value))
    policy = eqx.tree_at(lambda p: p.log_std, policy, learner.policy.log_std)
    weight = jnp.asarray(np.random.default_rng(0).standard_normal((8, 3)), jnp.float32)
    for_both = [eqx.tree_at(lambda p: p.network.embedding.layers[0].weight, p, weight) for p in (policy, value)]
    return learner._replace(policy=for_both[0], value=for_both[1])


@pytest.fixture(scope="module")
def lived() -> list[tuple[Rollout, Batch, Learner]]:
    """Three rollouts in a row of a policy without noise, the batches they became, and the memory before them."""
    spec, algorithm = env_spec("Noise-v0"), PPO(CONFIG, Vanilla())
    learner = loud(algorithm.init(spec, KEY))
    agent = Agent(spec, RunningNormaliser.create(spec.obs_shape), learner.policy)
    collector = Collector(make_env("Noise-v0", 4, 0), np.random.default_rng(0))
    batches = []
    for _ in range(3):
        rollout = collector.collect(agent, CONFIG.n_steps)
        learner = forget(learner, rollout.begins)
        outputs = CONFIG.networks.run(learner.policy, learner.value, learner.memory, rollout.transitions)
        batches.append((rollout, make_batch(rollout.transitions, outputs, CONFIG.gamma, CONFIG.gae_lambda), learner))
        learner = learner._replace(memory=outputs.after)
    return batches


def test_the_update_sees_what_the_agent_did(lived: list[tuple[Rollout, Batch, Learner]]) -> None:
    """Noise is 1e-4 here, so an action is the head of that moment, memory and all."""
    networks, begun = CONFIG.networks, []
    for rollout, batch, learner in lived:
        heads = networks.policy(learner.policy, batch).head(batch.obs)
        np.testing.assert_allclose(heads, batch.actions, atol=1e-3)
        np.testing.assert_allclose(learner.policy.held(batch.memory.policy).head(batch.obs), heads, atol=1e-5)
        begun.append(rollout.begins)
    assert begun[0].all()
    assert not begun[1].all()
    fresh, transitions = lived[1][2], lived[1][0].transitions
    nothing = jax.tree.map(jnp.zeros_like, fresh.memory)
    outputs = networks.run(fresh.policy, fresh.value, nothing, transitions)
    forgetful = make_batch(transitions, outputs, CONFIG.gamma, CONFIG.gae_lambda)
    heads = networks.policy(fresh.policy, forgetful).head(forgetful.obs)
    assert np.abs(heads - lived[1][1].actions).max() > 0.01


def test_values_bootstrap_from_the_memory_of_their_moment(lived: list[tuple[Rollout, Batch, Learner]]) -> None:
    """With lambda 0, A = r + gamma V(s') - V(s), where V(s') is the next step's V if the episode goes on."""
    for rollout, batch, learner in lived:
        grid = (CONFIG.n_envs, CONFIG.n_steps)
        value, advantage = (np.reshape(x, grid) for x in (batch.value, batch.advantage))
        goes_on = ~(rollout.transitions.terminated | rollout.transitions.truncated)[:, :-1]
        expected = 1 + CONFIG.gamma * value[:, 1:] - value[:, :-1]
        np.testing.assert_allclose(advantage[:, :-1][goes_on], expected[goes_on], atol=1e-4)
        np.testing.assert_allclose(
            advantage[rollout.transitions.terminated], 1 - value[rollout.transitions.terminated], atol=1e-5
        )
        np.testing.assert_allclose(CONFIG.networks.values(learner.value, batch), batch.value, atol=1e-5)


def test_before_it_moves_the_policy_is_the_one_that_acted(lived: list[tuple[Rollout, Batch, Learner]]) -> None:
    still = PPO(dataclasses.replace(CONFIG, policy_lr=0.0, minibatches=2), Vanilla())
    rollout, batch, learner = lived[2]
    after, info = still.update(jax.tree.map(jnp.array, learner), rollout.transitions, jax.random.key(1), jnp.float32(0))
    assert abs(float(info["kl"])) < 1e-3
    assert float(info["clipped"]) == 0
    start, end = (np.asarray(x.memory.policy.h).reshape(4, 7, 8) for x in (batch, lived[1][1]))
    carried = ~rollout.begins
    assert carried.any()
    assert np.abs(start[carried, 0]).max() > 0.01
    assert not np.any(start[rollout.begins, 0])
    assert np.abs(start[carried, 0] - end[carried, -1]).max() > 1e-3  # one step on
    assert jax.tree.structure(after) == jax.tree.structure(learner)


def test_minibatches_hold_whole_sequences() -> None:
    rows = jnp.arange(24)
    batch = Batch(*[rows] * 11, memory=Memory(jnp.stack([rows, -rows], axis=1)))
    parts = minibatches(batch, KEY, 2, block=4)
    assert parts.obs.shape == (2, 12)
    blocks = np.asarray(parts.obs).reshape(6, 4)
    np.testing.assert_array_equal(blocks, blocks[:, :1] + np.arange(4))
    assert sorted(blocks[:, 0].tolist()) == [0, 4, 8, 12, 16, 20]
    assert blocks[:, 0].tolist() != [0, 4, 8, 12, 16, 20]
    np.testing.assert_array_equal(parts.memory.policy[..., 0], parts.obs)
    np.testing.assert_array_equal(minibatches(batch, KEY, 3).obs, jax.random.permutation(KEY, 24).reshape(3, 8))


QUICK: dict[str, Any] = {"n_envs": 8, "n_steps": 32, "policy_epochs": 8, "value_epochs": 8, "policy_lr": 1e-2}
RAW: dict[str, Any] = {"value_lr": 1e-2, "normalise_obs": False, "normalise_reward": False}


def run(out: Path, config: PPOConfig, steps: int, **options: Any) -> Agent:
    whole = RunConfig("lstm-ppo", env="Cue-v0", steps=steps, out=out, algorithm=config, **options)
    whole.check()
    return train(whole, make_algorithm(whole, env_spec("Cue-v0")), env_spec("Cue-v0"))


def test_an_lstm_remembers_the_cue_and_an_mlp_cannot(tmp_path: Path) -> None:
    lstm = run(tmp_path / "lstm", RecurrentPPOConfig(**QUICK, **RAW, hidden=(8,)), 10_000)
    mlp = run(tmp_path / "mlp", PPOConfig(**QUICK, **RAW, minibatches=2), 5_000)
    assert run_episodes(lstm, 200, 0).returns.mean() > 0.95
    assert run_episodes(mlp, 200, 0).returns.mean() < 0.65
    again = load_agent(tmp_path / "lstm" / "agent")
    assert again.recurrent
    assert type(again.critics["value"]).__name__ == "RecurrentCritic"


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    config = RecurrentPPOConfig(n_envs=2, n_steps=8, hidden=(4,), minibatches=2, policy_epochs=1, value_epochs=1)
    whole = run(tmp_path / "whole", config, 16 * 6, checkpoint_every=32)
    half = tmp_path / "half"
    run(half, config, 16 * 6, checkpoint_every=32)
    for newest in sorted((half / "checkpoints").iterdir())[-1:]:
        for file in newest.iterdir():
            file.unlink()
        newest.rmdir()
    again = run(half, config, 16 * 6, checkpoint_every=32, resume=True)
    for x, y in zip(jax.tree.leaves(whole.policy), jax.tree.leaves(again.policy), strict=True):
        np.testing.assert_array_equal(x, y)
    assert (half / "agent" / "agent.safetensors").read_bytes() == (
        tmp_path / "whole" / "agent" / "agent.safetensors"
    ).read_bytes()


def test_the_preset_has_the_published_rates_and_survives_json(tmp_path: Path) -> None:
    rates = {"Hopper": (1e-3, 1e-2), "Walker2d": (1e-3, 3e-2), "HalfCheetah": (3e-3, 3e-3), "Ant": (3e-4, 3e-4)}
    for task, (policy_lr, value_lr) in rates.items():
        config = default_config("lstm-ppo", f"{task}-v4")
        assert isinstance(config.algorithm, RecurrentPPOConfig)
        assert (config.algorithm.policy_lr, config.algorithm.value_lr) == (policy_lr, value_lr)
        assert (config.algorithm.hidden, config.algorithm.chunk, config.algorithm.minibatches) == ((64,), 100, 1)
        config.check()
        assert from_json(to_json(config), config.out) == dataclasses.replace(config, resume=True)


def test_what_an_lstm_cannot_do_is_told() -> None:
    config = default_config("lstm-ppo", "Hopper-v4")
    wide = dataclasses.replace(config, algorithm=dataclasses.replace(config.algorithm, minibatches=17))
    deep = dataclasses.replace(config, algorithm=dataclasses.replace(config.algorithm, hidden=(64, 64)))
    for wrong, words in ((wide, "n_envs = 16"), (deep, "one number")):
        with pytest.raises(UserError, match=words):
            wrong.check()
