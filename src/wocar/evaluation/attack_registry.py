"""Attacks by name: what each one is, what it needs of a victim, how it is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

import jax
import numpy as np

from wocar.agent import Agent
from wocar.attacks import PGD, CriticAction, CriticAttack, MaxDiff, MinBest, Random, RandomAction
from wocar.attacks.guided import Examples
from wocar.attacks.learned import make_actor
from wocar.attacks.robust_sarsa import RobustSarsa, SarsaConfig, fit_robust_critic, sarsa_data
from wocar.bounds import Ball
from wocar.bounds.ball import Norm
from wocar.evaluation.imitation_examples import examples
from wocar.evaluation.worst_case import starting_states, worst_case
from wocar.evaluation.worst_critic import collect_rollout, fit_worst_value, return_scale
from wocar.networks import ActionCritic, DiscreteCritic, RecurrentCritic
from wocar.types import Transitions

Family = Literal["natural", "random", "gradient", "learned", "bound"]
ROLLOUT_STEPS, WORST_STEPS = 61_440, 10_000
"""Steps of the unattacked victim from which its robust critics, its worst critics learn; these then explore."""

STARTS = 50


class Trained(NamedTuple):
    """An attack; of a learned one also the victim's mean return as its training went on."""

    attack: Any
    curve: list[float]
    predicted: float | None = None
    """The discounted return from the start below which, says a worst critic, no attack leads."""


class TrainAttacker(Protocol):
    """Trains `sa-rl` or `pa-ad` in a folder, or goes on with what the folder holds."""

    def __call__(
        self,
        kind: str,
        victim: Agent,
        eps: float,
        norm: str,
        seed: int,
        out: Path,
        settings: Mapping[str, Any],
        lessons: Examples | None,
    ) -> Trained: ...


