"""PPO: one jitted update per iteration, with three doors for an objective. Docs: docs/methods.md."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.objective import Info, PolicyLoss, PolicyObjective, Vanilla, standardise
from wocar.training.learner import Learner, apply_gradient, create_learner, make_batch, minibatches
from wocar.training.networks import Networks
from wocar.types import Array, Batch, EnvSpec, Memory, Policy, Transitions

BESIDE = ThreadPoolExecutor(1, "fit-value")
"""Where the value is fitted while the policy is: neither needs the other, and each keeps one core busy."""


@dataclass(frozen=True)
class PPOConfig(AlgorithmConfig, kind="ppo"):
    n_envs: int = 16
    """Environments stepped together."""
    n_steps: int = 128
    """Steps of each environment per iteration."""
    gamma: float = 0.99
    """Discount of rewards for each step."""
    gae_lambda: float = 0.95
    """Weight of later steps in an advantage (GAE)."""
    clip_range: float = 0.2
    """By how much probability ratios may depart from 1."""
    policy_lr: float = 3e-4
    """Learning rate of the policy."""
    value_lr: float = 2.5e-4
    """Learning rate of the value critic."""
    anneal_lr: bool = True
    """Both learning rates fall linearly to 0."""
    policy_epochs: int = 10
    """Passes of the policy over the steps of an iteration."""
    value_epochs: int = 10
    """Passes of the value critic over the steps of an iteration."""
    minibatches: int = 32
    """Minibatches of a pass."""
    ent_coef: float = 0.0
    """Weight of the policy's entropy in its loss."""
    value_clip: bool = False
    """Clip the value's change to clip_range around its old prediction."""
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
    reward_cap: float | None = None
    """Rewards above this count as this in training: no return is gained by risk beyond it. None: as they are."""
    reward_slope: float = 0.0
    """What one more above the cap counts; negative: beyond the cap there is something to lose."""

    ranges = (
        COUNT.of("n_envs n_steps policy_epochs value_epochs")
        | POSITIVE.of("clip_range init_std")
        | NOT_NEGATIVE.of("policy_lr value_lr ent_coef min_std")
        | SHARE.of("gamma gae_lambda")
    )

    def build(self, objective: PolicyObjective | None) -> "PPO":
        return PPO(self, Vanilla() if objective is None else objective)

    @property
    def networks(self) -> Networks:
        return Networks(self.hidden, self.init_std, self.min_std)


