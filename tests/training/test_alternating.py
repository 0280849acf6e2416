"""ATLA and PA-ATLA: what the agent is shown, whose memory is whose, honest counts, and resuming."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

from wocar.agent import Agent, load_agent
from wocar.attacks.learned import Direction, Displacement, load_attack
from wocar.bounds import Ball
from wocar.envs import env_spec, make_env
from wocar.envs.env_slice import EnvSlice
from wocar.methods.presets import default_config, make_algorithm
from wocar.networks import GaussianPolicy
from wocar.networks.layers import linear
from wocar.networks.normaliser import ScaledNormaliser
from wocar.training.adversary_env import Screen
from wocar.training.alternating import Alternating
from wocar.training.attacked_env import AttackedEnv
from wocar.training.loop import make_envs, train
from wocar.training.run_config import RunConfig, from_json, to_json


class Count(gymnasium.Env):
    """Three steps; shows 10 times the episode's number and the step within it; the reward is the action."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gymnasium.spaces.Box(-9, 9, (1,))
    episode = 0

    def _seen(self) -> np.ndarray:
        return np.array([10 * self.episode, self.steps], np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.episode, self.steps = self.episode + 1, 0
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.steps += 1
        return self._seen(), float(action[0]), self.steps == 3, False, {}


gymnasium.register("Count-v0", Count)


def constant(mean: list[float], std: float) -> GaussianPolicy:
    network = GaussianPolicy.create(2, len(mean), np.uint32([0, 0])).network  # type: ignore[arg-type]
    layer = linear(np.zeros((len(mean), 2)), np.array(mean))
    return GaussianPolicy(type(network)([layer]), jnp.full(len(mean), jnp.log(std)))


def test_what_the_agent_is_shown_by_hand() -> None:
    """z = o / 2; the adversary always says (2, -0.5), which the ball of radius 0.1 cuts to (+0.1, -0.05)."""
    spec = env_spec("Count-v0")
    agent = Agent(spec, ScaledNormaliser(np.zeros(2), np.full(2, 2.0), np.inf), constant([0.0], 1.0))
    adversary = Agent(
        spec._replace(actions=Displacement().actions(spec)), ScaledNormaliser.identity((2,)), constant([2, -0.5], 1e-6)
    )
    whole = make_env("Count-v0", 4, 0)
    opening = whole.reset()
    env = AttackedEnv(
        EnvSlice(whole, opening, 2, 2), Screen(Displacement(), Ball(0.1), agent), np.random.default_rng(0)
    )
    env.set_players(agent, adversary)
    np.testing.assert_allclose(env.reset(), [[5.1, -0.05]] * 2, atol=1e-4)
    step = env.step(np.array([[7.0]], np.float32), np.array([1], np.int32))
    np.testing.assert_allclose(step.obs, [[5.1, 0.45]], atol=1e-4)
    assert step.rewards.tolist() == [7.0]
    for _ in range(2):
        step = env.step(np.ones((2, 1), np.float32))
    np.testing.assert_allclose(step.obs, [[5.1, 0.95], [5.1, 1.45]], atol=1e-4)
    assert step.terminated.tolist() == [False, True]
    step = env.step(np.ones((2, 1), np.float32))
    assert step.is_reset.tolist() == [False, True]
    np.testing.assert_allclose(step.obs[1], [10.1, -0.05], atol=1e-4)
    raw = env.take_seen()
    assert raw.shape == (2 + 1 + 2 + 2 + 2, 2)
    assert raw[:2].tolist() == [[10, 0], [10, 0]]
    assert raw[-1].tolist() == [20, 0]
    whole.close()


TINY: dict[str, Any] = {"n_envs": 2, "n_steps": 8, "minibatches": 2, "policy_epochs": 1, "value_epochs": 1}


def small(method: str, out: Path, **options: Any) -> RunConfig:
    """A recurrent one where the preset is: pa-atla-ppo takes HalfCheetah's."""
    config = default_config(method, "HalfCheetah-v4")
    units = (4,) * len(config.algorithm.hidden)
    algorithm = dataclasses.replace(config.algorithm, **TINY, hidden=units)
    config = dataclasses.replace(config, env="Count-v0", algorithm=algorithm, out=out, steps=32 * 4)
    return dataclasses.replace(config, checkpoint_every=64, **options)


def run(config: RunConfig) -> Agent:
    config.check()
    spec = env_spec(config.env)
    return train(config, make_algorithm(config, spec), spec)


@pytest.mark.parametrize(("method", "kind"), [("atla-ppo", "sa-rl"), ("pa-atla-ppo", "pa-ad")])
def test_a_resumed_run_is_the_uninterrupted_one_and_counts_both_halves(method: str, kind: str, tmp_path: Path) -> None:
    run(small(method, tmp_path))
    files = [tmp_path / name / "agent.safetensors" for name in ("agent", "adversary")]
    whole = [file.read_bytes() for file in files]
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["steps"] for row in rows] == [2 * row["agent_steps"] for row in rows] == [64, 128]
    assert rows[0]["adversary_return"] == pytest.approx(-rows[0]["return"], abs=20)
    shutil.rmtree(max((tmp_path / "checkpoints").iterdir()))
    for file in files:
        shutil.rmtree(file.parent)
    run(small(method, tmp_path, resume=True))
    assert [file.read_bytes() for file in files] == whole
    attack = load_attack(tmp_path / "adversary", env_spec("Count-v0"))
    assert isinstance(attack.actor, Displacement if kind == "sa-rl" else Direction)
    assert load_agent(tmp_path / "agent").meta["steps"] == 128


