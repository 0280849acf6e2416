"""Attack registry: attacks by name, what each needs of a victim, how it is made. Other packages add theirs."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wocar.agent import Agent
from wocar.attacks import PGD, CriticAction, CriticAttack, MaxDiff, MinBest, Random, RandomAction
from wocar.attacks.faults import FAULTS, make_fault
from wocar.attacks.own_critics import own_critic, own_q
from wocar.attacks.random_search import RandomSearch
from wocar.attacks.robust_sarsa import RobustSarsa
from wocar.attacks.surrogate import Transfer
from wocar.evaluation.attack_context import WORST_STEPS, AttackContext, Trained
from wocar.evaluation.attack_needs import Needs, unmet
from wocar.evaluation.lookahead import Lookahead
from wocar.evaluation.surrogate import ASKED_STEPS
from wocar.evaluation.worst_case import starting_states, worst_case
from wocar.evaluation.worst_critic import FIT, SEARCHED
from wocar.plugins import load_plugins
from wocar.text import did_you_mean
from wocar.threat import Attacked, Threat
from wocar.types import UserError

Family = Literal["natural", "random", "gradient", "learned", "bound", "fault"]
Actions = Literal["any", "discrete", "continuous"]
Make = Callable[[AttackContext, Threat, Path, dict[str, Any]], Any]
"""(context, threat, folder for what is trained, settings) to the attack, alone or as `Trained`."""

ALIASES = {
    "natural": "none",
    "clean": "none",
    "mad": "maxdiff",
    "max-diff": "maxdiff",
    "pgd": "pgd-10",
    "min-best": "minbest",
    "minq": "min-q",
    "rs": "robust-sarsa",
    "sarsa": "robust-sarsa",
    "sarl": "sa-rl",
    "paad": "pa-ad",
}
"""Names that people type."""
STARTS = 50

_KINDS: dict[str, "AttackKind"] = {}


@dataclass(frozen=True)
class AttackKind:
    family: Family
    make: Make
    actions: Actions = "any"
    on: Attacked = "observation"
    """Of an attack on actions eps is a radius there, for discrete actions a probability."""
    needs: Needs = ""
    after: str = ""
    """Takes over the settings selected for this attack, where it was audited before."""
    black_box: bool = False
    """Needs no more of a policy than its actions."""

    def lacking(self, context: AttackContext, threat: Threat) -> str | None:
        """Why this attack does not apply, in words."""
        discrete = context.agent.spec.actions.discrete
        if context.agent.black_box and not self.black_box:
            return "it needs the policy's network, and this agent can only be called"
        if self.actions != "any" and (self.actions == "discrete") != discrete:
            return f"it is for {self.actions} actions, the agent's are {'discrete' if discrete else 'continuous'}"
        if reason := unmet(self.needs, context):
            return reason
        if self.on == "action" and (threat.norm, threat.units, threat.radii) != ("linf", "normalised", None):
            return "action attacks know the norm linf and one radius only"
        return None

    def threat(self, threat: Threat) -> Threat:
        """The threat as this attack carries it out."""
        threat = replace(threat, on=self.on)
        return threat.at(0.0) if self.family in ("natural", "fault") else threat

    def made(self, context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Trained:
        found = self.make(context, threat, folder, settings)
        return found if isinstance(found, Trained) else Trained(found, [])


def register_attack(
    name: str,
    build: Callable[..., Any] | None = None,
    *,
    make: Make | None = None,
    family: Family = "gradient",
    actions: Actions = "any",
    on: Attacked = "observation",
    needs: Needs = "",
    after: str = "",
    black_box: bool = False,
) -> None:
    """Give an attack a name, by which `wocar audit`, `wocar record` and `AttackedObservation` know it.

    `build(**settings)` returns the attack (`wocar.attacks.Attack`; on actions: `ActionAttack`). One that looks at the
    victim first has `make(context, threat, folder, settings)` instead. `family` decides which self-checks an audit
    makes of it; `black_box` attacks need no more of a policy than its actions.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise ValueError(f"{name!r} is no name of an attack: use small letters, digits, - and _")
    if name in _KINDS or name in ALIASES:
        raise ValueError(f"an attack {name!r} is registered already")
    if (build is None) == (make is None):
        raise ValueError(f"{name}: give either build or make")
    _KINDS[name] = AttackKind(family, make or _plain(build), actions, on, needs, after, black_box)  # type: ignore[arg-type]


