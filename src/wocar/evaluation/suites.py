"""Attack suites: named and frozen, so that results under the same name can be compared.

A suite is data. Each attack has a list of settings; the worst of them is selected on episodes of its own. A changed
setting needs a new name: a test holds a hash of each suite.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from wocar.evaluation.attack_registry import attack_names, kind_of, named_strength, resolve
from wocar.evaluation.fault_suite import SENSORS_V1
from wocar.threat import Threat
from wocar.types import UserError

AttackSettings = dict[str, Any]
Attacks = dict[str, list[AttackSettings]]

EPISODES, SELECT_EPISODES = 50, 25
BUDGET_STEPS = 500_000
"""Environment steps that train one learned attacker."""


def _grid(**values: Iterable[Any]) -> list[AttackSettings]:
    """Every combination of the values."""
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())]


def _learned(*settings: AttackSettings, steps: int = BUDGET_STEPS) -> list[AttackSettings]:
    return [{"steps": steps, "clip_range": 0.2, "ent_coef": 0.0, **own} for own in settings]


EXPLORATIONS = 10
FROM_SCRATCH: AttackSettings = {"policy_lr": 1e-3, "value_lr": 1e-4, "init_std": 0.5, "value_clip": True, "seed": 0}
GUIDED: AttackSettings = {
    "policy_lr": 3e-4,
    "value_lr": 1e-3,
    "init_std": 0.2,
    "value_clip": False,
    "guide": EXPLORATIONS,
}
DIRECTED: AttackSettings = {**GUIDED, "guide": "director"}
POPULATION: tuple[AttackSettings, ...] = (
    FROM_SCRATCH,
    {**FROM_SCRATCH, "policy_lr": 3e-4, "value_lr": 3e-4, "init_std": 1.0, "seed": 1},
    GUIDED,
    {**GUIDED, "policy_lr": 1e-3, "seed": 1},
    DIRECTED,
    {**DIRECTED, "policy_lr": 1e-3, "seed": 1},
)
"""Attackers that begin anew, where a worst critic points, where a searched director points."""
ROBUST_CRITICS: list[AttackSettings] = [
    {"radius": 0.05, "reg": 0.3, "lr": 3e-4, "gamma": 0.9},
    {"radius": 0.3, "reg": 0.3, "lr": 3e-3, "gamma": 0.99},
]
TARGETED: AttackSettings = {"targeted": True}
"""Discrete actions: critics' attacks search towards each action."""
PAPER_CRITICS = _grid(
    radius=(0.02, 0.05, 0.1, 0.15, 0.2, 0.3), reg=(0.1, 0.3, 1.0, 3.0, 10.0), lr=(3e-4,), gamma=(0.99,)
)
PAPER_ATTACKERS = _grid(policy_lr=(3e-4, 1e-3, 3e-3), value_lr=(1e-4, 3e-4, 1e-3))
"""The learning rates around which the published grids lie."""
DIRECTORS = _grid(actor=("target", "sign"), policy_lr=(3e-4,), value_lr=(3e-4,))
SUITES: dict[str, dict[str, Any]] = {
    "fast-v1": {
        "about": "minutes: no training of attackers",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "maxdiff": [{}],
            "pgd-10": [{"restarts": 3}],
            "robust-sarsa": [{"radius": 0.05, "reg": 0.3, "lr": 3e-4, "gamma": 0.9}],
        },
    },
    "mujoco-v1": {
        "about": "the attacks of the paper on continuous control; attackers learn for 500k steps, sa-rl alone for 1M",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "random-corner": [{}],
            "maxdiff": [{}],
            "maxdiff-plain": [{}],
            "pgd-10": [{"restarts": 3}],
            "critic": [{}],
            "robust-sarsa": [
                *_grid(radius=(0.02, 0.05, 0.2), reg=(0.3,), lr=(3e-4, 1e-3), gamma=(0.9, 0.99)),
                {"radius": 0.3, "reg": 0.3, "lr": 3e-3, "gamma": 0.99},
            ],
            "rs-mad": _grid(weight=(1e-4, 1e-3, 1e-2, 1e-1)),
            "worst-critic": [{"explorations": EXPLORATIONS}],
            "sa-rl": _learned({**FROM_SCRATCH, "steps": 2 * BUDGET_STEPS}, GUIDED),
            "pa-ad": _learned(FROM_SCRATCH, GUIDED),
        },
    },
    "fast-v2": {
        "about": "minutes: gradient attacks, robust and worst critics, the agent's own critics, searched directors",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 3,
        "attacks": {
            "none": [{}],
            "random-corner": [{}],
            "maxdiff-plain": [{}],
            "pgd-10": [{"restarts": 3}],
            "min-q": [{}],
            "own-worst-critic": [{}],
            "robust-sarsa": ROBUST_CRITICS,
            "worst-critic": [{"explorations": EXPLORATIONS}],
            "director": [{"generations": 8}],
        },
    },
    "mujoco-v2": {
        "about": "everything: fast-v2, thirteen robust critics, and attackers halved from six to one of each kind",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 4,
        "rungs": [[0.2, 3], [0.5, 1]],
        "attacks": {
            "none": [{}],
            "random-corner": [{}],
            "maxdiff-plain": [{}],
            "pgd-10": [{"restarts": 3}],
            "critic": [{}],
            "min-q": [{}],
            "own-worst-critic": [{}],
            "robust-sarsa": [
                *_grid(radius=(0.02, 0.05, 0.2), reg=(0.3,), lr=(3e-4, 1e-3), gamma=(0.9, 0.99)),
                {"radius": 0.3, "reg": 0.3, "lr": 3e-3, "gamma": 0.99},
            ],
            "rs-mad": _grid(weight=(1e-4, 1e-3, 1e-2, 1e-1)),
            "worst-critic": [{"explorations": EXPLORATIONS}],
            "director": [{"generations": 8}, {"generations": 16, "population": 96}],
            "sa-rl": _learned(*POPULATION),
            "pa-ad": _learned(*POPULATION),
        },
    },
    "paper-v1": {
        "about": "the paper's attacks at its settings; of its grid of learned attackers nine each, the worst counts",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "maxdiff": [{}],
            "robust-sarsa": PAPER_CRITICS,
            "sa-rl": _learned(*PAPER_ATTACKERS, steps=2 * BUDGET_STEPS),
            "pa-ad": _learned(*PAPER_ATTACKERS),
        },
    },
    "black-box-v1": {
        "about": "for agents that can only be called: no gradients; those of fast-v2 are named as not run",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 3,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "random-corner": [{}],
            "random-search": [{"queries": 16}, {"queries": 64}],
            "sa-rl": _learned({**FROM_SCRATCH, "steps": 200_000}),
            "maxdiff-plain": [{}],
            "pgd-10": [{"restarts": 3}],
            "robust-sarsa": [{"radius": 0.05, "reg": 0.3, "lr": 3e-4, "gamma": 0.9}],
            "worst-critic": [{"explorations": EXPLORATIONS}],
            "director": [{"generations": 8}],
        },
    },
    "atari-v1": {
        "about": "every attack on discrete actions in the paper; learned attackers trained for 500k steps each",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "attacks": {
            "none": [{}],
            "random": [{}],
            "pgd-10": [{}],
            "pgd-50": [{}],
            "minbest": [{}],
            "maxdiff-kl": [{}],
            "pa-ad": _learned(*DIRECTORS),
        },
    },
    "atari-v2": {
        "about": "discrete actions: gradient attacks, the agent's own Q, directors; critics where it sees no images",
        "episodes": EPISODES,
        "select_episodes": SELECT_EPISODES,
        "finalists": 3,
        "rungs": [[0.2, 1]],
        "attacks": {
            "none": [{}],
            "random-corner": [{}],
            "pgd-10": [{"restarts": 3}],
            "pgd-50": [{}],
            "minbest-10": [{}],
            "maxdiff-kl": [{}],
            "min-q": [TARGETED],
            "own-worst-critic": [TARGETED],
            "robust-sarsa": [{**critic, **TARGETED} for critic in ROBUST_CRITICS],
            "worst-critic": [{"explorations": EXPLORATIONS, **TARGETED}],
            "pa-ad": _learned(*DIRECTORS),
        },
    },
}
SUITES["sensors-v1"] = SENSORS_V1


