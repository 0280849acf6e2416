"""DQN: one gradient step of a Q network per minibatch, with three doors for an objective. Docs: docs/methods.md."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from wocar.bounds import taken
from wocar.config_base import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, AlgorithmConfig
from wocar.mechanisms.objective import BaseLoss, Info, Vanilla
from wocar.mechanisms.q_objective import ActionValues, QBatch, QNet, QObjective
from wocar.networks import SMALL_CNN, DiscreteCritic, GreedyPolicy, cnn, linear, mlp, uniform_weights
from wocar.training.create_networks import copied
from wocar.training.learner import apply_gradient
from wocar.training.replay_buffer import check_replay
from wocar.types import Array, EnvSpec, UserError


@dataclass(frozen=True)
class DQNConfig(AlgorithmConfig, kind="dqn"):
    n_envs: int = 8
    """Environments stepped together."""
    n_steps: int = 8
    """Steps of each environment between updates; a step that only resets counts too."""
    train_freq: int = 2
    """Environment steps per gradient step."""
    gamma: float = 0.99
    """Discount of rewards for each step."""
    learning_rate: float = 5e-4
    """Learning rate of the network."""
    anneal_lr: bool = True
    """The learning rate falls linearly to 0."""
    batch_size: int = 64
    """Transitions in a minibatch."""
    buffer_size: int = 100_000
    """Transitions in the replay."""
    learning_starts: int = 1_000
    """Steps before the first update."""
    exploration_fraction: float = 0.2
    """Share of training over which random actions become rarer."""
    exploration_initial_eps: float = 1.0
    """Share of random actions at first."""
    exploration_final_eps: float = 0.05
    """Share of random actions at last."""
    exploration_end_eps: float | None = None
    """Share of random actions at the end of training, linear from exploration_final_eps; none: it stays constant."""
    exploration_hold: int = 1
    """Longest repetition of a random action; more than one where single random steps do not reach new states."""
    target_update_interval: int = 200
    """Gradient steps between updates of the target network."""
    tau: float = 1.0
    """Step of the target towards the online network: 1 copies it; use a small one with an interval of 1."""
    max_grad_norm: float = 10.0
    """Gradients longer than this are shortened to it."""
    loss: Literal["huber", "squared"] = "huber"
    """Of an error: linear beyond 1, for rewards cut to signs; or the paper's square, for returns of any size."""
    double: bool = True
    """Double DQN: the online network chooses the next action, the target evaluates it."""
    dueling: bool = False
    """Dueling heads: a state value and the actions' advantages."""
    n_step: int = 1
    """Rewards in a target before the next value; always one in the worst critic's, since attacks come at every step."""
    per_alpha: float = 0.0
    """Prioritised replay: exponent of the errors; 0: uniform sampling."""
    per_beta: float = 0.4
    """Initial exponent of the importance-sampling weights; it grows to 1."""
    network: Literal["nature", "small"] = "nature"
    """For pixels: the network of the Nature paper, or the smaller one of the first DQN paper."""
    hidden: tuple[int, ...] = (64, 64)
    """For vectors: hidden layers."""
    normalise_obs: bool = True
    """Vectors by their running mean and deviation; pixels are divided by 255."""
    init_from: str = ""
    """Folder of an agent whose Q network all networks start from."""

    ranges = (
        COUNT.of("n_envs n_steps train_freq batch_size buffer_size target_update_interval n_step exploration_hold")
        | POSITIVE.of("max_grad_norm")
        | NOT_NEGATIVE.of("learning_rate learning_starts")
        | SHARE.of("gamma tau per_alpha per_beta exploration_fraction")
        | SHARE.of("exploration_initial_eps exploration_final_eps exploration_end_eps")
    )

    def build(self, objective: QObjective | None) -> "DQN":
        return DQN(self, Vanilla() if objective is None else objective)

    def check(self, run: Any) -> None:
        check_replay(self, run)

    @property
    def updates(self) -> int:
        """Gradient steps between collecting."""
        return self.n_envs * self.n_steps // self.train_freq


