"""A2C: one gradient step per short rollout, with the same three doors as PPO. Docs: docs/methods.md."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.objective import Info, PolicyLoss, PolicyObjective, Vanilla, standardise
from wocar.training.learner import Learner, apply_gradient, create_learner, make_batch
from wocar.training.networks import Networks
from wocar.types import Array, Batch, EnvSpec, Policy, Transitions


@dataclass(frozen=True)
class A2CConfig(AlgorithmConfig, kind="a2c"):
    n_envs: int = 16
    """Environments stepped together."""
    n_steps: int = 5
    """Steps of each environment per update."""
    gamma: float = 0.99
    """Discount of rewards for each step."""
    gae_lambda: float = 1.0
    """Weight of later steps in an advantage (GAE)."""
    policy_lr: float = 7e-4
    """Learning rate of the policy."""
    value_lr: float = 7e-4
    """Learning rate of the value critic."""
    anneal_lr: bool = True
    """Both learning rates fall linearly to 0."""
    ent_coef: float = 0.0
    """Weight of the policy's entropy in its loss."""
    max_grad_norm: float = 0.5
    """Gradients longer than this are shortened to it."""
    normalise_advantage: bool = False
    """Standardise advantages of a batch; objectives that mix in a worst-attack value always do."""
    init_std: float = 1.0
    """Initial standard deviation of a Gaussian policy."""
    min_std: float = 0.0
    """Floor of a Gaussian policy's standard deviation."""
    hidden: tuple[int, ...] = (64, 64)
    """Sizes of the hidden layers."""
    normalise_obs: bool = True
    """Divide observations by their running standard deviation, after taking off the mean."""
    normalise_reward: bool = True
    """Divide rewards by the running standard deviation of their discounted sum."""

    ranges = (
        COUNT.of("n_envs n_steps")
        | POSITIVE.of("max_grad_norm init_std")
        | NOT_NEGATIVE.of("policy_lr value_lr ent_coef min_std")
        | SHARE.of("gamma gae_lambda")
    )

    def build(self, objective: PolicyObjective | None) -> "A2C":
        return A2C(self, Vanilla() if objective is None else objective)


class A2C:
    def __init__(self, config: A2CConfig, objective: PolicyObjective) -> None:
        self.config, self.objective = config, objective
        self.networks = Networks(config.hidden, config.init_std, config.min_std)
        self._rmsprop = optax.chain(
            optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_rms(decay=0.99, eps=1e-5)
        )
        self.update = eqx.filter_jit(self._update, donate="all-except-first")

    def init(self, spec: EnvSpec, key: jax.Array) -> Learner:
        return create_learner(spec, key, self.networks, self.objective, self._rmsprop)

    def _update(
        self, learner: Learner, rollout: Transitions, key: jax.Array, progress: jax.Array
    ) -> tuple[Learner, Info]:
        cfg = self.config
        lr = 1.0 - progress if cfg.anneal_lr else jnp.ones(())
        outputs = self.networks.run(learner.policy, learner.value, learner.memory, rollout)
        batch = make_batch(rollout, outputs, cfg.gamma, cfg.gae_lambda)
        evaluate_key, policy_key = jax.random.split(key)
        extra, notes, found = self.objective.evaluate(learner.extra, learner.policy, batch, cfg, evaluate_key, progress)

        def value_objective(value: Any) -> tuple[jax.Array, Info]:
            loss = jnp.mean((value(batch.obs) - batch.returns) ** 2)
            return loss, {"value_loss": loss}

        def policy_objective(policy: Policy) -> tuple[jax.Array, Info]:
            advantages = self.objective.improve(self._advantages(batch), batch, notes, progress)
            base = a2c_loss(policy, batch, advantages, cfg.ent_coef)
            return self.objective.loss(base, policy, batch, notes, policy_key, progress)

        value, value_opt, value_info = self._step(value_objective, learner.value, learner.value_opt, lr * cfg.value_lr)
        policy, policy_opt, policy_info = self._step(
            policy_objective, learner.policy, learner.policy_opt, lr * cfg.policy_lr
        )
        info = {**value_info, **found, **policy_info, "value": batch.value.mean()}
        return Learner(self.networks.floored(policy), value, policy_opt, value_opt, extra), info

    def _advantages(self, batch: Batch) -> jax.Array:
        if self.config.normalise_advantage or self.objective.critics:
            return standardise(batch.advantage)
        return jnp.asarray(batch.advantage)

    def _step(self, objective: Any, network: Any, opt: Any, lr: jax.Array) -> tuple[Any, Any, Info]:
        params, static = eqx.partition(network, eqx.is_array)
        grads, info = jax.grad(lambda p: objective(eqx.combine(p, static)), has_aux=True)(params)
        params, opt = apply_gradient(self._rmsprop, lr, params, opt, grads)
        return eqx.combine(params, static), opt, info


def a2c_loss(policy: Policy, batch: Batch, advantages: Array, ent_coef: float) -> PolicyLoss:
    """-mean A log π(a|s) - ent_coef * entropy."""
    head = policy.head(batch.obs)
    log_prob, entropy = policy.log_prob_given(head, batch.actions), policy.entropy(batch.obs)
    loss = -jnp.mean(advantages * log_prob)

    def at(log_prob: Array, advantages: Array) -> jax.Array:
        return -advantages * log_prob - ent_coef * entropy

    info = {"policy_loss": loss, "entropy": entropy.mean()}
    return PolicyLoss(loss - ent_coef * entropy.mean(), info, log_prob, advantages, at, head)
