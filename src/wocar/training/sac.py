"""SAC: gradient steps of an actor, twin critics and a temperature, with three doors for an objective."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.objective import BaseLoss, Info, Vanilla
from wocar.mechanisms.sac_objective import ActorSignal, Critics, SACBatch, SACObjective
from wocar.networks import ActionCritic, SquashedGaussianPolicy, TwinCritic, mlp, uniform_weights
from wocar.training.create_networks import vector_size
from wocar.training.learner import apply_gradient
from wocar.training.replay_buffer import check_replay
from wocar.types import Array, EnvSpec, UserError


@dataclass(frozen=True)
class SACConfig(AlgorithmConfig, kind="sac"):
    n_envs: int = 16
    """Environments stepped together."""
    n_steps: int = 1
    """Steps of each environment between updates; a step that only resets counts too."""
    train_freq: int = 1
    """Environment steps per gradient step."""
    gamma: float = 0.99
    learning_rate: float = 3e-4
    """Of actor, critics and temperature."""
    batch_size: int = 256
    buffer_size: int = 1_000_000
    """Transitions in the replay."""
    learning_starts: int = 5_000
    """Steps of random actions before the first update."""
    tau: float = 0.005
    """How far the target critics follow at each gradient step."""
    target_entropy: float | None = None
    """Entropy that the temperature aims at, in units of the action range; none: minus the number of actions."""
    init_temperature: float = 1.0
    loss: Literal["squared", "huber"] = "squared"
    """Of the critics' errors; Huber's is linear beyond `huber_delta`."""
    huber_delta: float = 10.0
    n_step: int = 1
    """Rewards in a target before it relies on the next value."""
    per_alpha: float = 0.0
    """Prioritised replay: how strongly large errors are preferred; 0: not at all."""
    per_beta: float = 0.4
    """How much of that preference the loss's weights take back at first; at the end all."""
    hidden: tuple[int, ...] = (256, 256)
    normalise_obs: bool = True
    """By their running mean and deviation."""
    normalise_steps: int = 100_000
    """Steps after which these statistics stay as they are: values in the replay then keep their meaning."""

    ranges = (
        COUNT.of("n_envs n_steps train_freq batch_size buffer_size n_step")
        | POSITIVE.of("init_temperature huber_delta")
        | NOT_NEGATIVE.of("learning_rate learning_starts normalise_steps")
        | SHARE.of("gamma tau per_alpha per_beta")
    )

    def build(self, objective: SACObjective | None) -> "SAC":
        return SAC(self, Vanilla() if objective is None else objective)

    def check(self, run: Any) -> None:
        check_replay(self, run)

    @property
    def updates(self) -> int:
        """Gradient steps between collecting."""
        return self.n_envs * self.n_steps // self.train_freq


class SACLearner(NamedTuple):
    policy: SquashedGaussianPolicy
    critics: Critics
    target: Critics
    log_alpha: jax.Array
    policy_opt: Any
    critics_opt: Any
    alpha_opt: Any
    extra: Any
    """The objective's own."""


