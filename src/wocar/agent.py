"""Agent: observation normaliser, policy and critics; acts, and is saved and loaded as a folder."""

import hashlib
from dataclasses import dataclass, field
from os.path import isdir, isfile
from pathlib import Path
from typing import Any, ClassVar, NotRequired, TypedDict

import equinox as eqx
import jax
import numpy as np

from wocar.files import atomic_directory, fill_tree, read_arrays, read_json, tree_arrays, write_arrays, write_json
from wocar.networks import (
    ActionCritic,
    DiscreteCritic,
    DuelingActionCritic,
    LSTMState,
    Normaliser,
    RecurrentCritic,
    RecurrentPolicy,
    SquashedGaussianPolicy,
    host_function,
    host_step,
    reset_state,
)
from wocar.networks.description import (
    build_critic,
    build_normaliser,
    build_policy,
    describe_critic,
    describe_normaliser,
    describe_policy,
)
from wocar.networks.squashed import LOG_STD_MAX, LOG_STD_MIN
from wocar.schema import fault
from wocar.types import ActionSpace, EnvSpec, UserError

FORMAT, VERSION = "wocar-agent", 1
MOST_BYTES, MOST_CRITICS, MOST_LAYERS = 1_000_000, 16, 256
"""Of an agent.json, and of what it describes."""
FILES = {"agent.json", "agent.safetensors"}


class AgentThreat(TypedDict):
    eps: float
    norm: NotRequired[str]
    on: NotRequired[str]
    units: NotRequired[str]
    radii: NotRequired[list[float] | None]


class AgentMeta(TypedDict):
    """What others read of an agent's meta."""

    method: NotRequired[str]
    seed: NotRequired[int | None]
    steps: NotRequired[int]
    eps: NotRequired[float | None]
    norm: NotRequired[str]
    threat: NotRequired[AgentThreat | None]
    reward_std: NotRequired[float]
    clip_actions: NotRequired[bool]


