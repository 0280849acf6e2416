"""Fine-tuning: trainers that go on from an agent of any origin, with its normaliser frozen."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wocar.agent import Agent
from wocar.mechanisms.sac_objective import Critics
from wocar.networks import (
    ActionCritic,
    CategoricalPolicy,
    ContextCritic,
    GreedyPolicy,
    Normaliser,
    RunningNormaliser,
    ScaledNormaliser,
    SquashedGaussianPolicy,
    ValueCritic,
    linear,
)
from wocar.training.create_networks import copied
from wocar.training.directed_env import Directed
from wocar.training.dqn import DQN
from wocar.training.dqn_trainer import DQNTrainer
from wocar.training.networks import Networks
from wocar.training.on_policy import OnPolicy
from wocar.training.reward import RewardScaler
from wocar.training.run_config import RunConfig
from wocar.training.sac import SAC
from wocar.training.sac_trainer import SACTrainer
from wocar.training.trainer import Iteration, Trainer
from wocar.types import EnvSpec, Memory, Step, VectorEnv

ACTOR_PARTS = ("policy", "policy_opt", "log_alpha", "alpha_opt", "average")
"""What of a learner stays as it is while critics are fitted first."""
REWARDS_SEEN = 1_000_000
"""How much a known scale of rewards weighs against what is seen in fine-tuning."""
SPREAD = 0.1
"""Standard deviation before the squash of an actor that came without one."""
KEPT_META = ("clip_actions", "library", "source", "normaliser")


@dataclasses.dataclass(frozen=True)
class GivenNetworks(Networks):
    """Networks that start as an agent's policy and, where it has one, its value."""

    given: tuple[Any, Any] = (None, None)

    def create(self, spec: EnvSpec, key: jax.Array) -> tuple[Any, Any, Memory]:
        _, value, memory = super().create(spec, key)
        policy, given_value = self.given
        return self.floored(policy), value if given_value is None else given_value, memory


class ClippedActions:
    """Environments that take actions within their range, as Stable-Baselines3 passes them on."""

    def __init__(self, env: VectorEnv) -> None:
        self.spec, self.n, self._env = env.spec, env.n, env

    def reset(self) -> np.ndarray:
        return self._env.reset()

    def step(self, actions: np.ndarray, ids: np.ndarray | None = None) -> Step:
        return self._env.step(np.clip(actions, self.spec.actions.low, self.spec.actions.high), ids)

    def close(self) -> None:
        self._env.close()


class FineTuning:
    """A trainer whose first iterations fit critics only, and whose agents keep what is known of the first one."""

    def __init__(self, trainer: Any, start: Agent, warm_up: int) -> None:
        self.trainer, self.warm_up, self.greedy = trainer, warm_up, isinstance(start.policy, GreedyPolicy)
        self.meta = {name: start.meta[name] for name in KEPT_META if name in start.meta}

    def begin(self, env: VectorEnv, rng: np.random.Generator) -> None:
        self.trainer.begin(ClippedActions(env) if self.meta.get("clip_actions") else env, rng)

    def iterate(self, iteration: int) -> Iteration:
        if iteration >= self.warm_up:
            return self.trainer.iterate(iteration)
        own = self.trainer.learner
        kept = {name: copied(getattr(own, name)) for name in own._fields if name in ACTOR_PARTS}
        done = self.trainer.iterate(iteration)
        self.trainer.learner = self.trainer.learner._replace(**kept)
        return done

    def agent(self) -> Agent:
        agent = self.trainer.agent()
        if self.greedy and type(agent.policy) is CategoricalPolicy:
            agent.policy = GreedyPolicy(agent.policy.network)
        agent.meta = {**self.meta, **agent.meta}
        return agent

    def parts(self) -> dict[str, Any]:
        return self.trainer.parts()

    def state(self) -> Any:
        return self.trainer.state()

    def data(self) -> dict[str, Any]:
        return self.trainer.data()

    def restore(self, agent: Agent, state: Any, data: dict[str, Any]) -> None:
        self.trainer.restore(agent, state, data)

    def finish(self) -> None:
        self.trainer.finish()