def attack_names() -> list[str]:
    load_plugins("attacks")
    return list(_KINDS)


def resolve(name: str) -> str:
    """The registered name behind a name or its alias; `trained:NAME` is one of the attackers given."""
    known, (kind, colon, rest) = attack_names(), name.partition(":")
    kind = kind if kind in known else kind.lower().replace("_", "-")
    kind = ALIASES.get(kind, kind)
    if kind not in known:
        close = did_you_mean(kind, [*known, *ALIASES])
        raise UserError(f"unknown attack {name!r}{close}; attacks: {', '.join(known)}")
    return f"{kind}{colon}{rest}"


def kind_of(name: str) -> AttackKind:
    return _KINDS[resolve(name).partition(":")[0]]


def named_strength(name: str) -> dict[str, Any]:
    """Settings that a fault's name holds: `sensor-noise:0.3`."""
    text = name.partition(":")[2]
    if kind_of(name).family != "fault" or not text:
        return {}
    try:
        return {"strength": float(text)}
    except ValueError:
        raise UserError(f"{name}: the strength of a fault is a number, as in sensor-noise:0.3") from None


def attack_by_name(name: str, agent: Agent, threat: Threat, seed: int) -> Any:
    """An attack on observations that needs no training of its own; None for no attack."""
    kind, context = kind_of(name), AttackContext(agent, seed)
    reason = kind.lacking(context, threat)
    if kind.on == "action":
        reason = "it does not change what the agent sees"
    elif kind.family == "fault":
        reason = "it is a fault of sensors, which no ball bounds; wocar audit knows it"
    elif kind.needs == "simulator":
        reason = "it plans on copies of the environments of an audit: wocar audit --attacks lookahead"
    elif kind.needs in ("trainer", "given attacker"):
        reason = "it must be trained first (wocar train sa-rl --victim AGENT), then name its folder"
    if reason:
        raise UserError(f"{name} does not apply: {reason}")
    return kind.made(context, kind.threat(threat), Path(), {}).attack


def _plain(build: Callable[..., Any]) -> Make:
    return lambda context, threat, folder, settings: build(**settings)


