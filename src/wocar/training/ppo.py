"""PPO: one jitted update per iteration, with three doors for an objective. Docs: docs/methods.md."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.objective import Info, Objective, Vanilla, clipped_surrogate
from wocar.training.learner import (
    Learner,
    apply_gradient,
    create_networks,
    create_worst_critic,
    make_batch,
    minibatches,
)
from wocar.types import Array, Batch, EnvSpec, Transitions


@dataclass(frozen=True)
class PPOConfig(AlgorithmConfig, kind="ppo"):
    n_envs: int = 16
    """Environments stepped together."""
    n_steps: int = 128
    """Steps of each environment per iteration."""
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    policy_lr: float = 3e-4
    value_lr: float = 2.5e-4
    anneal_lr: bool = True
    """Both learning rates fall linearly to 0."""
    policy_epochs: int = 10
    value_epochs: int = 10
    minibatches: int = 32
    ent_coef: float = 0.0
    value_clip: bool = False
    """Clip the value's change to clip_range around its old prediction."""
    init_std: float = 1.0
    """Initial standard deviation of a Gaussian policy."""
    hidden: tuple[int, ...] = (64, 64)
    normalise_obs: bool = True
    normalise_reward: bool = True

    ranges = (
        COUNT.of("n_envs n_steps policy_epochs value_epochs")
        | POSITIVE.of("clip_range init_std")
        | NOT_NEGATIVE.of("policy_lr value_lr ent_coef")
        | SHARE.of("gamma gae_lambda")
    )

    def build(self, objective: Objective | None) -> "PPO":
        return PPO(self, Vanilla() if objective is None else objective)

    @property
    def critic_hidden(self) -> tuple[int, ...]:
        """Hidden layers of a worst critic."""
        return self.hidden


