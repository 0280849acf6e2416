"""Recurrent networks: an embedding, one LSTM cell, an output. Batch first; a state has one row per episode."""

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.networks.layers import forward, mlp
from wocar.networks.policies import categorical_entropy, categorical_log_prob, gaussian_entropy, gaussian_log_prob
from wocar.types import Array


class LSTMState(NamedTuple):
    """Hidden and cell state, (n, hidden) each."""

    h: Array
    c: Array


def reset_state(state: Any, rows: np.ndarray) -> Any:
    """The state in NumPy with these rows (indices or a mask) set to zero, as at an episode's start; None stays None."""
    if state is None:
        return None
    fresh = LSTMState(*(np.array(x) for x in state))
    for x in fresh:
        x[rows] = 0
    return fresh


def lstm_step(cell: eqx.nn.LSTMCell, x: Array, state: LSTMState) -> LSTMState:
    """c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c') with (i, f, g, o) = W_ih x + W_hh h + b."""
    return _gated(x @ cell.weight_ih.T + cell.bias + state.h @ cell.weight_hh.T, state)


def _gated(gates: Array, state: LSTMState) -> LSTMState:
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f) * state.c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return LSTMState(jax.nn.sigmoid(o) * jnp.tanh(c), c)


def lstm_cell(weight_ih: Array, weight_hh: Array, bias: Array) -> eqx.nn.LSTMCell:
    """A cell with these weights (4 hidden, in), (4 hidden, hidden) and bias (4 hidden,), gates in the order i, f, g, o.

    PyTorch's two biases are one here: their sum.
    """
    values = tuple(jnp.asarray(x, jnp.float32) for x in (weight_ih, weight_hh, bias))
    cell = bare_lstm_cell(weight_ih.shape[1], weight_hh.shape[1])
    return eqx.tree_at(lambda cell: (cell.weight_ih, cell.weight_hh, cell.bias), cell, values)


def bare_lstm_cell(size: int, hidden: int) -> eqx.nn.LSTMCell:
    """Shapes in place of weights."""
    return eqx.filter_eval_shape(eqx.nn.LSTMCell, size, hidden, key=jax.random.key(0))


class RecurrentNetwork(eqx.Module):
    """embedding -> LSTM cell -> output; the cell has a bias."""

    embedding: eqx.nn.Sequential
    cell: eqx.nn.LSTMCell
    output: eqx.nn.Sequential

    @classmethod
    def create(cls, obs_size: int, out: int, key: jax.Array, hidden: int = 64) -> "RecurrentNetwork":
        """Linear embedding with small weights and no activation, linear output."""
        keys = jax.random.split(key, 3)
        return cls(
            mlp([obs_size, hidden], keys[0], head_gain=0.01),
            eqx.nn.LSTMCell(hidden, hidden, key=keys[1]),
            mlp([hidden, out], keys[2]),
        )

    def start(self, n: int) -> LSTMState:
        return LSTMState(*np.zeros((2, n, self.cell.hidden_size), np.float32))

    def step(self, z: Array, state: LSTMState) -> tuple[jax.Array, LSTMState]:
        """(n, obs) -> outputs (n, out) and the state after them."""
        state = lstm_step(self.cell, forward(self.embedding, z), state)
        return forward(self.output, state.h), state

    def unroll(self, z: Array, state: LSTMState, ends: Array, chunk: int) -> tuple[jax.Array, LSTMState]:
        """Consecutive steps: (n, T, obs), the state before them (n, hidden), (n, T) ends -> (n, T, out), states after.

        The state is zero after an end. Gradients do not flow from one chunk of steps into the one before.
        """
        n, steps = z.shape[:2]
        embedded: Array = forward(self.embedding, z.reshape(n * steps, *z.shape[2:]))
        inputs = embedded @ self.cell.weight_ih.T + self.cell.bias
        begins = jnp.concatenate([jnp.zeros((n, 1), bool), ends[:, :-1]], axis=1)

        def step(state: LSTMState, now: tuple[jax.Array, ...]) -> tuple[LSTMState, LSTMState]:
            x, begins, cut = now
            state = LSTMState(*(jnp.where(cut, jax.lax.stop_gradient(s), s) for s in state))
            state = LSTMState(*(jnp.where(begins[:, None], 0.0, s) for s in state))
            state = _gated(x + state.h @ self.cell.weight_hh.T, state)
            return state, state

        cuts = jnp.arange(steps) % chunk == 0
        over_time = (inputs.reshape(n, steps, -1).swapaxes(0, 1), begins.T, cuts)
        _, after = jax.lax.scan(step, LSTMState(*map(jnp.asarray, state)), over_time)
        after = LSTMState(*(s.swapaxes(0, 1) for s in after))
        out = forward(self.output, after.h.reshape(n * steps, -1))
        return out.reshape(n, steps, -1), after


