"""Attacks by name: what each one is, what it needs of a victim, how it is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import jax
import numpy as np

from wocar.agent import Agent
from wocar.attacks import PGD, CriticAction, CriticAttack, MaxDiff, MinBest, Random, RandomAction
from wocar.attacks.robust_sarsa import RobustSarsa, SarsaConfig, SarsaData, fit_robust_critic, sarsa_data
from wocar.evaluation.worst_critic import GAMMA, collect_rollout
from wocar.networks import ActionCritic, DiscreteCritic, RecurrentCritic
from wocar.rollout import running_returns

Sort = Literal["natural", "random", "gradient", "learned", "bound"]
ROLLOUT_STEPS = 61_440
"""Steps of the unattacked victim from which its robust critics learn."""


class Trained(NamedTuple):
    """A learned attacker, and the victim's mean return as its training went on."""

    attack: Any
    curve: list[float]


class TrainAttacker(Protocol):
    """Trains `sa-rl` or `pa-ad` in a folder, or goes on with what the folder holds."""

    def __call__(
        self, kind: str, victim: Agent, eps: float, norm: str, seed: int, out: Path, settings: Mapping[str, Any]
    ) -> Trained: ...


class Workshop:
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
        self._data: SarsaData | None = None
        self._critics: dict[tuple[Any, ...], Any] = {}

    @property
    def data(self) -> SarsaData:
        """The victim's own steps, rewards in standard deviations of their discounted sums."""
        if self._data is None:
            rollout = collect_rollout(self.agent, ROLLOUT_STEPS, self.seed)
            ends = rollout.terminated | rollout.truncated
            sums, _ = running_returns(rollout.rewards, ends, np.zeros(len(ends)), GAMMA)
            self._data = sarsa_data(rollout, float(np.std(sums)) or 1.0)
        return self._data

    def robust_critic(self, radius: float = 0.3, reg: float = 3.0, lr: float = 3e-4, **settings: Any) -> Any:
        """A critic of the victim, smooth in a ball; it does not depend on eps."""
        asked = (radius, reg, lr, *sorted(settings.items()))
        if asked not in self._critics:
            spec, key = self.agent.spec, jax.random.key(self.seed)
            kind: Any = DiscreteCritic if spec.actions.discrete else ActionCritic
            critic, config = kind.create(spec.obs_shape[0], spec.actions.size, key), SarsaConfig(lr=lr, **settings)
            fitted = fit_robust_critic(critic, self.data, np.float32(radius), np.float32(reg), key, config)
            self._critics[asked] = fitted
        return self._critics[asked]


Make = Callable[[Workshop, float, Path, dict[str, Any]], Trained]


@dataclass(frozen=True)
class Kind:
    sort: Sort
    make: Make
    """(workshop, eps, folder for what is trained, settings) to the attack."""
    actions: Literal["any", "discrete", "continuous"] = "any"
    on_actions: bool = False
    """Attacks the action, not the observation; eps is then a radius there, for discrete actions a probability."""
    wants: Literal["", "value critic", "flat observations", "trainer", "given attacker"] = ""
    after: str = ""
    """Takes over the settings selected for this attack, where it was audited before."""

    def lacking(self, workshop: Workshop) -> str | None:
        """Why this attack does not apply, in words."""
        agent = workshop.agent
        discrete = agent.spec.actions.discrete
        if self.actions != "any" and (self.actions == "discrete") != discrete:
            return f"it is for {self.actions} actions, the agent's are {'discrete' if discrete else 'continuous'}"
        if self.wants == "value critic" and "value" not in agent.critics:
            return "the agent has no value critic"
        if self.wants == "value critic" and isinstance(agent.critics["value"], RecurrentCritic):
            return "the agent's value critic has a memory, which this attack does not follow"
        if self.wants == "flat observations" and len(agent.spec.obs_shape) != 1:
            return "it learns a critic of flat observations, the agent sees images"
        if self.wants == "trainer" and workshop.train is None:
            return "nothing that trains attackers was given"
        if self.wants == "given attacker" and not workshop.given:
            return "name folders of trained attackers (--attackers)"
        if self.on_actions and workshop.norm != "linf":
            return "action attacks know the norm linf only"
        return None


def _plain(build: Callable[..., Any]) -> Make:
    return lambda workshop, eps, folder, settings: Trained(build(**settings), [])


def _critic(workshop: Workshop, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    return Trained(CriticAttack(workshop.agent.critics["value"], **settings), [])


def _robust_sarsa(workshop: Workshop, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    rest = dict(settings)
    weight = rest.pop("weight", 0.0)
    return Trained(RobustSarsa(workshop.robust_critic(**rest), maxdiff=weight), [])


def _action_critic(workshop: Workshop, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    return Trained(CriticAction(workshop.robust_critic(**settings)), [])


def _learn(kind: str, workshop: Workshop, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    assert workshop.train is not None
    return workshop.train(kind, workshop.agent, eps, workshop.norm, workshop.seed, folder, settings)


def _given(workshop: Workshop, eps: float, folder: Path, settings: dict[str, Any]) -> Trained:
    return Trained(workshop.given[settings["sha256"]], [])


KINDS: dict[str, Kind] = {
    "none": Kind("natural", _plain(lambda: None)),
    "random": Kind("random", _plain(Random)),
    "random-corner": Kind("random", _plain(partial(Random, extreme=True))),
    "maxdiff": Kind("gradient", _plain(MaxDiff)),
    "maxdiff-plain": Kind("gradient", _plain(partial(MaxDiff, noise=0.0))),
    "maxdiff-kl": Kind("gradient", _plain(partial(MaxDiff, wide_start=True)), "discrete"),
    "critic": Kind("gradient", _critic, wants="value critic"),
    "robust-sarsa": Kind("gradient", _robust_sarsa, wants="flat observations"),
    "rs-mad": Kind("gradient", _robust_sarsa, "continuous", wants="flat observations", after="robust-sarsa"),
    "pgd-10": Kind("gradient", _plain(partial(PGD, steps=10))),
    "pgd-30": Kind("gradient", _plain(partial(PGD, steps=30))),
    "pgd-50": Kind("gradient", _plain(partial(PGD, steps=50, step=0.02))),
    "minbest": Kind("gradient", _plain(MinBest), "discrete"),
    "minbest-10": Kind("gradient", _plain(partial(MinBest, steps=10)), "discrete"),
    "sa-rl": Kind("learned", partial(_learn, "sa-rl"), wants="trainer"),
    "pa-ad": Kind("learned", partial(_learn, "pa-ad"), wants="trainer"),
    "trained": Kind("learned", _given, wants="given attacker"),
    "action-random": Kind("random", _plain(RandomAction), on_actions=True),
    "action-critic": Kind("gradient", _action_critic, on_actions=True, wants="flat observations"),
}


GREEDY_WORST_CASE = Kind("bound", _plain(lambda: None), "discrete")
"""Not an attack: stands beside the attacks of a radius."""


def kind_of(name: str) -> Kind:
    """`trained:NAME` is one of the attackers given."""
    return KINDS[name.split(":")[0]]