class DQNLearner(NamedTuple):
    q: QNet
    """The network that acts."""
    extra: Any
    """The objective's own."""
    done: jax.Array
    """Gradient steps so far."""

    @property
    def policy(self) -> GreedyPolicy:
        return GreedyPolicy(self.q.online.network)


class DQN:
    def __init__(self, config: DQNConfig, objective: QObjective) -> None:
        self.config, self.objective = config, objective
        self._adam = optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_adam(eps=1e-5))
        self.update = _spending_the_first(self._update)
        self.updates = _spending_the_first(self._updates)

    def init(self, spec: EnvSpec, key: jax.Array, network: eqx.nn.Sequential | None = None) -> DQNLearner:
        """All networks start equal, from `network` or from fresh weights."""
        if not spec.actions.discrete:
            raise UserError(f"DQN chooses among discrete actions; those of {spec.id} are continuous")
        network = network or create_network(spec, key, self.config)
        own = self._net(network, with_target=self.objective.critics == 0)
        extra = self.objective.init([self._net(network) for _ in range(self.objective.critics)], spec.obs_shape)
        return DQNLearner(own, extra, jnp.zeros((), jnp.int32))

    def _net(self, network: eqx.nn.Sequential, with_target: bool = True) -> QNet:
        online, target = (DiscreteCritic(copied(network)) for _ in range(2))
        return QNet(online, target if with_target else None, self._adam.init(eqx.filter(online, eqx.is_array)))

    def _updates(
        self, learner: DQNLearner, batches: QBatch, key: jax.Array, progress: jax.Array
    ) -> tuple[DQNLearner, jax.Array, Info]:
        """Gradient steps on (k, N, ...) one after the other; with the errors (k, N)."""
        arrays, static = eqx.partition(learner, eqx.is_array)

        def step(arrays: Any, part: tuple[QBatch, jax.Array]) -> tuple[Any, tuple[jax.Array, Info]]:
            learner, errors, info = self._update(eqx.combine(arrays, static), *part, progress)
            return eqx.filter(learner, eqx.is_array), (errors, info)

        keys = jax.random.split(key, len(batches.rewards))
        arrays, (errors, info) = jax.lax.scan(step, arrays, (batches, keys))
        return eqx.combine(arrays, static), errors, jax.tree.map(jnp.mean, info)

    def _update(
        self, learner: DQNLearner, batch: QBatch, key: jax.Array, progress: jax.Array
    ) -> tuple[DQNLearner, jax.Array, Info]:
        """Alg. 2, lines 8 to 17, on one minibatch; with every door closed DQN. Also the errors (N,) of the acting Q."""
        q, objective, batch = learner.q, self.objective, batch.seen
        base = _Base(self, learner.done, progress)
        extra, notes, found = objective.evaluate(learner.extra, learner.policy, batch, base, key, progress)
        after = batch.after
        values = objective.improve(q.values(after.next_obs), batch, notes, progress)
        wanted = after.rewards + after.discounts * base.next_value(values)

        def loss(online: DiscreteCritic, td: BaseLoss) -> tuple[jax.Array, Info]:
            return objective.loss(td, GreedyPolicy(online.network), batch, notes, key, progress)

        q, errors, info = base.descend_with(q, batch, wanted, loss)
        return DQNLearner(q, extra, learner.done + 1), errors, {**found, **info}