class RecurrentPolicy(eqx.Module):
    """A policy with a memory: Gaussian, or categorical where log_std is None."""

    network: RecurrentNetwork
    log_std: jax.Array | None = None
    stochastic: ClassVar[bool] = True

    @classmethod
    def create(
        cls, obs_size: int, action_size: int, key: jax.Array, hidden: int = 64, init_std: float | None = 1.0
    ) -> "RecurrentPolicy":
        """Gaussian with this standard deviation, or categorical where it is None."""
        log_std = None if init_std is None else jnp.full(action_size, math.log(init_std), jnp.float32)
        return cls(RecurrentNetwork.create(obs_size, action_size, key, hidden), log_std)

    @property
    def discrete(self) -> bool:
        return self.log_std is None

    def start(self, n: int) -> LSTMState:
        return self.network.start(n)

    def step(self, z: Array, state: LSTMState) -> tuple[jax.Array, LSTMState]:
        """Means or logits, and the next state."""
        return self.network.step(z, state)

    def held(self, state: LSTMState) -> "HeldPolicy":
        return HeldPolicy(self, LSTMState(*map(jnp.asarray, state)))


class Moments(eqx.Module):
    """A recurrent policy at given states, one for each row of a batch: there it is a feed-forward policy."""

    policy: RecurrentPolicy
    stochastic: ClassVar[bool] = True

    @abc.abstractmethod
    def head(self, obs: jax.Array) -> jax.Array: ...

    @property
    def discrete(self) -> bool:
        return self.policy.discrete

    @property
    def log_std(self) -> jax.Array | None:
        return self.policy.log_std

    def mode(self, obs: jax.Array) -> jax.Array:
        head = self.head(obs)
        return jnp.argmax(head, axis=-1) if self.discrete else head

    def log_prob(self, obs: jax.Array, actions: jax.Array) -> jax.Array:
        return self.log_prob_given(self.head(obs), actions)

    def log_prob_given(self, head: jax.Array, actions: jax.Array) -> jax.Array:
        if self.log_std is None:
            return categorical_log_prob(head, actions)
        return gaussian_log_prob(head, self.log_std, actions)

    def entropy(self, obs: jax.Array) -> jax.Array:
        if self.log_std is None:
            return categorical_entropy(self.head(obs))
        return gaussian_entropy(self.log_std, len(obs))


class HeldNetwork(eqx.Module):
    """The network with a fixed state for each row of a batch: observations to outputs."""

    network: RecurrentNetwork
    state: LSTMState

    def __call__(self, obs: jax.Array) -> jax.Array:
        return self.network.step(obs, self.state)[0]

    def take(self, rows: Array) -> "HeldNetwork":
        return HeldNetwork(self.network, LSTMState(*(x[rows] for x in self.state)))


class HeldPolicy(Moments):
    """The policy with its state fixed, for the search of a perturbation at one time step."""

    state: LSTMState

    @property
    def network(self) -> HeldNetwork:
        return HeldNetwork(self.policy.network, self.state)

    def head(self, obs: jax.Array) -> jax.Array:
        return self.network(obs)

    def onward(self, obs: jax.Array, rows: jax.Array) -> "HeldPolicy":
        """The states of the rows, followed by those of some rows after they have seen `obs`."""
        before = self.network.take(rows).state
        after = self.policy.step(obs[rows], before)[1]
        return HeldPolicy(self.policy, LSTMState(*map(jnp.concatenate, zip(self.state, after, strict=True))))


class RecurrentCritic(eqx.Module):
    """V of the observations so far: step((n, obs), state) -> (n,), state."""

    network: RecurrentNetwork

    @classmethod
    def create(cls, obs_size: int, key: jax.Array, hidden: int = 64) -> "RecurrentCritic":
        return cls(RecurrentNetwork.create(obs_size, 1, key, hidden))

    def start(self, n: int) -> LSTMState:
        return self.network.start(n)

    def step(self, z: Array, state: LSTMState) -> tuple[jax.Array, LSTMState]:
        value, state = self.network.step(z, state)
        return value[:, 0], state

    def held(self, state: LSTMState) -> Callable[[jax.Array], jax.Array]:
        return lambda z: self.step(z, state)[0]