class PPO:
    def __init__(self, config: PPOConfig, objective: Objective) -> None:
        self.config, self.objective = config, objective
        self._adam = optax.scale_by_adam(eps=1e-5)
        self.update = eqx.filter_jit(self._update, donate="all-except-first")

    def init(self, spec: EnvSpec, key: jax.Array) -> Learner:
        cfg = self.config
        policy, value = self.networks(spec, jax.random.fold_in(key, 0))
        critic = create_worst_critic(spec, jax.random.fold_in(key, 1), cfg.critic_hidden, self.objective.critics)
        extra = self.objective.init(critic, spec.obs_shape)
        return Learner(policy, value, self._init_opt(policy), self._init_opt(value), extra, self.memory(policy, value))

    def networks(self, spec: EnvSpec, key: jax.Array) -> tuple[Any, Any]:
        """Policy and value to train."""
        return create_networks(spec, key, self.config.hidden, self.config.init_std)

    def memory(self, policy: Any, value: Any) -> Any:
        """What the networks remember when environments start."""
        return ()

    def batch(self, learner: Learner, rollout: Transitions) -> tuple[Batch, Any]:
        """The batch of a rollout, and what the networks remember after it."""
        return make_batch(learner, rollout, self.config.gamma, self.config.gae_lambda), ()

    def values(self, value: Any, batch: Batch) -> jax.Array:
        """V at the batch's observations."""
        return value(batch.obs)

    def acting(self, policy: Any, batch: Batch) -> Any:
        """The policy as it acts at the batch's observations."""
        return policy

    def held(self, policy: Any, batch: Batch) -> Any:
        """The policy as it would act at other observations in their place."""
        return policy

    def _update(
        self, learner: Learner, rollout: Transitions, key: jax.Array, progress: jax.Array
    ) -> tuple[Learner, Info]:
        """One iteration: value, then mechanism 1, then the policy with mechanisms 2 and 3.

        `progress` runs from 0 to 1 over training; `rollout` holds normalised rewards, axes (n, T).
        """
        cfg = self.config
        lr = 1.0 - progress if cfg.anneal_lr else jnp.ones(())
        batch, memory = self.batch(learner, rollout)
        value_key, fit_key, policy_key = jax.random.split(key, 3)

        def value_objective(value: Any, batch: Batch, key: jax.Array) -> tuple[jax.Array, Info]:
            loss = value_loss(self.values(value, batch), batch, cfg.clip_range if cfg.value_clip else None)
            return loss, {"value_loss": loss}

        value, value_opt, value_info = self._descend(
            value_objective, learner.value, learner.value_opt, batch, value_key, cfg.value_epochs, lr * cfg.value_lr
        )
        extra, batch, fit_info = self.objective.fit(
            learner.extra, self.held(learner.policy, batch), batch, fit_key, progress
        )

        def policy_objective(policy: Any, batch: Batch, key: jax.Array) -> tuple[jax.Array, Info]:
            advantages = self.objective.advantages(batch, progress)
            loss, info = ppo_loss(self.acting(policy, batch), batch, advantages, cfg.clip_range, cfg.ent_coef)
            penalty = self.objective.penalty(self.held(policy, batch), batch, key, progress)
            return loss + penalty, {**info, "penalty": penalty}

        policy, policy_opt, policy_info = self._descend(
            policy_objective,
            learner.policy,
            learner.policy_opt,
            batch,
            policy_key,
            cfg.policy_epochs,
            lr * cfg.policy_lr,
        )
        info = {**value_info, **fit_info, **policy_info, "value": batch.value.mean()}
        return Learner(policy, value, policy_opt, value_opt, extra, memory), info

    def _descend(
        self, objective: Any, network: Any, opt: Any, batch: Batch, key: jax.Array, epochs: int, lr: jax.Array
    ) -> tuple[Any, Any, Info]:
        """Epochs of shuffled minibatch steps on objective(network, minibatch, key) -> (loss, info)."""
        params, static = eqx.partition(network, eqx.is_array)

        def minibatch(carry: Any, step: tuple[Batch, jax.Array]) -> tuple[Any, Info]:
            params, opt = carry
            part, key = step
            grads, info = jax.grad(lambda p: objective(eqx.combine(p, static), part, key), has_aux=True)(params)
            return apply_gradient(self._adam, lr, params, opt, grads), info

        def epoch(carry: Any, key: jax.Array) -> tuple[Any, Info]:
            order_key, step_key = jax.random.split(key)
            parts = minibatches(batch, order_key, self.config.minibatches, self.config.block)
            return jax.lax.scan(minibatch, carry, (parts, jax.random.split(step_key, self.config.minibatches)))

        (params, opt), info = jax.lax.scan(epoch, (params, opt), jax.random.split(key, epochs))
        return eqx.combine(params, static), opt, jax.tree.map(lambda x: x[-1].mean(), info)

    def _init_opt(self, network: Any) -> Any:
        return self._adam.init(eqx.filter(network, eqx.is_array))


def ppo_loss(
    policy: Any, batch: Batch, advantages: Array, clip_range: float, ent_coef: float
) -> tuple[jax.Array, Info]:
    """-mean min(ρA, clip(ρ, 1-c, 1+c)A) - ent_coef * entropy."""
    log_prob = policy.log_prob(batch.obs, batch.actions)
    ratio = jnp.exp(log_prob - batch.log_prob)
    surrogate = clipped_surrogate(ratio, advantages, clip_range)
    entropy = policy.entropy(batch.obs).mean()
    info = {
        "policy_loss": -surrogate.mean(),
        "entropy": entropy,
        "kl": (batch.log_prob - log_prob).mean(),
        "clipped": (jnp.abs(ratio - 1) > clip_range).mean(),
    }
    return -surrogate.mean() - ent_coef * entropy, info


def value_loss(predicted: Array, batch: Batch, clip_range: float | None) -> jax.Array:
    """mean (V - R)², or the larger of it and that of V clipped to its old prediction ± clip_range."""
    error = (predicted - batch.returns) ** 2
    if clip_range is not None:
        clipped = batch.value + jnp.clip(predicted - batch.value, -clip_range, clip_range)
        error = jnp.maximum(error, (clipped - batch.returns) ** 2)
    return jnp.mean(error)
