"""Audit plans: the attacks of a suite, or attacks by name, and the episodes they are selected and reported on."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from wocar.evaluation.attack_registry import attack_names, kind_of, named_strength, resolve
from wocar.evaluation.frozen_suites import BUDGET_STEPS, EPISODES, SELECT_EPISODES, SUITES, Attacks
from wocar.text import did_you_mean
from wocar.threat import Threat
from wocar.types import UserError


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
        raise UserError(f"unknown suite {name!r}{did_you_mean(name, SUITES)}; suites: {', '.join(SUITES)}")
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
