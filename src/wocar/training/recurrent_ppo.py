"""Recurrent networks for PPO: backpropagation through time, over whole sequences. Docs: docs/methods.md."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from wocar.config_base import COUNT
from wocar.networks import LSTMState, Moments, RecurrentCritic, RecurrentNetwork, RecurrentPolicy
from wocar.training.create_networks import vector_size
from wocar.training.networks import Networks, Outputs, flatten
from wocar.training.ppo import PPOConfig
from wocar.types import Batch, EnvSpec, Memory, Transitions, UserError


@dataclass(frozen=True)
class RecurrentPPOConfig(PPOConfig, kind="recurrent-ppo"):
    policy_lr: float = 1e-3
    """Learning rate of the policy."""
    value_lr: float = 1e-2
    """Learning rate of the value critic."""
    minibatches: int = 1
    """Parts of an epoch; each holds whole sequences of some environments."""
    hidden: tuple[int, ...] = (64,)
    """Units of the LSTM, and of the linear layer before it."""
    chunk: int = 100
    """Steps over which gradients flow back; the state itself is carried on."""

    ranges = COUNT.of("chunk")

    def check(self, run: Any) -> None:
        if getattr(run.robust, "critic_replay", 0):
            raise UserError("--critic-replay is not for an LSTM: what it remembered then is not kept")
        if getattr(run.robust, "set_share", 1) < 1 or getattr(run.robust, "director_share", 0):
            raise UserError("--set-share and --director-share are not for an LSTM: leave them at 1 and 0")
        if run.robust is not None and run.robust.hunt_begin < 1:
            raise UserError("--hunt-begin is not for an LSTM: leave it at 1")
        if len(self.hidden) != 1:
            raise UserError(f"--hidden must be one number for an LSTM, not {self.hidden}")

    @property
    def networks(self) -> Networks:
        return RecurrentNetworks(self.hidden, self.init_std, self.min_std, self.n_envs, self.n_steps, self.chunk)

    @property
    def block(self) -> int:
        return self.n_steps


class Unrolled(Moments):
    """A policy along the sequences of one batch, whose outputs there are given."""

    heads: jax.Array

    def head(self, obs: jax.Array) -> jax.Array:
        return self.heads


@dataclass(frozen=True)
class RecurrentNetworks(Networks):
    """An LSTM each for policy and value. Every sequence starts from the state recorded there, which is data."""

    n_envs: int
    n_steps: int
    chunk: int

    @property
    def critic_hidden(self) -> tuple[int, ...]:
        """Two layers: the worst critic has no memory."""
        return self.hidden * 2

    def create(self, spec: EnvSpec, key: jax.Array) -> tuple[RecurrentPolicy, RecurrentCritic, Memory]:
        size, (units,) = vector_size(spec), self.hidden
        policy_key, value_key = jax.random.split(key)
        init_std = None if spec.actions.discrete else self.init_std
        policy = RecurrentPolicy.create(size, spec.actions.size, policy_key, units, init_std)
        value = RecurrentCritic.create(size, value_key, units)
        start = Memory(*(network.start(self.n_envs) for network in (policy, value)))
        return self.floored(policy), value, jax.tree.map(jnp.asarray, start)

    def run(self, policy: RecurrentPolicy, value: RecurrentCritic, memory: Memory, rollout: Transitions) -> Outputs:
        flat, obs, chunk = flatten(rollout), jnp.asarray(rollout.obs), self.chunk
        ends = jnp.asarray(rollout.terminated) | jnp.asarray(rollout.truncated)
        heads, policy_after = policy.network.unroll(obs, memory.policy, ends, chunk)
        values, value_after = value.network.unroll(obs, memory.value, ends, chunk)
        after = Memory(policy_after, value_after)
        before = Memory(*(states_before(*pair, ends) for pair in zip(memory, after, strict=True)))
        return Outputs(
            log_prob=Unrolled(policy, _rows(heads)).log_prob(flat.obs, flat.actions),
            value=_rows(values)[:, 0],
            next_value=value.held(jax.tree.map(_rows, value_after))(flat.next_obs),
            before=jax.tree.map(_rows, before),
            after=jax.tree.map(lambda x: x[:, -1], after),
        )

    def policy(self, policy: RecurrentPolicy, batch: Batch) -> Unrolled:
        return Unrolled(policy, self._unroll(policy.network, batch, batch.memory.policy))

    def values(self, value: RecurrentCritic, batch: Batch) -> jax.Array:
        return self._unroll(value.network, batch, batch.memory.value)[:, 0]

    def _unroll(self, network: RecurrentNetwork, batch: Batch, memory: LSTMState) -> jax.Array:
        """The network's outputs along the batch's sequences, (N, out)."""

        def sequences(x: Any) -> jax.Array:
            return jnp.asarray(x).reshape(-1, self.n_steps, *x.shape[1:])

        start = jax.tree.map(lambda x: sequences(x)[:, 0], memory)
        return _rows(network.unroll(sequences(batch.obs), start, sequences(batch.last), self.chunk)[0])


def states_before(start: LSTMState, after: LSTMState, ends: jax.Array) -> LSTMState:
    """States before each step (n, T, hidden), from that before the first (n, hidden) and those after each."""

    def shift(first: jax.Array, after: jax.Array) -> jax.Array:
        kept = jnp.where(ends[:, :-1, None], 0.0, after[:, :-1])
        return jnp.concatenate([first[:, None], kept], axis=1)

    return LSTMState(*map(shift, start, after))


def _rows(x: jax.Array) -> jax.Array:
    """(n, T, ...) -> (n * T, ...)"""
    return x.reshape(-1, *x.shape[2:])
