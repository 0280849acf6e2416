"""SAC: gradient steps of an actor, twin critics and a temperature, with three doors for an objective."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.objective import Info
from wocar.mechanisms.sac_objective import ActorSignal, Critics, SACBatch, SACLoss, SACNotes, SACObjective
from wocar.networks import ActionCritic, ContextCritic, SquashedGaussianPolicy, mlp, uniform_weights
from wocar.training.create_networks import copied, vector_size
from wocar.training.flat_adam import FlatAdam
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
    """Discount of rewards for each step."""
    learning_rate: float = 3e-4
    """Of actor, critics and temperature."""
    batch_size: int = 256
    """Transitions in a minibatch."""
    buffer_size: int = 1_000_000
    """Transitions in the replay."""
    learning_starts: int = 5_000
    """Steps of random actions before the first update."""
    tau: float = 0.005
    """How far the target critics follow at each gradient step."""
    target_entropy: float | None = None
    """Entropy that the temperature aims at, in units of the action range; none: minus the number of actions."""
    init_temperature: float = 1.0
    """Weight of the entropy at first."""
    loss: Literal["squared", "huber"] = "squared"
    """Of the critics' errors; Huber's is linear beyond `huber_delta`."""
    huber_delta: float = 10.0
    """Where Huber's loss becomes linear."""
    n_step: int = 1
    """Rewards in a target before it relies on the next value."""
    reward_cap: float | None = None
    """Rewards above this count as this in training: no return is gained by risk beyond it. None: as they are."""
    reward_slope: float = 0.0
    """What one more above the cap counts; negative: beyond the cap there is something to lose."""
    per_alpha: float = 0.0
    """Prioritised replay: how strongly large errors are preferred; 0: not at all."""
    per_beta: float = 0.4
    """How much of that preference the loss's weights take back at first; at the end all."""
    policy_delay: int = 1
    """Gradient steps of the critics per one of actor and temperature."""
    average: float = 0.0
    """Share that an average of the actor's weights keeps of its past; it is the agent saved. 0: the last weights."""
    hidden: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    normalise_obs: bool = True
    """By their running mean and deviation."""
    normalise_steps: int = 100_000
    """Steps after which these statistics stay as they are: values in the replay then keep their meaning."""

    ranges = (
        COUNT.of("n_envs n_steps train_freq batch_size buffer_size n_step policy_delay")
        | POSITIVE.of("init_temperature huber_delta")
        | NOT_NEGATIVE.of("learning_rate learning_starts normalise_steps")
        | SHARE.of("gamma tau per_alpha per_beta average")
    )

    def build(self, objective: SACObjective | None) -> "SAC":
        return SAC(self, SACObjective() if objective is None else objective)

    def check(self, run: Any) -> None:
        check_replay(self, run)
        if self.updates % self.policy_delay:
            raise UserError(f"--policy-delay must divide the {self.updates} updates between collecting")

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
    average: Any = None
    """Average of the policy; None: there is none."""


