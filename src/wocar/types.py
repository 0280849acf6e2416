"""Data and protocols that several packages share."""

from typing import Any, Literal, NamedTuple, Protocol

import jax
import numpy as np

Array = Any
"""A jax.Array or a np.ndarray: both flow through the same functions."""
Limits = tuple[float, float] | None
"""What a normalised observation can be; a ball around one is cut to it."""
VictimFamily = Literal["ppo", "robust", "atla"]
"""How an agent was trained, as far as published attackers have settings of their own for it."""


class UserError(Exception):
    """A mistake of the user, told in one line that says what to do. The command line turns it into exit code 2."""


class Interval(NamedTuple):
    """Elementwise bounds, lower <= upper."""

    lower: Array
    upper: Array


class ActionSpace(NamedTuple):
    """Continuous: `size` coordinates within [low, high]. Discrete: `size` actions, low and high None."""

    size: int
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    @property
    def discrete(self) -> bool:
        return self.low is None

    @property
    def kind(self) -> str:
        return "actions" if self.discrete else "action coordinates"

    def cut(self, actions: jax.Array) -> jax.Array:
        """Continuous actions within their range; discrete ones as they are."""
        return actions if self.discrete else jax.numpy.clip(actions, self.low, self.high)


class EnvSpec(NamedTuple):
    id: str
    obs_shape: tuple[int, ...]
    actions: ActionSpace
    max_steps: int | None = None

    @property
    def limits(self) -> Limits:
        """Of a normalised observation: pixels are shown as numbers between 0 and 1."""
        return (0.0, 1.0) if len(self.obs_shape) == 3 else None


def require_compatible(agent: EnvSpec, env: EnvSpec) -> None:
    """A UserError where an environment shows or takes other arrays than an agent was made for."""
    if not same_arrays(agent, env):
        shows = f"observations {env.obs_shape}, {env.actions.size} {env.actions.kind}"
        wants = f"{agent.obs_shape}, {agent.actions.size} {agent.actions.kind}"
        raise UserError(f"{env.id} shows and takes other arrays ({shows}) than the agent's {agent.id} ({wants})")


def same_arrays(one: EnvSpec, other: EnvSpec) -> bool:
    """Whether what fits one environment fits the other."""
    return (one.obs_shape, one.actions.size, one.actions.discrete) == (
        other.obs_shape,
        other.actions.size,
        other.actions.discrete,
    )


class Step(NamedTuple):
    """What a vector environment returns for the environments it was asked to step, in the order asked.

    `obs` is the true observation after the action, also at the end of an episode. `is_reset` marks environments whose
    episode had ended: their action was ignored, `obs` opens the next episode, and the rest is not a transition.
    """

    obs: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    is_reset: np.ndarray
    scores: np.ndarray | None = None
    """The game's own rewards, where `rewards` are reduced for training."""
    over: np.ndarray | None = None
    """Whether the game is over, where training ends episodes earlier."""


class Transitions(NamedTuple):
    """Steps of n environments over T steps, leading axes (T, n) or flattened (T * n).

    Observations are what the networks see (normalised). Rewards are the environment's.
    """

    obs: Array
    actions: Array
    rewards: Array
    next_obs: Array
    terminated: Array
    truncated: Array
    reward_scale: Array = 1.0
    """What the rewards were divided by, one number."""


class VectorEnv(Protocol):
    spec: EnvSpec
    n: int

    def reset(self) -> np.ndarray: ...

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step: ...

    def close(self) -> None: ...


class Policy(Protocol):
    """A policy over normalised observations, batch first; one with a memory at given moments."""

    @property
    def network(self) -> Any:
        """What bounds are computed of: an `nn.Sequential`, or a recurrent network with its state held."""

    @property
    def discrete(self) -> bool: ...

    def head(self, obs: Array) -> jax.Array:
        """The network's output: a Gaussian's mean, logits, or Q-values."""

    def mode(self, obs: Array) -> jax.Array: ...

    def log_prob(self, obs: Array, actions: Array) -> jax.Array: ...

    def log_prob_given(self, head: Array, actions: Array) -> jax.Array:
        """The same from the network's output."""

    def entropy(self, obs: Array) -> jax.Array: ...

    def onward(self, obs: Array, rows: Array) -> "Policy":
        """At the rows of a batch, and at the states after some of them; without a memory, the policy itself."""


class Critic(Protocol):
    """Q(s, a) for continuous actions, Q(s, .) (B, actions) for discrete ones, or V(s)."""

    def __call__(self, *inputs: Any, **options: Any) -> jax.Array: ...


class CriticPair(Protocol):
    """A critic and its slowly following target."""

    @property
    def online(self) -> Critic: ...

    @property
    def target(self) -> Critic: ...


class Memory(NamedTuple):
    """States of recurrent networks, one row per environment or per step; empty for networks without memory."""

    policy: Any = ()
    value: Any = ()


class Batch(NamedTuple):
    """Transitions flattened to (N, ...) with what the frozen policy and value say of them.

    Rewards, values, advantages and returns are in units of the normalised reward. Steps of an environment lie one after
    the other; `last` marks those after which a trajectory does not go on here.
    """

    obs: Array
    actions: Array
    rewards: Array
    next_obs: Array
    terminated: Array
    last: Array
    log_prob: Array
    value: Array
    advantage: Array
    returns: Array
    reward_scale: Array = 1.0
    """What the rewards were divided by, (N,)."""
    memory: Memory = Memory()
    """Before each step."""