@dataclass
class Agent:
    spec: EnvSpec
    normaliser: Normaliser
    policy: Any
    """Any policy of `wocar.networks`, feed-forward or recurrent."""
    critics: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    black_box: ClassVar[bool] = False
    """Whether the policy can only be called."""

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(0)
        if self.recurrent:
            self._step = host_step(self.policy.network)
        else:
            self._head = host_function(self.policy.network)
        squashed = isinstance(self.policy, SquashedGaussianPolicy)
        self._moments = host_function(self.policy.body) if squashed else None
        self._discrete, self._stochastic = self.policy.discrete, self.policy.stochastic
        self._std = np.exp(np.asarray(getattr(self.policy, "log_std", 0), np.float32))

    @property
    def recurrent(self) -> bool:
        return isinstance(self.policy, RecurrentPolicy)

    def start(self, n: int) -> LSTMState | None:
        """The memory at the start of n episodes: zeros, or None where the policy has no memory."""
        return self.policy.start(n) if self.recurrent else None

    def step(
        self, z: np.ndarray, state: LSTMState | None, rng: np.random.Generator | None = None
    ) -> tuple[np.ndarray, LSTMState | None]:
        """Actions at normalised observations (B, obs), as `act` chooses them, and the memory after them."""
        if state is None:
            return self.act(z, rng), None
        head, state = self._step(z, state)
        return self._choose(head, rng), state

    def held(self, state: LSTMState | None) -> Any:
        """The policy with its memory fixed, as an attacker at this time step sees it."""
        return self.policy if state is None else self.policy.held(state)  # of a Module each method is made anew

    def head(self, z: np.ndarray) -> np.ndarray:
        """The policy's mean, logits or Q-values at normalised observations."""
        return self._head(z)

    def act(self, z: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """Actions at normalised observations (B, obs): the mode, or a sample where a generator is given."""
        if self.recurrent:
            raise TypeError("a recurrent agent acts by `step`, which takes its memory")
        if rng is not None and self._moments is not None:
            mean, log_std = np.split(self._moments(z), 2, axis=-1)
            noise = rng.standard_normal(mean.shape, dtype=np.float32)
            unit = np.tanh(mean + np.exp(np.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)) * noise)
            return np.asarray(self.policy.scaled(unit))
        return self._choose(self._head(z), rng)

    def _choose(self, head: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        if not self._stochastic:
            rng = None
        if not self._discrete:
            if rng is not None:
                head = head + self._std * rng.standard_normal(head.shape, dtype=np.float32)
            if self.meta.get("clip_actions"):  # as Stable-Baselines3 does before an action reaches the environment
                head = np.clip(head, self.spec.actions.low, self.spec.actions.high)
            return head
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
        """Actions for raw observations, one or a batch, with Stable-Baselines3's signature.

        A recurrent agent returns its memory as the state and expects it back; an episode's start resets it.
        """
        obs = np.asarray(observation)
        single = obs.shape == self.spec.obs_shape
        if not single and obs.shape[1:] != self.spec.obs_shape:
            raise ValueError(f"observation of shape {obs.shape}, expected {self.spec.obs_shape} or a batch of it")
        z, rng = self.normaliser(obs[None] if single else obs), None if deterministic else self._rng
        if self.recurrent:
            state = self.start(len(z)) if state is None else LSTMState(*state)
            if episode_start is not None:
                state = reset_state(state, np.reshape(episode_start, -1).astype(bool))
            actions, state = self.step(z, state, rng)
        else:
            actions = self.act(z, rng)
        return (actions[0] if single else actions), state

    def digest(self, critics: bool = True) -> str:
        """Hash of what the agent does: its normaliser, its policy and, unless they do not count, its critics."""
        digest = hashlib.sha256()
        parts = {"normaliser": self.normaliser, "policy": self.policy, **({"critics": self.critics} if critics else {})}
        for path, leaf in jax.tree_util.tree_leaves_with_path(parts):
            digest.update(jax.tree_util.keystr(path).encode())
            if callable(leaf):
                digest.update(getattr(leaf, "__name__", type(leaf).__name__).encode())
            else:
                array = np.asarray(leaf)
                digest.update(f"{array.shape}{array.dtype}".encode() + array.tobytes())
        return digest.hexdigest()

    def save(self, directory: Path | str) -> None:
        """Write the agent as a directory of JSON and safetensors, atomically; replaces an older agent."""
        path = Path(directory)
        if isdir(path) and not {p.name for p in path.iterdir()} <= FILES:
            raise UserError(f"{path} holds other files than an agent's; choose another folder")
        with atomic_directory(path) as folder:
            self.write(folder)

    def write(self, folder: Path) -> None:
        normaliser, normaliser_arrays = describe_normaliser(self.normaliser)
        arrays = tree_arrays({"policy": self.policy, "critics": self.critics})
        arrays |= {f"normaliser.{name}": array for name, array in normaliser_arrays.items()}
        digest = write_arrays(folder / "agent.safetensors", arrays)
        head = {"format": FORMAT, "version": VERSION, "sha256": digest}
        write_json(folder / "agent.json", {**head, **self._describe(normaliser)})

    def _describe(self, normaliser: dict[str, Any]) -> dict[str, Any]:
        actions = self.spec.actions
        low, high = (None, None) if actions.discrete else (actions.low.tolist(), actions.high.tolist())  # type: ignore[union-attr]
        return {
            "env": {
                "id": self.spec.id,
                "obs_shape": list(self.spec.obs_shape),
                "max_steps": self.spec.max_steps,
                "actions": {"size": actions.size, "low": low, "high": high},
            },
            "normaliser": normaliser,
            "policy": describe_policy(self.policy),
            "critics": {name: describe_critic(critic) for name, critic in self.critics.items()},
            "meta": self.meta,
        }


def load_agent(directory: Path | str) -> Agent:
    """Read what `Agent.save` wrote; nothing in the files is executed."""
    folder = Path(directory)
    if not isfile(folder / "agent.json"):
        raise UserError(f"no agent in {folder}: it has no agent.json")
    data = read_json(folder / "agent.json", MOST_BYTES)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError(f"{folder / 'agent.json'} is not a wocar agent")
    if data.get("version") != VERSION:
        raise UserError(f"{folder} has agent format {data.get('version')}, this wocar reads {VERSION}; update wocar")
    try:
        arrays = read_arrays(folder / "agent.safetensors", data["sha256"])
        agent = _rebuild(data, arrays, folder)
        _check(agent)
        return agent
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        reason = " ".join(str(error).split())[:160]
        raise UserError(f"{folder / 'agent.json'} is damaged: {type(error).__name__} {reason}") from error


def _rebuild(data: dict[str, Any], arrays: dict[str, np.ndarray], folder: Path) -> Agent:
    if bad := [name for name, array in arrays.items() if not np.isfinite(array).all()]:
        raise UserError(f"{folder} holds numbers that are not finite ({min(bad)}): training diverged, or it is damaged")
    env, actions = data["env"], data["env"]["actions"]
    if len(data["critics"]) > MOST_CRITICS or _layers([data["policy"], data["critics"]]) > MOST_LAYERS:
        raise ValueError(f"more than {MOST_CRITICS} critics or {MOST_LAYERS} layers")
    bounds = [None if actions[k] is None else np.array(actions[k], np.float32) for k in ("low", "high")]
    spec = EnvSpec(env["id"], tuple(env["obs_shape"]), ActionSpace(actions["size"], *bounds), env["max_steps"])
    policy = build_policy(data["policy"], actions["size"])
    critics = {name: build_critic(critic) for name, critic in data["critics"].items()}
    tree = fill_tree({"policy": policy, "critics": critics}, arrays, folder)
    own = {name.removeprefix("normaliser."): x for name, x in arrays.items() if name.startswith("normaliser.")}
    normaliser = build_normaliser(data["normaliser"], own)
    return Agent(spec, normaliser, tree["policy"], tree["critics"], data["meta"])


def _layers(description: Any) -> int:
    """How many objects a description holds: each layer is one."""
    inside = description.values() if isinstance(description, dict) else description
    if not isinstance(description, dict | list):
        return 0
    return isinstance(description, dict) + sum(map(_layers, inside))


def _check(agent: Agent) -> None:
    """A ValueError or TypeError where the parts do not fit together."""
    spec, actions = agent.spec, agent.spec.actions
    if problem := fault(agent.meta, AgentMeta, "its meta"):
        raise ValueError(problem)
    ranges = [None, None] if actions.discrete else [(actions.size,), (actions.size,)]
    z, a = (jax.ShapeDtypeStruct((1, *shape), np.float32) for shape in (spec.obs_shape, (actions.size,)))
    fits = {
        "env": isinstance(spec.id, str) and isinstance(spec.max_steps, int | None),
        "actions": [getattr(bound, "shape", None) for bound in actions[1:]] == ranges,
        "policy": eqx.filter_eval_shape(agent.held(agent.start(1)).head, z).shape == (1, actions.size),
        "policy's kind": agent.policy.discrete == actions.discrete,
        "normaliser": agent.normaliser.fits(spec.obs_shape),
    }
    for name, critic in agent.critics.items():
        if isinstance(critic, RecurrentCritic):
            critic = critic.held(critic.start(1))
        inputs = (z, a) if isinstance(critic, ActionCritic | DuelingActionCritic) else (z,)
        wanted = (1, actions.size) if isinstance(critic, DiscreteCritic) else (1,)
        fits[f"critic {name}"] = eqx.filter_eval_shape(critic, *inputs).shape == wanted
    for part, fit in fits.items():
        if not fit:
            raise ValueError(f"its {part} does not fit the rest")