class PPO:
    def __init__(self, config: PPOConfig, objective: PolicyObjective) -> None:
        self.config, self.objective, self.networks = config, objective, config.networks
        self._adam = optax.scale_by_adam(eps=1e-5)

    def init(self, spec: EnvSpec, key: jax.Array) -> Learner:
        return create_learner(spec, key, self.networks, self.objective, self._adam)

    def update(
        self, learner: Learner, rollout: Transitions, key: jax.Array, progress: jax.Array
    ) -> tuple[Learner, Info]:
        """One iteration: the value, and beside it mechanism 1, then the policy with mechanisms 2 and 3.

        `progress` runs from 0 to 1 over training; `rollout` holds normalised rewards, axes (n, T).
        """
        batch, after = self._prepare(learner, rollout)
        value_key, evaluate_key, policy_key = jax.random.split(key, 3)
        fitting = BESIDE.submit(self._fit_value, learner, batch, value_key, evaluate_key, progress)
        policy, policy_opt, extra, improved = self._fit_policy(learner, batch, evaluate_key, policy_key, progress)
        value, value_opt, fitted, beside = fitting.result()
        extra = beside if self.objective.lagged else extra
        return Learner(policy, value, policy_opt, value_opt, extra, after), {**fitted, **improved}

    @eqx.filter_jit
    def _prepare(self, learner: Learner, rollout: Transitions) -> tuple[Batch, Memory]:
        outputs = self.networks.run(learner.policy, learner.value, learner.memory, rollout)
        return make_batch(rollout, outputs, self.config.gamma, self.config.gae_lambda), outputs.after

    def _lr(self, progress: jax.Array) -> jax.Array:
        return 1.0 - progress if self.config.anneal_lr else jnp.ones(())

    @eqx.filter_jit
    def _fit_value(
        self, learner: Learner, batch: Batch, key: jax.Array, evaluate_key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Any, Info, Any]:
        cfg, extra = self.config, None
        found: Info = {}
        if self.objective.lagged:
            policy = learner.policy.held(batch.memory.policy)
            extra, _, found = self.objective.evaluate(learner.extra, policy, batch, cfg, evaluate_key, progress)

        def of_value(value: Any, batch: Batch, key: jax.Array) -> tuple[jax.Array, Info]:
            clip_range = cfg.clip_range if cfg.value_clip else None
            loss = value_loss(self.networks.values(value, batch), batch, clip_range)
            return loss, {"value_loss": loss}

        lr = self._lr(progress) * cfg.value_lr
        value, opt, info = self._descend(of_value, learner.value, learner.value_opt, batch, key, cfg.value_epochs, lr)
        return value, opt, {**info, **found, "value": batch.value.mean()}, extra

    @eqx.filter_jit
    def _fit_policy(
        self, learner: Learner, batch: Batch, evaluate_key: jax.Array, key: jax.Array, progress: jax.Array
    ) -> tuple[Any, Any, Any, Info]:
        cfg, objective, networks = self.config, self.objective, self.networks
        policy = learner.policy.held(batch.memory.policy)
        extra, notes, found = objective.evaluate(learner.extra, policy, batch, cfg, evaluate_key, progress)
        if objective.lagged:  # the notes alone are needed here: XLA leaves out the rest
            extra, found = None, {}

        def of_policy(policy: Any, part: tuple[Batch, Any], key: jax.Array) -> tuple[jax.Array, Info]:
            batch, notes = part
            advantages = objective.improve(standardise(batch.advantage), batch, notes, progress)
            base = ppo_loss(networks.policy(policy, batch), batch, advantages, cfg.clip_range, cfg.ent_coef)
            return objective.loss(base, policy.held(batch.memory.policy), batch, notes, key, progress)

        data, lr = (batch, notes), self._lr(progress) * cfg.policy_lr
        policy, opt, info = self._descend(
            of_policy, learner.policy, learner.policy_opt, data, key, cfg.policy_epochs, lr
        )
        return networks.floored(policy), opt, extra, {**found, **info}

    def _descend(
        self, loss: Any, network: Any, opt: Any, data: Any, key: jax.Array, epochs: int, lr: jax.Array
    ) -> tuple[Any, Any, Info]:
        """Epochs of shuffled minibatch steps on loss(network, minibatch, key) -> (loss, info)."""
        params, static = eqx.partition(network, eqx.is_array)

        def minibatch(carry: Any, step: tuple[Any, jax.Array]) -> tuple[Any, Info]:
            params, opt = carry
            part, key = step
            grads, info = jax.grad(lambda p: loss(eqx.combine(p, static), part, key), has_aux=True)(params)
            return apply_gradient(self._adam, lr, params, opt, grads), info

        def epoch(carry: Any, key: jax.Array) -> tuple[Any, Info]:
            order_key, step_key = jax.random.split(key)
            parts = minibatches(data, order_key, self.config.minibatches, self.config.block)
            return jax.lax.scan(minibatch, carry, (parts, jax.random.split(step_key, self.config.minibatches)))

        (params, opt), info = jax.lax.scan(epoch, (params, opt), jax.random.split(key, epochs))
        return eqx.combine(params, static), opt, jax.tree.map(lambda x: x[-1].mean(), info)


def ppo_loss(policy: Policy, batch: Batch, advantages: Array, clip_range: float, ent_coef: float) -> PolicyLoss:
    """-mean min(ρA, clip(ρ, 1-c, 1+c)A) - ent_coef * entropy."""
    head = policy.head(batch.obs)
    log_prob, entropy = policy.log_prob_given(head, batch.actions), policy.entropy(batch.obs)
    ratio = jnp.exp(log_prob - batch.log_prob)
    surrogate = clipped_surrogate(ratio, advantages, clip_range).mean()
    info = {
        "policy_loss": -surrogate,
        "entropy": entropy.mean(),
        "kl": (batch.log_prob - log_prob).mean(),
        "clipped": (jnp.abs(ratio - 1) > clip_range).mean(),
    }

    def at(log_prob: Array, advantages: Array) -> jax.Array:
        ratio = jnp.exp(log_prob - batch.log_prob)
        return -clipped_surrogate(ratio, advantages, clip_range) - ent_coef * entropy

    return PolicyLoss(-surrogate - ent_coef * entropy.mean(), info, log_prob, advantages, at, head)


def clipped_surrogate(ratio: jax.Array, advantages: jax.Array, clip_range: float) -> jax.Array:
    """min(ρA, clip(ρ, 1-c, 1+c)A), of the ratio ρ = π(a|s) / π_old(a|s). (N,)"""
    return jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - clip_range, 1 + clip_range) * advantages)


def value_loss(predicted: Array, batch: Batch, clip_range: float | None) -> jax.Array:
    """mean (V - R)², or the larger of it and that of V clipped to its old prediction ± clip_range."""
    error = (predicted - batch.returns) ** 2
    if clip_range is not None:
        clipped = batch.value + jnp.clip(predicted - batch.value, -clip_range, clip_range)
        error = jnp.maximum(error, (clipped - batch.returns) ** 2)
    return jnp.mean(error)