def test_the_memory_behind_the_screen_is_the_agent_s(tmp_path: Path) -> None:
    """What the director pushes against is the LSTM as it is at that moment, and the normaliser sees clean states."""
    config = small("pa-atla-ppo", tmp_path)
    worker = Alternating(config, make_algorithm(config, env_spec("Count-v0")), env_spec("Count-v0"))
    env = make_envs(config, 0)
    worker.begin(env, np.random.default_rng(0))
    for k in range(3):
        rollout = worker.agent_half.collect(7)
        for ours, theirs in zip(worker.attacked._memory, worker.agent_half.collector._state, strict=True):  # type: ignore[arg-type]
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
        assert np.abs(rollout.transitions.obs).max() <= 10 * 9
        assert set(rollout.seen[:, 1]) <= {0, 1, 2, 3}
        assert not np.isin(rollout.transitions.obs[..., 1], (0, 1, 2, 3)).any(), k
    env.close()


def test_presets_are_the_published_ones_and_survive_json() -> None:
    rows = {
        ("atla-ppo", "Hopper"): (3e-4, 2.5e-4, 0.01, 1e-3, 1e-4, 0.0, 0.2, None),
        ("atla-ppo", "HalfCheetah"): (1e-4, 1e-3, 3e-4, 1e-3, 3e-4, 1e-4, 0.2, None),
        ("atla-lstm-sa-ppo", "Walker2d"): (1e-3, 3e-2, 1e-3, 3e-4, 1e-2, 0.0, 0.4, 0.3),
        ("atla-lstm-sa-ppo", "HalfCheetah"): (1e-3, 3e-3, 3e-4, 1e-2, 3e-4, 1e-3, 0.2, 0.03),
        ("pa-atla-ppo", "Hopper"): (3e-4, 3e-4, 0.01, 1e-2, 1e-3, 3e-4, 0.4, 0.3),
        ("pa-atla-ppo", "HalfCheetah"): (1e-3, 3e-3, 3e-4, 1e-2, 1e-2, 3e-4, 0.2, 0.03),
        ("pa-atla-ppo", "Ant"): (3e-4, 3e-4, 3e-4, 1e-3, 3e-4, 1e-3, 0.2, 0.1),
    }
    for (method, task), wanted in rows.items():
        config = default_config(method, f"{task}-v4")
        config.check()
        a, other, robust = config.algorithm, config.adversary, config.robust
        assert other is not None
        rates = (other.adversary_policy_lr, other.adversary_value_lr, other.adversary_ent_coef)
        kappa = None if robust is None else robust.kappa_reg  # type: ignore[union-attr]
        found = (a.policy_lr, a.value_lr, a.ent_coef, *rates, other.adversary_clip_range, kappa)  # type: ignore[union-attr]
        assert found == wanted
        assert from_json(to_json(config), config.out) == dataclasses.replace(config, resume=True)
