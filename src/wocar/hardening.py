"""Hardening: robust fine-tuning of a trained agent, with an audit before and after."""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from os.path import exists
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from wocar.agent import Agent, load_agent
from wocar.api import audit, default_threat
from wocar.bounds.ball import Norm
from wocar.envs import env_spec
from wocar.evaluation.attack_registry import resolve
from wocar.evaluation.audit import AuditObserver
from wocar.evaluation.audit_result import AuditResult
from wocar.evaluation.imitation_examples import attacked_states
from wocar.evaluation.quick_check import quick_check
from wocar.evaluation.sensors import read_threat
from wocar.files import read_json, write_json
from wocar.loading import load
from wocar.methods.hardening import hardening_config, warm_up_iterations
from wocar.methods.presets import make_algorithm
from wocar.metrics_file import read_metrics, spent_seconds
from wocar.networks import GreedyPolicy
from wocar.schema import checked
from wocar.threat import Threat, Units, asked_threats
from wocar.training import loop as training_loop
from wocar.training.dqn import DQN
from wocar.training.fine_tune import fine_tuning
from wocar.training.run_config import RunConfig
from wocar.types import UserError, require_compatible

QUICK_ATTACKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("maxdiff-plain", {}),
    ("min-q", {}),
    ("robust-sarsa", {}),
    ("director", {}),
)
"""What the agent is checked against during training; the audits take a suite."""
QUICK_EPISODES = 10
CHECK_SEED = 4321
LEAD, LEAD_STEPS = 0.2, 2048
"""Of logits made of Q values: with leads of 2 CartPole was left with one action (results/harden)."""


class Checked(NamedTuple):
    """An agent during training; `steps` 0: before it."""

    steps: int
    natural: float
    worst: float
    returns: dict[str, float]


class CheckedRow(TypedDict):
    steps: int
    natural: float
    worst: float
    returns: dict[str, float]


class HardeningState(TypedDict):
    checks: list[CheckedRow]
    reached: bool


def read_state(file: Path) -> tuple[list[Checked], bool]:
    """The checks of a hardening that was interrupted, and whether it had reached its end."""
    data = checked(read_json(file), HardeningState, file)
    return [Checked(*map(row.get, Checked._fields)) for row in data["checks"]], data["reached"]


class Hardened(NamedTuple):
    agent: Agent
    before: AuditResult
    after: AuditResult
    method: str
    steps: int
    """Environment steps after which the agent was taken."""
    minutes: dict[str, float]
    """`training` with its checks, also before a resume; `audits` before and after, in this process."""
    checks: list[Checked]

    @property
    def natural(self) -> tuple[float, float]:
        """Mean returns without attack, before and after."""
        return self.before["attacks"]["none"]["mean"], self.after["attacks"]["none"]["mean"]

    @property
    def worst(self) -> tuple[float, float]:
        """Mean returns under the worst attack, before and after."""
        before, after = (result["attacks"][result["worst"]]["mean"] for result in (self.before, self.after))
        return before, after

    def to_json(self) -> dict[str, Any]:
        pairs = {
            name: dict(zip(("before", "after"), getattr(self, name), strict=True)) for name in ("natural", "worst")
        }
        about = {"env": self.after["env"], "method": self.method, "threat": self.after["threat"], "steps": self.steps}
        audits = {"before": self.before, "after": self.after}
        return {**about, **pairs, "minutes": self.minutes, "checks": [c._asdict() for c in self.checks], **audits}


def harden(
    agent: Agent | Path | str,
    out: Path | str,
    *,
    eps: float | None = None,
    norm: Norm | None = None,
    units: Units | None = None,
    radii: Sequence[float] | None = None,
    sensors: Path | str | None = None,
    threat: Threat | None = None,
    until_worst: float | None = None,
    keep_natural: float = 0.9,
    steps: int | None = None,
    method: str | None = None,
    suite: str | None = None,
    attacks: Sequence[str] | None = None,
    episodes: int | None = None,
    check_attacks: Sequence[str] | None = None,
    seed: int = 0,
    env: str | None = None,
    normaliser: Path | str | None = None,
    resume: bool = False,
    watch: AuditObserver | None = None,
    say: Callable[[str], None] | None = None,
    **settings: Any,
) -> Hardened:
    """Fine-tune an agent against a threat with the wocar method that fits its policy; `out` becomes a run folder.

    Of the agents checked during training the one with the best return under attack is kept, among those that keep the
    share `keep_natural` of the return without attack. Training ends early once an audit finds the worst return at
    `until_worst` or above. `suite`, `attacks` and `episodes` are those of the audits, `check_attacks` those of the
    checks; `settings` are those of the method.
    """
    _check_shares(until_worst, keep_natural)
    folder, first = Path(out), load(agent, env, normaliser) if isinstance(agent, Path | str) else agent
    start = threat or (read_threat(sensors, first.spec) if sensors else default_threat(first))
    chosen = asked_threats(start, eps, norm=norm, units=units, radii=radii)[0]
    config = hardening_config(first, chosen, folder, method, steps, seed, settings)
    checks = QUICK_ATTACKS if check_attacks is None else tuple((resolve(name), {}) for name in check_attacks)
    how = (suite, attacks, episodes), checks, until_worst, keep_natural
    return _Hardening(first, chosen, config, *how, watch, say).execute(resume)


def _check_shares(until_worst: float | None, keep_natural: float) -> None:
    """A UserError before anything is audited."""
    if not 0 <= keep_natural <= 1:
        raise UserError(f"--keep-natural must be a share between 0 and 1, not {keep_natural}")
    if until_worst is not None and not math.isfinite(until_worst):
        raise UserError(f"--until-worst must be a number, not {until_worst}")