class AttackContext:
    """What attacks on one victim are made from; what several need is made once."""

    def __init__(
        self,
        agent: Agent,
        norm: str,
        seed: int,
        train: TrainAttacker | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.agent, self.norm, self.seed, self.train, self.given = agent, norm, seed, train, given or {}
        self._rollouts: dict[int, tuple[Transitions, float]] = {}
        self._critics: dict[tuple[Any, ...], Any] = {}

    def rollout(self, steps: int) -> tuple[Transitions, float]:
        """The victim's own steps, and the standard deviation of their discounted sums of rewards."""
        if steps not in self._rollouts:
            rollout = collect_rollout(self.agent, steps, self.seed)
            self._rollouts[steps] = rollout, return_scale(rollout)
        return self._rollouts[steps]

    def robust_critic(self, radius: float = 0.05, reg: float = 0.3, lr: float = 3e-4, gamma: float = 0.9) -> Any:
        """A critic of the victim, smooth in a ball; it does not depend on eps. A near horizon tells actions apart."""
        asked = radius, reg, lr, gamma
        if asked not in self._critics:
            spec, key = self.agent.spec, jax.random.key(self.seed)
            kind: Any = DiscreteCritic if spec.actions.discrete else ActionCritic
            critic = kind.create(spec.obs_shape[0], spec.actions.size, key)
            ball, weight, rate, discount = (np.asarray(x, np.float32) for x in asked)  # arrays: compiled once
            data = sarsa_data(*self.rollout(ROLLOUT_STEPS))
            config = SarsaConfig(lr=rate, gamma=discount)
            self._critics[asked] = fit_robust_critic(critic, data, ball, weight, key, config)
        return self._critics[asked]

    def worst_critic(self, eps: float, explorations: int = 8, sweeps: int = 400) -> Any:
        """The worst critic of mechanism 1: unlike a robust one it knows that the attack goes on."""
        asked = "worst", eps, explorations, sweeps
        if asked not in self._critics:
            rollout = self.rollout(WORST_STEPS)
            fitted = fit_worst_value(self.agent, eps, *rollout, sweeps, self.seed, explorations=explorations)
            self._critics[asked] = fitted.target
        return self._critics[asked]

    def examples(self, kind: str, eps: float, explorations: int) -> Examples | None:
        """What lets a learned attacker start where a worst critic points; None where that has no meaning."""
        flat = len(self.agent.spec.obs_shape) == 1
        if self.agent.spec.actions.discrete or self.agent.recurrent or not flat:
            return None
        critic, ball = self.worst_critic(eps, explorations), Ball(eps, cast(Norm, self.norm))
        return examples(self.agent, critic, ball, make_actor(kind), self.seed)


Make = Callable[[AttackContext, float, Path, dict[str, Any]], Trained]


@dataclass(frozen=True)
class AttackKind:
    family: Family
    make: Make
    """(context, eps, folder for what is trained, settings) to the attack."""
    actions: Literal["any", "discrete", "continuous"] = "any"
    on_actions: bool = False
    """Attacks the action, not the observation; eps is then a radius there, for discrete actions a probability."""
    wants: Literal["", "value critic", "flat observations", "memoryless", "trainer", "given attacker"] = ""
    after: str = ""
    """Takes over the settings selected for this attack, where it was audited before."""

    def lacking(self, context: AttackContext) -> str | None:
        """Why this attack does not apply, in words."""
        agent = context.agent
        discrete = agent.spec.actions.discrete
        if self.actions != "any" and (self.actions == "discrete") != discrete:
            return f"it is for {self.actions} actions, the agent's are {'discrete' if discrete else 'continuous'}"
        if self.wants == "value critic" and "value" not in agent.critics:
            return "the agent has no value critic"
        if self.wants == "value critic" and isinstance(agent.critics["value"], RecurrentCritic):
            return "the agent's value critic has a memory, which this attack does not follow"
        if self.wants == "memoryless" and agent.recurrent:
            return "it bounds the policy's actions, and this policy has a memory"
        if self.wants in ("flat observations", "memoryless") and len(agent.spec.obs_shape) != 1:
            return "it learns a critic of flat observations, the agent sees images"
        if self.wants == "trainer" and context.train is None:
            return "nothing that trains attackers was given"
        if self.wants == "given attacker" and not context.given:
            return "name folders of trained attackers (--attackers)"
        if self.on_actions and context.norm != "linf":
            return "action attacks know the norm linf only"
        return None


def _plain(build: Callable[..., Any]) -> Make:
    return lambda context, eps, folder, settings: Trained(build(**settings), [])


def _critic(context: AttackContext, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    return Trained(CriticAttack(context.agent.critics["value"], **settings), [])


def _robust_sarsa(context: AttackContext, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    rest = dict(settings)
    weight = rest.pop("weight", 0.0)
    return Trained(RobustSarsa(context.robust_critic(**rest), maxdiff=weight), [])


def _worst_critic(context: AttackContext, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    critic, agent = context.worst_critic(eps, **settings), context.agent
    found = worst_case(agent, critic, eps)(starting_states(agent, context.seed, STARTS))
    return Trained(RobustSarsa(critic), [], float(found.value.mean()) * context.rollout(WORST_STEPS)[1])


def _action_critic(context: AttackContext, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    return Trained(CriticAction(context.robust_critic(**settings)), [])


def _learn(kind: str, context: AttackContext, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    """`guide` in the settings: explorations of the worst critic that teaches the attacker how to begin; `seed`: its."""
    assert context.train is not None
    rest = dict(settings)
    explorations, seed = rest.pop("guide", 0), rest.pop("seed", context.seed)
    begun = (folder / "checkpoints").exists()
    lessons = context.examples(kind, eps, explorations) if explorations and not begun else None
    return context.train(kind, context.agent, eps, context.norm, seed, folder, rest, lessons)


def _given(context: AttackContext, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    return Trained(context.given[settings["sha256"]], [])


KINDS: dict[str, AttackKind] = {
    "none": AttackKind("natural", _plain(lambda: None)),
    "random": AttackKind("random", _plain(Random)),
    "random-corner": AttackKind("random", _plain(partial(Random, extreme=True))),
    "maxdiff": AttackKind("gradient", _plain(MaxDiff)),
    "maxdiff-plain": AttackKind("gradient", _plain(partial(MaxDiff, noise=0.0))),
    "maxdiff-kl": AttackKind("gradient", _plain(partial(MaxDiff, wide_start=True)), "discrete"),
    "critic": AttackKind("gradient", _critic, wants="value critic"),
    "robust-sarsa": AttackKind("gradient", _robust_sarsa, wants="flat observations"),
    "rs-mad": AttackKind("gradient", _robust_sarsa, "continuous", wants="flat observations", after="robust-sarsa"),
    "worst-critic": AttackKind("gradient", _worst_critic, wants="memoryless"),
    "pgd-10": AttackKind("gradient", _plain(partial(PGD, steps=10))),
    "pgd-30": AttackKind("gradient", _plain(partial(PGD, steps=30))),
    "pgd-50": AttackKind("gradient", _plain(partial(PGD, steps=50, step=0.02))),
    "minbest": AttackKind("gradient", _plain(MinBest), "discrete"),
    "minbest-10": AttackKind("gradient", _plain(partial(MinBest, steps=10)), "discrete"),
    "sa-rl": AttackKind("learned", partial(_learn, "sa-rl"), wants="trainer"),
    "pa-ad": AttackKind("learned", partial(_learn, "pa-ad"), wants="trainer"),
    "trained": AttackKind("learned", _given, wants="given attacker"),
    "action-random": AttackKind("random", _plain(RandomAction), on_actions=True),
    "action-critic": AttackKind("gradient", _action_critic, on_actions=True, wants="flat observations"),
}


GREEDY_WORST_CASE = AttackKind("bound", _plain(lambda: None), "discrete")
"""Not an attack: stands beside the attacks of a radius."""


def kind_of(name: str) -> AttackKind:
    """`trained:NAME` is one of the attackers given."""
    return KINDS[name.split(":")[0]]