def _critic(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    return CriticAttack(context.agent.critics["value"], **settings)


def _robust_sarsa(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    rest = dict(settings)
    weight, targeted = rest.pop("weight", 0.0), rest.pop("targeted", False)
    critic = context.robust_critic(**rest)
    return RobustSarsa(critic, maxdiff=weight, memory=context.agent.recurrent, targeted=targeted)


def _worst_critic(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Trained:
    rest, agent = dict(settings), context.agent
    targeted = rest.pop("targeted", True)
    searched = targeted and agent.spec.actions.discrete and not agent.recurrent
    critic = context.worst_critic(threat, **rest, searched=searched)
    attack = RobustSarsa(critic, memory=agent.recurrent, targeted=targeted)
    if agent.recurrent:
        return Trained(attack, [])
    look = worst_case(agent, critic, threat, SEARCHED if searched else FIT)
    found = look(starting_states(agent, context.seed, STARTS))
    return Trained(attack, [], float(found.value.mean()) * context.worst_scale)


def _director(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    return context.directors(threat, **settings)[0]


def _lookahead(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    """Between no attack, the best directors, the worst critic, a robust one, and the agent's own."""
    rest, agent = dict(settings), context.agent
    worst = context.worst_critic(threat, rest.pop("explorations", 10))
    directors = context.directors(threat)[: rest.pop("directors", 6)]
    critics = worst, context.robust_critic(), own_q(agent), own_critic(agent, "worst")
    found = (RobustSarsa(critic) for critic in critics if critic is not None)
    return Lookahead((None, *directors, *found), worst, context.worst_scale, **rest)


def _surrogate(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    """Of the settings `asked` counts the steps that teach the surrogate, `attack` is computed on it with the rest."""
    rest = dict(settings)
    inner, shadow = rest.pop("attack", "pgd-10"), context.shadow(threat, rest.pop("asked", ASKED_STEPS))
    found = kind_of(inner).made(shadow, threat, folder, rest)
    return Transfer(found.attack, shadow.agent.policy)


def _min_q(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    return RobustSarsa(own_q(context.agent), **{"targeted": True, **settings})


def _own_worst(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    return RobustSarsa(own_critic(context.agent, "worst"), **{"targeted": True, **settings})


def _action_critic(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    return CriticAction(context.robust_critic(**settings), memory=context.agent.recurrent)


def _learn(kind: str, context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Trained:
    """`guide` in the settings: who teaches the attacker how to begin (`AttackContext.examples`); `seed`: its own."""
    assert context.train is not None
    rest = dict(settings)
    guide, seed = rest.pop("guide", 0), rest.pop("seed", context.seed)
    begun = (folder / "checkpoints").exists()
    lessons = context.examples(kind, threat, guide) if guide and not begun else None
    return context.train(kind, context.agent, threat, seed, folder, rest, lessons)


def _fault(name: str, context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    shape = context.agent.spec.obs_shape
    seen = np.asarray(context.rollout(WORST_STEPS)[0].obs) if len(shape) == 1 else None
    return make_fault(name, context.agent.normaliser(np.zeros((1, *shape)))[0], seen, **settings)


def _given(context: AttackContext, threat: Threat, folder: Path, settings: dict[str, Any]) -> Any:
    return context.given[settings["sha256"]]


register_attack("none", lambda: None, family="natural", black_box=True)
register_attack("random", Random, family="random", black_box=True)
register_attack("random-corner", partial(Random, extreme=True), family="random", black_box=True)
register_attack("random-search", RandomSearch, family="random", black_box=True)
register_attack("surrogate", make=_surrogate, needs="surrogate", black_box=True)
register_attack("maxdiff", MaxDiff)
register_attack("maxdiff-plain", partial(MaxDiff, noise=0.0))
register_attack("maxdiff-kl", partial(MaxDiff, wide_start=True), actions="discrete")
register_attack("critic", make=_critic, needs="value critic")
register_attack("robust-sarsa", make=_robust_sarsa, needs="flat observations")
register_attack("rs-mad", make=_robust_sarsa, actions="continuous", needs="flat observations", after="robust-sarsa")
register_attack("worst-critic", make=_worst_critic, needs="flat observations")
register_attack("director", make=_director, needs="flat observations")
register_attack("lookahead", make=_lookahead, actions="continuous", needs="simulator")
register_attack("min-q", make=_min_q, needs="own q")
register_attack("own-worst-critic", make=_own_worst, needs="own worst critic")
register_attack("pgd-10", partial(PGD, steps=10))
register_attack("pgd-30", partial(PGD, steps=30))
register_attack("pgd-50", partial(PGD, steps=50, step=0.02))
register_attack("minbest", MinBest, actions="discrete")
register_attack("minbest-10", partial(MinBest, steps=10), actions="discrete")
register_attack("sa-rl", make=partial(_learn, "sa-rl"), family="learned", needs="trainer", black_box=True)
register_attack("pa-ad", make=partial(_learn, "pa-ad"), family="learned", needs="trainer")
register_attack("trained", make=_given, family="learned", needs="given attacker")
register_attack("action-random", RandomAction, family="random", on="action", black_box=True)
register_attack("action-critic", make=_action_critic, on="action", needs="flat observations")

for _name in FAULTS:
    register_attack(_name, make=partial(_fault, _name), family="fault")

GREEDY_WORST_CASE = AttackKind("bound", _plain(lambda: None), "discrete")
"""Not an attack: stands beside the attacks of a radius."""