def logit_scale(agent: Agent, threat: Threat) -> float:
    """What Q values are multiplied with to be logits: the greedy action leads by LEAD at the median state."""
    if not isinstance(agent.policy, GreedyPolicy):
        return 1.0
    seen = attacked_states(agent, None, threat, LEAD_STEPS, CHECK_SEED)
    values = np.sort(agent.head(seen), axis=-1)
    return LEAD / max(float(np.median(values[:, -1] - values[:, -2])), 1e-6)


class _Hardening:
    def __init__(
        self,
        first: Agent,
        threat: Threat,
        config: RunConfig,
        audited: tuple[str | None, Sequence[str] | None, int | None],
        checked: tuple[tuple[str, dict[str, Any]], ...],
        until_worst: float | None,
        keep_natural: float,
        watch: AuditObserver | None,
        say: Callable[[str], None] | None,
    ) -> None:
        config.check()
        self.first, self.threat, self.audited, self.checked = first, threat, audited, checked
        self.config = dataclasses.replace(config, resume=True)
        self.until_worst, self.keep_natural, self.watch = until_worst, keep_natural, watch
        self.say = say or (lambda line: None)
        self.folder = config.out / "harden"
        self.checks: list[Checked] = []
        self.reached = False

    def execute(self, resume: bool) -> Hardened:
        spec = env_spec(self.first.spec.id)
        require_compatible(self.first.spec, spec)
        self._open(resume)
        began = time.monotonic()
        before = self._audit(self.first, "before")
        audited = time.monotonic()
        config, algorithm = self.config, make_algorithm(self.config, spec)
        scale = 1.0 if isinstance(algorithm, DQN) else logit_scale(self.first, self.threat)
        trainer = fine_tuning(config, algorithm, spec, self.first, warm_up_iterations(config), scale)
        if not self.checks:
            self._check(self.first)
            self._write()
        if not self.reached:
            last = training_loop.train(config, algorithm, spec, trainer=trainer, on_checkpoint=self._on_checkpoint)
            self._on_checkpoint(last)
        agent = load_agent(self.folder / "best")
        agent.save(config.out / "agent")
        trained = time.monotonic()
        after = self._audit(agent, "after")
        spent = {"audits": audited - began + time.monotonic() - trained, "training": self._trained()}
        minutes = {name: round(seconds / 60, 2) for name, seconds in spent.items()}
        found = Hardened(agent, before, after, config.method, agent.meta["steps"], minutes, self.checks)
        write_json(config.out / "harden.json", found.to_json())
        return found

    def _trained(self) -> float:
        """Seconds of training and of its checks, also those before it was resumed."""
        return spent_seconds(read_metrics(self.config.out / "metrics.jsonl"))

    def _open(self, resume: bool) -> None:
        """The folder of a new hardening, or that of one to go on with."""
        start, state = self.folder / "start", self.folder / "state.json"
        if exists(self.config.out / "run.json") and not resume:
            raise UserError(f"{self.config.out} already holds a run; continue it with --resume or choose another --out")
        if exists(start):
            if load_agent(start).digest() != self.first.digest():
                raise UserError(f"{self.config.out} is the hardening of another agent; choose another --out")
        else:
            self.first.save(start)
        if exists(state):
            self.checks, self.reached = read_state(state)

    def _audit(self, agent: Agent, name: str) -> AuditResult:
        suite, attacks, episodes = self.audited
        out = self.config.out / "audits"
        found = audit(agent, suite, attacks, threat=self.threat, episodes=episodes, out=out, watch=self.watch)
        write_json(self.folder / f"{name}.json", found)
        row = found["attacks"][found["worst"]]
        natural = found["attacks"]["none"]["mean"] if "none" in found["attacks"] else float("nan")
        self.say(f"{name}: {natural:.1f} without attack, {row['mean']:.1f} under {found['worst']}")
        return found

    def _on_checkpoint(self, agent: Agent) -> bool:
        """Check the agent and keep it where it is the best so far; whether training has reached its end."""
        if agent.meta["steps"] in [check.steps for check in self.checks]:
            return self.reached
        check = self._check(agent)
        if self.until_worst is not None and check.worst >= self.until_worst and self._keeps(check):
            found = self._audit(agent, "after")
            self.reached = found["attacks"][found["worst"]]["mean"] >= self.until_worst
        if self.reached or self._best() is check:
            agent.meta |= {"eps": self.threat.eps, "threat": self.threat.to_json(), "hardened": True}
            agent.save(self.folder / "best")
        self._write()
        return self.reached

    def _check(self, agent: Agent) -> Checked:
        steps = agent.meta["steps"] if self.checks else 0
        found = quick_check(agent, self.checked, self.threat, QUICK_EPISODES, CHECK_SEED)
        check = Checked(steps, found.natural, found.worst, found.returns)
        self.checks.append(check)
        self.say(f"after {steps:,} steps: {check.natural:.1f} without attack, {check.worst:.1f} under quick attacks")
        return check

    def _write(self) -> None:
        write_json(
            self.folder / "state.json", {"reached": self.reached, "checks": [check._asdict() for check in self.checks]}
        )

    def _keeps(self, check: Checked) -> bool:
        """Whether the return without attack is kept, also where it is negative."""
        first = self.checks[0]
        return check.natural >= first.natural - (1 - self.keep_natural) * abs(first.natural)

    def _best(self) -> Checked:
        """The most robust of the checked agents that keep their return; where none does, the one that keeps most."""
        later = self.checks[1:]
        keeping = [check for check in later if self._keeps(check)]
        if keeping:
            return max(keeping, key=lambda check: check.worst)
        return max(later, key=lambda check: check.natural)
