"""Agent = observation normaliser + policy + critics: what acts, what is saved, what is audited."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from wocar.files import atomic_directory, fill_tree, read_arrays, read_json, tree_arrays, write_arrays, write_json
from wocar.networks import (
    ActionCritic,
    CategoricalPolicy,
    DiscreteCritic,
    DuelingActionCritic,
    GaussianPolicy,
    RunningNormaliser,
    ValueCritic,
    host_function,
)
from wocar.networks.layers import build_layers, describe_layers
from wocar.types import ActionSpace, EnvSpec, UserError

FORMAT, VERSION = "wocar-agent", 1
FILES = {"agent.json", "agent.safetensors"}
POLICIES: dict[str, Any] = {"gaussian": GaussianPolicy, "categorical": CategoricalPolicy}
CRITICS: dict[str, Any] = {
    "value": ValueCritic,
    "action": ActionCritic,
    "dueling-action": DuelingActionCritic,
    "discrete": DiscreteCritic,
}


@dataclass
class Agent:
    spec: EnvSpec
    normaliser: RunningNormaliser
    policy: GaussianPolicy | CategoricalPolicy
    critics: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._head = host_function(self.policy.network)

    def head(self, z: np.ndarray) -> np.ndarray:
        """The policy's mean or logits at normalised observations."""
        return self._head(z)

    def act(self, z: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """Actions at normalised observations (B, obs): the mode, or a sample where a generator is given."""
        head = self._head(z)
        if isinstance(self.policy, GaussianPolicy):
            if rng is None:
                return head
            return head + np.exp(np.asarray(self.policy.log_std)) * rng.standard_normal(head.shape, dtype=np.float32)
        if rng is not None:
            head = head + rng.gumbel(size=head.shape)
        return head.argmax(axis=-1)

    def predict(
        self,
        observation: np.ndarray,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """Actions for raw observations, one or a batch, with Stable-Baselines3's signature."""
        obs = np.asarray(observation)
        single = obs.shape == self.spec.obs_shape
        if not single and obs.shape[1:] != self.spec.obs_shape:
            raise ValueError(f"observation of shape {obs.shape}, expected {self.spec.obs_shape} or a batch of it")
        actions = self.act(self.normaliser(obs[None] if single else obs), None if deterministic else self._rng)
        return (actions[0] if single else actions), state

    def save(self, directory: Path | str) -> None:
        """Write the agent as a directory of JSON and safetensors, whole or not at all, in place of an older agent."""
        path = Path(directory)
        if path.is_dir() and not {p.name for p in path.iterdir()} <= FILES:
            raise UserError(f"{path} holds other files than an agent's; choose another folder")
        with atomic_directory(path) as folder:
            self.write(folder)

    def write(self, folder: Path) -> None:
        arrays = tree_arrays({"policy": self.policy, "critics": self.critics})
        arrays |= {"normaliser.mean": self.normaliser.mean, "normaliser.square": self.normaliser.square}
        digest = write_arrays(folder / "agent.safetensors", arrays)
        write_json(folder / "agent.json", {"format": FORMAT, "version": VERSION, "sha256": digest, **self._describe()})

    def _describe(self) -> dict[str, Any]:
        actions = self.spec.actions
        low, high = (None, None) if actions.discrete else (actions.low.tolist(), actions.high.tolist())  # type: ignore[union-attr]
        names = {cls: kind for kind, cls in CRITICS.items()}
        return {
            "env": {
                "id": self.spec.id,
                "obs_shape": list(self.spec.obs_shape),
                "max_steps": self.spec.max_steps,
                "actions": {"size": actions.size, "low": low, "high": high},
            },
            "normaliser": {"kind": "running", "count": self.normaliser.count, "clip": self.normaliser.clip},
            "policy": {
                "kind": next(kind for kind, cls in POLICIES.items() if cls is type(self.policy)),
                "layers": describe_layers(self.policy.network),
            },
            "critics": {
                name: {"kind": names[type(critic)], "networks": [describe_layers(n) for n in vars(critic).values()]}
                for name, critic in self.critics.items()
            },
            "meta": self.meta,
        }


def load_agent(directory: Path | str) -> Agent:
    """Read what `Agent.save` wrote; nothing in the files is executed."""
    folder = Path(directory)
    if not (folder / "agent.json").is_file():
        raise UserError(f"no agent in {folder}: it has no agent.json")
    data = read_json(folder / "agent.json")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError(f"{folder / 'agent.json'} is not a wocar agent")
    if data.get("version") != VERSION:
        raise UserError(f"{folder} has agent format {data.get('version')}, this wocar reads {VERSION}; update wocar")
    try:
        arrays = read_arrays(folder / "agent.safetensors", data["sha256"])
        agent = _rebuild(data, arrays, folder)
        _check(agent)
        return agent
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:160]
        raise UserError(f"{folder / 'agent.json'} is damaged: {type(error).__name__} {reason}") from error


def _rebuild(data: dict[str, Any], arrays: dict[str, np.ndarray], folder: Path) -> Agent:
    env, actions = data["env"], data["env"]["actions"]
    bounds = [None if actions[k] is None else np.array(actions[k], np.float32) for k in ("low", "high")]
    spec = EnvSpec(env["id"], tuple(env["obs_shape"]), ActionSpace(actions["size"], *bounds), env["max_steps"])
    parts: list[Any] = [build_layers(data["policy"]["layers"])]
    if data["policy"]["kind"] == "gaussian":
        parts.append(jax.ShapeDtypeStruct((actions["size"],), np.float32))
    policy = POLICIES[data["policy"]["kind"]](*parts)
    critics = {name: CRITICS[c["kind"]](*map(build_layers, c["networks"])) for name, c in data["critics"].items()}
    tree = fill_tree({"policy": policy, "critics": critics}, arrays, folder)
    norm = data["normaliser"]
    if norm["kind"] != "running":
        raise ValueError(f"unknown normaliser {norm['kind']!r}")
    normaliser = RunningNormaliser(
        arrays["normaliser.mean"], arrays["normaliser.square"], float(norm["count"]), float(norm["clip"])
    )
    return Agent(spec, normaliser, tree["policy"], tree["critics"], data["meta"])


def _check(agent: Agent) -> None:
    """A ValueError or TypeError where the parts do not fit together."""
    spec, norm, actions = agent.spec, agent.normaliser, agent.spec.actions
    ranges = [None, None] if actions.discrete else [(actions.size,), (actions.size,)]
    z, a = (jax.ShapeDtypeStruct((1, *shape), np.float32) for shape in (spec.obs_shape, (actions.size,)))
    fits = {
        "env": isinstance(spec.id, str) and isinstance(spec.max_steps, int | None),
        "actions": [getattr(bound, "shape", None) for bound in actions[1:]] == ranges,
        "policy": eqx.filter_eval_shape(agent.policy.head, z).shape == (1, actions.size),
        "policy's kind": isinstance(agent.policy, CategoricalPolicy) == actions.discrete,
        "normaliser": norm.mean.shape == norm.square.shape == spec.obs_shape and norm.count >= 0 and norm.clip > 0,
        "meta": isinstance(agent.meta, dict),
    }
    for name, critic in agent.critics.items():
        inputs = (z, a) if isinstance(critic, ActionCritic | DuelingActionCritic) else (z,)
        wanted = (1, actions.size) if isinstance(critic, DiscreteCritic) else (1,)
        fits[f"critic {name}"] = eqx.filter_eval_shape(critic, *inputs).shape == wanted
    for part, fit in fits.items():
        if not fit:
            raise ValueError(f"its {part} does not fit the rest")
