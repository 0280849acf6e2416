"""PPO for policies with a memory: backpropagation through time, over whole sequences. Docs: docs/methods.md."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from wocar.config_base import COUNT
from wocar.mechanisms.objective import Objective, Vanilla
from wocar.networks import HeldPolicy, LSTMState, Moments, RecurrentCritic, RecurrentNetwork, RecurrentPolicy
from wocar.training.learner import Learner, assemble_batch, flatten, vector_size
from wocar.training.ppo import PPO, PPOConfig
from wocar.types import Batch, EnvSpec, Transitions, UserError


@dataclass(frozen=True)
class RecurrentPPOConfig(PPOConfig, kind="recurrent-ppo"):
    policy_lr: float = 1e-3
    value_lr: float = 1e-2
    minibatches: int = 1
    """Parts of an epoch; each holds whole sequences of some environments."""
    hidden: tuple[int, ...] = (64,)
    """Units of the LSTM, and of the linear layer before it."""
    chunk: int = 100
    """Steps over which gradients flow back; the state itself is carried on."""

    ranges = COUNT.of("chunk")

    def build(self, objective: Objective | None) -> "RecurrentPPO":
        return RecurrentPPO(self, Vanilla() if objective is None else objective)

    def check(self, run: Any) -> None:
        if getattr(run.robust, "critic_replay", 0):
            raise UserError("--critic-replay is not for an LSTM: what it remembered then is not kept")
        if len(self.hidden) != 1:
            raise UserError(f"--hidden must be one number for an LSTM, not {self.hidden}")

    @property
    def block(self) -> int:
        return self.n_steps

    @property
    def critic_hidden(self) -> tuple[int, ...]:
        """It has no memory: a state's worst value is asked of the state."""
        return self.hidden * 2


class Unrolled(Moments):
    """A policy along the sequences of one batch: it knows its heads there, and nowhere else."""

    heads: jax.Array

    def head(self, obs: jax.Array) -> jax.Array:
        return self.heads


class RecurrentPPO(PPO):
    """Policy and value have an LSTM each. Every sequence starts from the state recorded there, which is data."""

    config: RecurrentPPOConfig

    def networks(self, spec: EnvSpec, key: jax.Array) -> tuple[Any, Any]:
        size, (units,) = vector_size(spec), self.config.hidden
        policy_key, value_key = jax.random.split(key)
        init_std = None if spec.actions.discrete else self.config.init_std
        policy = RecurrentPolicy.create(size, spec.actions.size, policy_key, units, init_std)
        return policy, RecurrentCritic.create(size, value_key, units)

    def memory(self, policy: Any, value: Any) -> Any:
        return jax.tree.map(jnp.asarray, tuple(network.start(self.config.n_envs) for network in (policy, value)))

    def batch(self, learner: Learner, rollout: Transitions) -> tuple[Batch, Any]:
        cfg, flat, obs = self.config, flatten(rollout), jnp.asarray(rollout.obs)
        ends = jnp.asarray(rollout.terminated) | jnp.asarray(rollout.truncated)
        starts = {"policy_memory": learner.memory[0], "value_memory": learner.memory[1]}
        heads, policy_after = learner.policy.network.unroll(obs, starts["policy_memory"], ends, cfg.chunk)
        values, value_after = learner.value.network.unroll(obs, starts["value_memory"], ends, cfg.chunk)
        log_prob = Unrolled(learner.policy, _rows(heads)).log_prob(flat.obs, flat.actions)
        next_value = learner.value.held(jax.tree.map(_rows, value_after))(flat.next_obs)
        batch = assemble_batch(rollout, _rows(values)[:, 0], next_value, log_prob, cfg.gamma, cfg.gae_lambda)
        after = {"policy_memory": policy_after, "value_memory": value_after}
        notes = {name: jax.tree.map(_rows, states_before(starts[name], after[name], ends)) for name in starts}
        memory = tuple(jax.tree.map(lambda x: x[:, -1], states) for states in after.values())
        return batch._replace(notes={**batch.notes, **notes}), memory

    def values(self, value: RecurrentCritic, batch: Batch) -> jax.Array:
        return self._unroll(value.network, batch, "value_memory")[:, 0]

    def acting(self, policy: RecurrentPolicy, batch: Batch) -> Unrolled:
        return Unrolled(policy, self._unroll(policy.network, batch, "policy_memory"))

    def held(self, policy: RecurrentPolicy, batch: Batch) -> HeldPolicy:
        return policy.held(batch.notes["policy_memory"])

    def _unroll(self, network: RecurrentNetwork, batch: Batch, memory: str) -> jax.Array:
        """The network's outputs along the batch's sequences, (N, out)."""

        def sequences(x: Any) -> jax.Array:
            return jnp.asarray(x).reshape(-1, self.config.block, *x.shape[1:])

        start = jax.tree.map(lambda x: sequences(x)[:, 0], batch.notes[memory])
        return _rows(network.unroll(sequences(batch.obs), start, sequences(batch.last), self.config.chunk)[0])


def states_before(start: LSTMState, after: LSTMState, ends: jax.Array) -> LSTMState:
    """States before each step (n, T, hidden), from that before the first (n, hidden) and those after each."""

    def shift(first: jax.Array, after: jax.Array) -> jax.Array:
        kept = jnp.where(ends[:, :-1, None], 0.0, after[:, :-1])
        return jnp.concatenate([first[:, None], kept], axis=1)

    return LSTMState(*map(shift, start, after))


def _rows(x: jax.Array) -> jax.Array:
    """(n, T, ...) -> (n * T, ...)"""
    return x.reshape(-1, *x.shape[2:])