class SAC:
    def __init__(self, config: SACConfig, objective: SACObjective) -> None:
        self.config, self.objective = config, objective
        self._adam = FlatAdam()
        self.updates = eqx.filter_jit(self._updates, donate="all-except-first")

    def init(self, spec: EnvSpec, key: jax.Array) -> SACLearner:
        cfg, actions = self.config, spec.actions
        if actions.discrete or actions.low is None or actions.high is None:
            raise UserError(f"SAC needs continuous actions; those of {spec.id} are discrete: try dqn or ppo")
        size, keys = vector_size(spec), jax.random.split(key, 4)
        policy = SquashedGaussianPolicy.create(size, actions.low, actions.high, keys[0], cfg.hidden)
        one, other = (create_critic(size, actions.size, k, cfg.hidden) for k in keys[1:3])
        critics, contexts = Critics(one, other), self.objective.contexts(actions.size)
        if contexts:
            critics = Critics(*(ContextCritic.create(critic, contexts) for critic in critics))
        log_alpha = jnp.log(jnp.float32(cfg.init_temperature))
        return SACLearner(
            policy=policy,
            critics=critics,
            target=copied(critics),
            log_alpha=log_alpha,
            policy_opt=self._adam.init(policy),
            critics_opt=self._adam.init(critics),
            alpha_opt=self._adam.init(log_alpha),
            extra=self.objective.init(None, spec.obs_shape),
            average=copied(policy) if cfg.average else None,
        )

    def target_entropy(self, actions: int) -> float:
        wanted = self.config.target_entropy
        return -float(actions) if wanted is None else wanted

    def _updates(
        self, rest: tuple[SACBatch, jax.Array, jax.Array], learner: SACLearner
    ) -> tuple[SACLearner, jax.Array, Info]:
        """Gradient steps on (k, N, ...) one after the other; with the critics' errors (k, N)."""
        batches, key, progress = rest
        arrays, static = eqx.partition(learner, eqx.is_array)
        delay = self.config.policy_delay

        def step(arrays: Any, part: tuple[SACBatch, jax.Array]) -> tuple[Any, tuple[jax.Array, Info]]:
            """One step of the actor, and so many of the critics."""
            learner, each = eqx.combine(arrays, static), []
            for k in range(delay):
                batch, key = jax.tree.map(lambda x, k=k: x[k], part)
                learner, errors, info = self.update(learner, batch, key, progress, actor=k == delay - 1)
                each.append(errors)
            return eqx.filter(learner, eqx.is_array), (jnp.stack(each), info)

        keys = jax.random.split(key, len(batches.rewards))
        parts = jax.tree.map(lambda x: x.reshape(-1, delay, *x.shape[1:]), (batches, keys))
        arrays, (errors, info) = jax.lax.scan(step, arrays, parts)
        return eqx.combine(arrays, static), errors.reshape(len(keys), -1), jax.tree.map(jnp.mean, info)

    def update(
        self, learner: SACLearner, batch: SACBatch, key: jax.Array, progress: jax.Array, actor: bool = True
    ) -> tuple[SACLearner, jax.Array, Info]:
        """One gradient step each of critics, actor and temperature; also the mean error (N,) of the critics."""
        noise_key, next_key, evaluate_key, improve_key, loss_key = jax.random.split(key, 5)
        learner, notes, errors, info = self._evaluate(learner, batch, next_key, evaluate_key, progress)
        if actor:
            learner, found = self._improve(learner, batch, notes, (noise_key, improve_key, loss_key), progress)
            info |= found
        return learner, errors, info

    def _evaluate(
        self, learner: SACLearner, batch: SACBatch, noise_key: jax.Array, key: jax.Array, progress: jax.Array
    ) -> tuple[SACLearner, Any, jax.Array, Info]:
        """A step of the critics, after which their target follows."""
        cfg, alpha, policy = self.config, jnp.exp(learner.log_alpha), learner.policy
        acting: Any = policy
        extra, notes, found = self.objective.evaluate(learner.extra, acting, batch, learner.target, key, progress)
        how = SACNotes() if notes is None else notes
        noise = jax.random.normal(noise_key, batch.actions.shape)
        shown = batch.next_obs if how.next_shown is None else how.next_shown
        next_action, next_log_prob = policy.sample(shown, silenced(noise, how.noisy))
        if how.noisy is not None:
            next_log_prob = next_log_prob * how.noisy
        if how.chosen is not None:
            rows, given = how.chosen
            next_action = jnp.where(rows[:, None] > 0, given, next_action)
            next_log_prob = jnp.where(rows > 0, 0.0, next_log_prob)
        next_value = learner.target.least(batch.next_obs, next_action, how.context)
        wanted = soft_target(batch.rewards, batch.discounts, next_value, next_log_prob, alpha)

        def critic_objective(critics: Critics) -> tuple[jax.Array, jax.Array]:
            errors = critics.values(batch.obs, batch.actions, how.context) - jax.lax.stop_gradient(wanted)
            return critic_loss(errors, batch.weights, cfg.huber_delta if cfg.loss == "huber" else None), errors

        critics, opt, (loss, errors) = self._adam.descend(
            critic_objective, learner.critics, learner.critics_opt, cfg.learning_rate
        )
        target = follow(learner.target, critics, cfg.tau)
        learner = learner._replace(critics=critics, critics_opt=opt, target=target, extra=extra)
        info = {"critic_loss": loss, "alpha": alpha, "value": wanted.mean(), **found}
        return learner, notes, jnp.abs(errors).mean(axis=0), info

    def _improve(
        self, learner: SACLearner, batch: SACBatch, notes: Any, keys: tuple[jax.Array, ...], progress: jax.Array
    ) -> tuple[SACLearner, Info]:
        """A step each of actor and temperature."""
        cfg, alpha, critics = self.config, jnp.exp(learner.log_alpha), learner.critics
        noise_key, improve_key, loss_key = keys
        natural = ActorSignal(batch.obs, critics.least, learner.policy, critics, improve_key)
        signal = self.objective.improve(natural, batch, notes, progress)
        noise = silenced(jax.random.normal(noise_key, batch.actions.shape), signal.noisy)

        def actor_objective(policy: Any) -> tuple[jax.Array, tuple[jax.Array, Info]]:
            moments = policy.moments(signal.shown)
            actions, log_prob = policy.sample_at(moments, noise)
            weighed = log_prob if signal.noisy is None else log_prob * signal.noisy
            value = actor_loss(weighed, signal.value(batch.obs, actions), alpha)
            entropy = -mean_over(log_prob, signal.noisy)
            base = SACLoss(value, {"actor_loss": value, "entropy": entropy}, signal, moments)
            loss, info = self.objective.loss(base, policy, batch, notes, loss_key, progress)
            return loss, (entropy, info)

        policy, policy_opt, (_, (entropy, info)) = self._adam.descend(
            actor_objective, learner.policy, learner.policy_opt, cfg.learning_rate
        )

        def alpha_objective(log_alpha: jax.Array) -> tuple[jax.Array, None]:
            return temperature_loss(log_alpha, entropy, self.target_entropy(batch.actions.shape[-1])), None

        log_alpha, alpha_opt, _ = self._adam.descend(
            alpha_objective, learner.log_alpha, learner.alpha_opt, cfg.learning_rate
        )
        average = None if learner.average is None else follow(learner.average, policy, 1 - cfg.average)
        learner = learner._replace(
            policy=policy, policy_opt=policy_opt, log_alpha=log_alpha, alpha_opt=alpha_opt, average=average
        )
        return learner, info


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


def temperature_loss(log_alpha: Array, entropy: Array, target_entropy: float) -> jax.Array:
    """log α · (H(π) - H_target), whose gradient lowers α where the entropy is above its target."""
    return log_alpha * (jax.lax.stop_gradient(entropy) - target_entropy)


def silenced(noise: jax.Array, noisy: Array | None) -> jax.Array:
    """The noise (N, actions) where `noisy` (N,) is 1, else 0."""
    return noise if noisy is None else noise * noisy[:, None]


def mean_over(x: jax.Array, rows: Array | None) -> jax.Array:
    """The mean of x (N,), over the rows that are 1 where these are given."""
    return x.mean() if rows is None else jnp.sum(x * rows) / jnp.maximum(jnp.sum(rows), 1.0)


def follow(target: Any, source: Any, tau: float) -> Any:
    return jax.tree.map(lambda t, s: t + tau * (s - t) if eqx.is_array(t) else t, target, source)


def create_critic(obs_size: int, action_size: int, key: jax.Array, hidden: tuple[int, ...]) -> ActionCritic:
    """Q(s, a) of actions in [-1, 1]."""
    return ActionCritic(uniform_weights(mlp([obs_size + action_size, *hidden, 1], key, activation="relu"), key))