class SAC:
    def __init__(self, config: SACConfig, objective: SACObjective) -> None:
        self.config, self.objective = config, objective
        self._adam = optax.scale_by_adam()
        self.updates = eqx.filter_jit(self._updates, donate="all-except-first")

    def init(self, spec: EnvSpec, key: jax.Array) -> SACLearner:
        cfg, actions = self.config, spec.actions
        if actions.discrete or actions.low is None or actions.high is None:
            raise UserError(f"SAC needs continuous actions; those of {spec.id} are discrete: try dqn or ppo")
        size, keys = vector_size(spec), jax.random.split(key, 4)
        policy = SquashedGaussianPolicy.create(size, actions.low, actions.high, keys[0], cfg.hidden)
        critics = Critics(*(create_critic(size, actions.size, k, cfg.hidden) for k in keys[1:3]))
        extra = self.objective.init(self._worst_critic(size, actions.size, keys[3]), spec.obs_shape)
        log_alpha = jnp.log(jnp.float32(cfg.init_temperature))
        policy_opt, critics_opt, alpha_opt = (
            self._adam.init(eqx.filter(x, eqx.is_array)) for x in (policy, critics, log_alpha)
        )
        target = jax.tree.map(_copy, critics)
        return SACLearner(policy, critics, target, log_alpha, policy_opt, critics_opt, alpha_opt, extra)

    def _worst_critic(self, obs_size: int, action_size: int, key: jax.Array) -> Any:
        """None, or the pair that an objective asks for."""
        if not self.objective.critics:
            return None
        keys = jax.random.split(key)
        return TwinCritic(*(create_critic(obs_size, action_size, k, self.config.hidden) for k in keys))

    def target_entropy(self, actions: int) -> float:
        wanted = self.config.target_entropy
        return -float(actions) if wanted is None else wanted

    def _updates(
        self, rest: tuple[SACBatch, jax.Array, jax.Array], learner: SACLearner
    ) -> tuple[SACLearner, jax.Array, Info]:
        """Gradient steps on (k, N, ...) one after the other; with the critics' errors (k, N)."""
        batches, key, progress = rest
        arrays, static = eqx.partition(learner, eqx.is_array)

        def step(arrays: Any, part: tuple[SACBatch, jax.Array]) -> tuple[Any, tuple[jax.Array, Info]]:
            learner, errors, info = self.update(eqx.combine(arrays, static), *part, progress)
            return eqx.filter(learner, eqx.is_array), (errors, info)

        keys = jax.random.split(key, len(batches.rewards))
        arrays, (errors, info) = jax.lax.scan(step, arrays, (batches, keys))
        return eqx.combine(arrays, static), errors, jax.tree.map(jnp.mean, info)

    def update(
        self, learner: SACLearner, batch: SACBatch, key: jax.Array, progress: jax.Array
    ) -> tuple[SACLearner, jax.Array, Info]:
        """One gradient step each of critics, actor and temperature; also the mean error (N,) of the critics."""
        cfg, objective = self.config, self.objective
        keys = jax.random.split(key, 5)
        noise, next_noise = (jax.random.normal(k, batch.actions.shape) for k in keys[:2])
        alpha, lr = jnp.exp(learner.log_alpha), cfg.learning_rate

        acting: Any = learner.policy
        extra, notes, found = objective.evaluate(learner.extra, acting, batch, learner.target, keys[2], progress)
        next_shown = getattr(notes, "next_shown", None)
        next_action, next_log_prob = learner.policy.sample(
            batch.next_obs if next_shown is None else next_shown, next_noise
        )
        next_value = learner.target.least(batch.next_obs, next_action)
        wanted = soft_target(batch.rewards, batch.discounts, next_value, next_log_prob, alpha)

        def critic_objective(critics: Critics) -> tuple[jax.Array, jax.Array]:
            errors = critics.values(batch.obs, batch.actions) - jax.lax.stop_gradient(wanted)
            return critic_loss(errors, batch.weights, cfg.huber_delta if cfg.loss == "huber" else None), errors

        critics, critics_opt, (loss, errors) = self._descend(critic_objective, learner.critics, learner.critics_opt, lr)

        natural = ActorSignal(batch.obs, critics.least, learner.policy, critics, keys[3])
        signal = objective.improve(natural, batch, notes, progress)

        def actor_objective(policy: Any) -> tuple[jax.Array, tuple[jax.Array, Info]]:
            actions, log_prob = policy.sample(signal.shown, noise)
            value = actor_loss(log_prob, signal.value(batch.obs, actions), alpha)
            base = BaseLoss(value, {"actor_loss": value, "entropy": -log_prob.mean()})
            loss, info = objective.loss(base, policy, batch, notes, keys[4], progress)
            return loss, (log_prob, info)

        policy, policy_opt, (_, (log_prob, actor_info)) = self._descend(
            actor_objective, learner.policy, learner.policy_opt, lr
        )

        def alpha_objective(log_alpha: jax.Array) -> tuple[jax.Array, None]:
            return temperature_loss(log_alpha, log_prob, self.target_entropy(batch.actions.shape[-1])), None

        log_alpha, alpha_opt, _ = self._descend(alpha_objective, learner.log_alpha, learner.alpha_opt, lr)
        target = jax.tree.map(lambda t, s: t + cfg.tau * (s - t) if eqx.is_array(t) else t, learner.target, critics)
        info = {
            "critic_loss": loss,
            "alpha": alpha,
            "value": wanted.mean(),
            **found,
            **actor_info,
        }
        learner = SACLearner(policy, critics, target, log_alpha, policy_opt, critics_opt, alpha_opt, extra)
        return learner, jnp.abs(errors).mean(axis=0), info

    def _descend(self, objective: Any, thing: Any, opt: Any, lr: float) -> tuple[Any, Any, tuple[jax.Array, Any]]:
        """One Adam step on objective(thing) -> (loss, more)."""
        params, static = eqx.partition(thing, eqx.is_array)
        (loss, more), grads = jax.value_and_grad(lambda p: objective(eqx.combine(p, static)), has_aux=True)(params)
        params, opt = apply_gradient(self._adam, jnp.float32(lr), params, opt, grads)
        return eqx.combine(params, static), opt, (loss, more)


def soft_target(rewards: Array, discounts: Array, next_value: Array, next_log_prob: Array, alpha: Array) -> jax.Array:
    """r + γ (min Q'(s', a') - α log π(a' | s')); `discounts` are 0 where s' is terminal. (N,)"""
    return rewards + discounts * (next_value - alpha * next_log_prob)


def critic_loss(errors: Array, weights: Array, delta: float | None) -> jax.Array:
    """Σ over critics of mean w * error² / 2; Huber's goes on linearly from delta. Errors (critics, N)."""
    each = errors**2 / 2 if delta is None else optax.losses.huber_loss(errors, delta=delta)
    return jnp.sum(jnp.mean(weights * each, axis=-1))


def actor_loss(log_prob: Array, value: Array, alpha: Array) -> jax.Array:
    """mean α log π(a | s) - Q(s, a)."""
    return jnp.mean(alpha * log_prob - value)


def temperature_loss(log_alpha: Array, log_prob: Array, target_entropy: float) -> jax.Array:
    """-log α · mean(log π + H_target), whose gradient lowers α where the entropy is above its target."""
    return -log_alpha * jnp.mean(jax.lax.stop_gradient(log_prob) + target_entropy)


def create_critic(obs_size: int, action_size: int, key: jax.Array, hidden: tuple[int, ...]) -> ActionCritic:
    """Q(s, a) of actions in [-1, 1]."""
    return ActionCritic(uniform_weights(mlp([obs_size + action_size, *hidden, 1], key, activation="relu"), key))


def _copy(x: Any) -> Any:
    return x.copy() if eqx.is_array(x) else x