class _Base(NamedTuple):
    algorithm: DQN
    done: jax.Array
    progress: jax.Array

    def next_value(self, values: ActionValues) -> jax.Array:
        return bootstrap(values.online if self.algorithm.config.double else values.target, values.target)

    def descend(self, net: QNet, batch: QBatch, wanted: Array) -> tuple[QNet, jax.Array]:
        net, errors, _ = self.descend_with(net, batch, wanted, lambda online, td: (td.value, td.info))
        return net, errors

    def descend_with(
        self,
        net: QNet,
        batch: QBatch,
        wanted: Array,
        loss: Callable[[DiscreteCritic, BaseLoss], tuple[jax.Array, Info]],
    ) -> tuple[QNet, jax.Array, Info]:
        """One step on the loss made of the temporal-difference loss."""
        cfg = self.algorithm.config
        params, static = eqx.partition(net.online, eqx.is_array)
        wanted = jax.lax.stop_gradient(wanted)

        def objective(params: Any) -> tuple[jax.Array, tuple[jax.Array, Info]]:
            online = eqx.combine(params, static)
            q_values = online(batch.obs)
            errors = taken(q_values, batch.actions) - wanted
            td = td_loss(errors, batch.weights, cfg.loss)
            value, info = loss(online, BaseLoss(td, {"loss": td, "value": q_values.max(axis=-1).mean()}))
            return value, (errors, info)

        grads, (errors, info) = jax.grad(objective, has_aux=True)(params)
        if is_dueling(net.online.network):  # the layer that puts value and leads together is a constant
            still = partial(jax.tree.map, jnp.zeros_like)
            grads = eqx.tree_at(lambda g: g.network.layers[-1], grads, replace_fn=still)
        lr = cfg.learning_rate * (1.0 - self.progress if cfg.anneal_lr else jnp.ones(()))
        params, opt = apply_gradient(self.algorithm._adam, lr, params, net.opt, grads)
        online = eqx.combine(params, static)
        return QNet(online, self._follow(net.target, online), opt), errors, info

    def _follow(self, target: Any, online: Any) -> Any:
        """The target after this gradient step."""
        cfg = self.algorithm.config
        if target is None:
            return None
        due = (self.done + 1) % cfg.target_update_interval == 0
        rate = jnp.where(due, cfg.tau, 0.0)
        old, static = eqx.partition(target, eqx.is_array)
        new = eqx.filter(online, eqx.is_array)
        return eqx.combine(jax.tree.map(lambda t, p: jnp.where(rate == 1, p, t + rate * (p - t)), old, new), static)


def bootstrap(choice: Array, worth: Array) -> jax.Array:
    """worth(s', argmax_a choice(s', a)), both (N, actions)."""
    return taken(worth, jnp.argmax(choice, axis=-1))


def td_loss(errors: Array, weights: Array, kind: str = "huber") -> jax.Array:
    """mean w * error² / 2; Huber's goes on linearly from 1."""
    return jnp.mean(weights * (optax.losses.huber_loss(errors) if kind == "huber" else errors**2 / 2))


def create_network(spec: EnvSpec, key: jax.Array, config: DQNConfig) -> eqx.nn.Sequential:
    """Observations to the values of actions: convolutions for pixels (channels, height, width), else dense layers."""
    size = spec.actions.size
    out = size + 1 if config.dueling else size
    if len(spec.obs_shape) == 3:
        network = cnn(spec.obs_shape, out, key, **(SMALL_CNN if config.network == "small" else {}))
    elif len(spec.obs_shape) == 1:
        network = uniform_weights(mlp([spec.obs_shape[0], *config.hidden, out], key, activation="relu"), key)
    else:
        raise UserError(f"{spec.id} shows observations of shape {spec.obs_shape}; DQN takes vectors and frames")
    if not config.dueling:
        return network
    leads = jnp.eye(size) - 1 / size
    combine = linear(jnp.concatenate([jnp.ones((size, 1)), leads], axis=1), jnp.zeros(size))
    return eqx.nn.Sequential([*network.layers, combine])


def is_dueling(network: eqx.nn.Sequential) -> bool:
    """Whether its last layer is the one that `create_network` adds for dueling."""
    return isinstance(network.layers[-2], eqx.nn.Linear)


def _spending_the_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """Jitted; the first argument's buffers are donated."""
    jitted = eqx.filter_jit(lambda rest, first: function(first, *rest), donate="all-except-first")
    return lambda first, *rest: jitted(rest, first)