@dataclass(frozen=True)
class AuditPlan:
    """Plan of an audit: attacks and their settings, threats, episodes and seeds."""

    attacks: Attacks
    threats: tuple[Threat, ...]
    """One, or several that differ in their radius: a curve."""
    episodes: int = EPISODES
    select_episodes: int = SELECT_EPISODES
    seed: int = 1234
    env: str | None = None
    max_steps: int = 10_000
    """Episodes are cut here where the environment has no time limit of its own."""
    rungs: tuple[tuple[float, int], ...] = ()
    """Successive halving of learned attackers: each rung trains those left for a share of their steps and keeps so
    many; the last of them are trained for all of their steps."""
    finalists: int = 0
    """So many attacks, the worst by selection, are compared once more on other episodes; 0: none."""
    suite: str | None = None
    changes: tuple[str, ...] = ()
    """What differs from the frozen suite."""

    @property
    def select_seed(self) -> int:
        """Selection and report never share episodes."""
        return self.seed + 500_000

    @property
    def final_seed(self) -> int:
        """Of the episodes on which finalists are compared."""
        return self.seed + 700_000

    def check(self) -> None:
        """A UserError where a number cannot be meant."""
        for name in ("episodes", "max_steps"):
            if getattr(self, name) <= 0:
                raise UserError(f"--{name.replace('_', '-')} must be positive, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**31 - 700_000:
            raise UserError(f"--seed must not be negative or above 2 billion, not {self.seed}")
        if not self.threats:
            raise UserError("--eps must be a number, or several with commas")
        if len({threat.eps for threat in self.threats}) < len(self.threats):
            raise UserError("--eps names a radius twice")
        if len({threat.at(0.0) for threat in self.threats}) > 1:
            raise UserError("the threats of one audit may differ in their radius only")


def suite_plan(name: str, threats: tuple[Threat, ...], budget_steps: int | None = None, **numbers: Any) -> AuditPlan:
    """The plan of a suite; what departs from it is recorded. `numbers` that are None are the suite's own."""
    if name not in SUITES:
        raise UserError(f"unknown suite {name!r}; suites: {', '.join(SUITES)}")
    suite = SUITES[name]
    given = {key: value for key, value in numbers.items() if value is not None}
    changes = [f"{k} {given[k]} (suite: {suite[k]})" for k in given.keys() & suite.keys() if given[k] != suite[k]]
    settings = {key: suite[key] for key in ("episodes", "select_episodes", "finalists") if key in suite} | given
    settings["rungs"] = tuple((share, keep) for share, keep in suite.get("rungs", ()))
    settings["select_episodes"] = min(settings["select_episodes"], settings["episodes"])
    attacks = with_budget(suite["attacks"], budget_steps)
    if attacks != suite["attacks"]:
        changes.append(f"budget_steps {budget_steps} (suite: {BUDGET_STEPS})")
    return AuditPlan(attacks, threats, suite=name, changes=tuple(sorted(changes)), **settings)


def attack_plan(
    names: list[str], threats: tuple[Threat, ...], budget_steps: int | None = None, **numbers: Any
) -> AuditPlan:
    """The plan of attacks asked for by name, each with its usual settings."""
    if not names:
        raise UserError(f"no attack named; attacks: {', '.join(attack_names())}")
    attacks = with_budget({resolve(name): [named_strength(name)] for name in names}, budget_steps)
    given = {key: value for key, value in numbers.items() if value is not None}
    return AuditPlan(attacks, threats, select_episodes=min(SELECT_EPISODES, given.get("episodes", EPISODES)), **given)


def with_budget(attacks: Attacks, steps: int | None) -> Attacks:
    """The attacks with another number of training steps for those that are learned."""
    if steps is None:
        return attacks
    if steps <= 0:
        raise UserError(f"--budget-steps must be positive, not {steps}")
    learned = {name for name in attacks if kind_of(name).family == "learned"}
    return {
        name: [{**settings, "steps": steps} if name in learned else settings for settings in grid]
        for name, grid in attacks.items()
    }


def suite_digest(name: str) -> str:
    """Hash of all that a suite says."""
    return hashlib.sha256(json.dumps(SUITES[name], sort_keys=True).encode()).hexdigest()