def fine_tuning(
    config: RunConfig, algorithm: Any, spec: EnvSpec, start: Agent, warm_up: int, scale: float = 1.0
) -> Trainer:
    """The trainer of a run that starts from an agent; in the first `warm_up` iterations its policy is frozen.

    On policy a Q network is trained as softmax(scale Q(s, .)), and the agents are greedy again.
    """
    trainer: Any
    if isinstance(algorithm, DQN):
        trainer = DQNTrainer(config, algorithm, spec)
        trainer.learner = algorithm.init(spec, trainer.key, start.policy.network)
    elif isinstance(algorithm, SAC):
        trainer = SACTrainer(config, algorithm, spec)
        trainer.learner = _with_actor(trainer.learner, algorithm, start)
    else:
        value, own = start.critics.get("value"), algorithm.networks
        known = isinstance(value, ValueCritic) and "reward_std" in start.meta
        given = categorical(start.policy, scale), value if known else None
        algorithm.networks = GivenNetworks(own.hidden, own.init_std, own.min_std, given)
        trainer = (Directed if getattr(config.robust, "director_share", 0) else OnPolicy)(config, algorithm, spec)
        if known:
            trainer.scaler = known_scale(trainer.scaler, float(start.meta["reward_std"]))
    trainer.normaliser = frozen_normaliser(start.normaliser)
    return FineTuning(trainer, start, warm_up)


def categorical(policy: Any, scale: float) -> Any:
    """A greedy policy as softmax(scale Q(s, .)), which has the same greedy actions; any other as it is."""
    if not isinstance(policy, GreedyPolicy):
        return policy
    *body, last = policy.network.layers
    return CategoricalPolicy(eqx.nn.Sequential([*body, linear(scale * last.weight, scale * last.bias)]))


def frozen_normaliser(normaliser: Normaliser) -> Normaliser:
    """The same with constants: its statistics are not updated."""
    if isinstance(normaliser, RunningNormaliser):
        return ScaledNormaliser(normaliser.mean, normaliser.std + 1e-8, normaliser.clip)
    return normaliser


def known_scale(scaler: RewardScaler, std: float) -> RewardScaler:
    """The scaler as if it had seen many returns of this standard deviation."""
    square = np.asarray(std**2 * (REWARDS_SEEN - 1), np.float64)
    return scaler._replace(returns=RunningNormaliser(np.zeros(()), square, REWARDS_SEEN))


def stochastic_actor(policy: Any) -> SquashedGaussianPolicy:
    """SAC's actor of a squashed policy; one without noise (TD3's, or a mean alone) gets a constant SPREAD."""
    if isinstance(policy, SquashedGaussianPolicy):
        return policy
    *layers, last = policy.body.layers
    weight = jnp.concatenate([last.weight, jnp.zeros_like(last.weight)])
    bias = jnp.concatenate([last.bias, jnp.full_like(last.bias, np.log(SPREAD))])
    return SquashedGaussianPolicy(eqx.nn.Sequential([*layers, linear(weight, bias)]), policy.low, policy.high)


def in_unit_actions(critic: ActionCritic, low: jax.Array, high: jax.Array) -> ActionCritic:
    """Of a critic of actions in [low, high]: that of actions in [-1, 1]; the inverse of `ActionCritic.in_units`."""
    first, *rest = critic.network.layers
    middle, reach = (high + low) / 2, (high - low) / 2
    of_state, of_action = first.weight[:, : -len(reach)], first.weight[:, -len(reach) :]
    scaled = linear(jnp.concatenate([of_state, of_action * reach], axis=1), first.bias + of_action @ middle)
    return ActionCritic(eqx.nn.Sequential([scaled, *rest]))


def _with_actor(learner: Any, algorithm: SAC, start: Agent) -> Any:
    """SAC's learner with the agent's actor and, where it has both, its critics."""
    policy = copied(stochastic_actor(start.policy))
    critics, contexts = learner.critics, algorithm.objective.contexts(len(policy.low))
    given = [start.critics.get(name) for name in ("q", "q-twin")]
    if all(isinstance(critic, ActionCritic) for critic in given):
        units = [in_unit_actions(critic, policy.low, policy.high) for critic in given if critic is not None]
        critics = Critics(*(ContextCritic.create(critic, contexts) if contexts else critic for critic in units))
    return learner._replace(
        policy=policy,
        policy_opt=algorithm._adam.init(policy),
        critics=critics,
        target=copied(critics),
        critics_opt=algorithm._adam.init(critics),
        average=None if learner.average is None else copied(policy),
    )
