"""Small agents of Stable-Baselines3 and what they do, for tests/interop: run with stable-baselines3 and sb3-contrib.

Each agent is a zip (weights random, optimiser empty) and an npz with observations, the actions that Stable-Baselines3
takes there, and where it has them its logits or Q-values (`head`) and values.
"""

import argparse
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

VECTOR = Box(-np.inf, np.inf, (5,), np.float32)
MATRIX = Box(-np.inf, np.inf, (2, 3), np.float32)
IMAGE = Box(0, 255, (4, 36, 36), np.uint8)
RANGE = Box(np.array([-0.5, -2.0], np.float32), np.array([1.0, 0.5], np.float32))
RELU, SIGMOID = torch.nn.ReLU, torch.nn.Sigmoid
CNN = {"features_extractor_kwargs": {"features_dim": 16}}
BUFFER = {"buffer_size": 1}

AGENTS: dict[str, tuple[Any, ...]] = {
    "ppo": (PPO, "MlpPolicy", VECTOR, RANGE, {"net_arch": {"pi": [8, 6], "vf": [7]}, "activation_fn": RELU}),
    "ppo-cnn": (PPO, "CnnPolicy", IMAGE, Discrete(3), CNN),
    "a2c": (A2C, "MlpPolicy", MATRIX, Discrete(4), {"net_arch": [8]}),
    "dqn": (DQN, "MlpPolicy", VECTOR, Discrete(3), {"net_arch": [8, 8]}, BUFFER),
    "dqn-cnn": (DQN, "CnnPolicy", IMAGE, Discrete(3), {**CNN, "net_arch": [8]}, BUFFER),
    "sac": (SAC, "MlpPolicy", VECTOR, RANGE, {"net_arch": [8, 8]}, BUFFER),
    "td3": (TD3, "MlpPolicy", VECTOR, RANGE, {"net_arch": [8, 8], "activation_fn": SIGMOID}, BUFFER),
    "recurrent": ("RecurrentPPO", "MlpLstmPolicy", VECTOR, RANGE, {"net_arch": [6], "lstm_hidden_size": 5}),
    "recurrent-discrete": (
        "RecurrentPPO",
        "MlpLstmPolicy",
        VECTOR,
        Discrete(3),
        {"net_arch": [], "lstm_hidden_size": 5},
    ),
}
NORMALISED = {"ppo", "sac"}


class Toy(gymnasium.Env):
    """Spaces without a world."""

    def __init__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space) -> None:
        self.observation_space, self.action_space = observation_space, action_space

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        return self.observation_space.sample(), 0.0, False, False, {}


def make(name: str, folder: Path, seed: int) -> None:
    """Write the agent `name` and what it does into the folder."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    algorithm, policy, observations, actions, options, *more = AGENTS[name]
    env: Any = DummyVecEnv([lambda: Toy(observations, actions)])
    if name in NORMALISED:
        env = VecNormalize(env, clip_obs=1.5, epsilon=0.01)
        env.obs_rms.mean, env.obs_rms.var = rng.normal(size=5), rng.uniform(0.2, 3.0, 5)
        env.ret_rms.var = np.array(6.24)
        env.training = False
    if algorithm == "RecurrentPPO":
        from sb3_contrib import RecurrentPPO as algorithm
    model = algorithm(policy, env, policy_kwargs=options, device="cpu", **(more[0] if more else {}))
    randomise(model.policy)
    expected = (
        sequence(model, observations, rng) if name.startswith("recurrent") else batch(model, env, observations, rng)
    )
    np.savez_compressed(folder / f"{name}-Toy-v0.npz", **expected)
    save(model, folder / f"{name}-Toy-v0.zip")
    if name in NORMALISED:
        env.save(str(folder / f"{name}-Toy-v0_vecnormalize.pkl"))


def randomise(policy: torch.nn.Module) -> None:
    """Weights large enough that outputs differ and clip, in half precision to keep files small; no target network."""
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            fan_in = weight[0].numel() if weight.ndim > 1 else 4
            weight.copy_((1.5 * torch.randn(weight.shape) / fan_in**0.5).half() * (0 if "target" in name else 1))


def batch(model: Any, env: Any, space: Box, rng: np.random.Generator, n: int = 12) -> dict[str, np.ndarray]:
    obs = draw(space, rng, (n,))
    seen = env.normalize_obs(obs) if isinstance(env, VecNormalize) else obs
    result = {"obs": obs, "actions": model.predict(seen, deterministic=True)[0]}
    with torch.no_grad():
        tensor = model.policy.obs_to_tensor(seen)[0]
        if isinstance(model, DQN):
            result["head"] = model.q_net(tensor).numpy()
        elif isinstance(model, PPO | A2C):
            result["value"] = model.policy.predict_values(tensor).numpy()[:, 0]
            if isinstance(model.action_space, Discrete):
                latent = model.policy.mlp_extractor.forward_actor(model.policy.extract_features(tensor))
                result["head"] = model.policy.action_net(latent).numpy()
    return result


def sequence(model: Any, space: Box, rng: np.random.Generator, steps: int = 7, n: int = 3) -> dict[str, np.ndarray]:
    """Steps of n episodes side by side, of which some start anew on the way."""
    obs, starts = draw(space, rng, (steps, n)), rng.random((steps, n)) < 0.3
    starts[0] = True
    state, actions = None, []
    for o, start in zip(obs, starts, strict=True):
        action, state = model.predict(o, state, start, deterministic=True)
        actions.append(action)
    return {"obs": obs, "starts": starts, "actions": np.array(actions)}


def draw(space: Box, rng: np.random.Generator, leading: tuple[int, ...]) -> np.ndarray:
    shape = leading + space.shape
    if space.dtype == np.uint8:
        return rng.integers(0, 256, shape, dtype=np.uint8)
    return (2 * rng.normal(size=shape)).astype(np.float32)


def save(model: Any, path: Path) -> None:
    """The zip of `model.save`, compressed, without the description of this machine."""
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if name != "system_info.txt"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "tests/interop/data")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for seed, agent in enumerate(AGENTS):
        make(agent, out, seed)
