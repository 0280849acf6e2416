"""Python interface: what the commands do, as functions."""

import dataclasses
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from os.path import exists
from pathlib import Path
from typing import Any

from wocar.agent import Agent
from wocar.attacks.guided import Examples
from wocar.attacks.learned import learned_attack
from wocar.bounds import BoundMethod
from wocar.bounds.ball import Norm
from wocar.envs import allow_import, env_spec, full_id
from wocar.evaluation.attack_context import Trained
from wocar.evaluation.attack_registry import kind_of
from wocar.evaluation.audit import AuditObserver
from wocar.evaluation.audit import audit as run_audit
from wocar.evaluation.audit_file import AuditFolder
from wocar.evaluation.audit_result import AuditResult
from wocar.evaluation.estimate import EstimateResult, OnProgress
from wocar.evaluation.estimate import estimate as run_estimate
from wocar.evaluation.frozen_suites import BUDGET_STEPS
from wocar.evaluation.sensors import read_threat
from wocar.evaluation.suites import AuditPlan, attack_plan, suite_plan
from wocar.evaluation.worst_case import Calibration, calibrate
from wocar.files import write_json
from wocar.interop import is_foreign
from wocar.loading import AgentSource, load, load_attacker
from wocar.mechanisms.policy_config import WocarConfig
from wocar.methods.attackers import attacker_config, attacker_settings
from wocar.methods.presets import default_config, make_algorithm
from wocar.methods.registry import find_method
from wocar.methods.tasks import usual_radius
from wocar.networks import PixelNormaliser, TwinCritic
from wocar.threat import Attacked, Threat, Units, asked_threats, meta_threat
from wocar.training import loop as training_loop
from wocar.training.adversary import train_adversary, train_attacker
from wocar.training.run_config import RunConfig, with_settings
from wocar.training.run_folder import (
    RunFolder,
    load_config,
    provenance,
    returns_of_run,
    training_return,
)
from wocar.types import UserError
from wocar.zoo.entries import ZooEntry
from wocar.zoo.verify import Comparison, compared, repeated_attacks

USUAL_SUITE = {False: "fast-v2", True: "black-box-v2"}
"""Of agents that can be looked into, and of those that can only be called."""


def train(
    method: str,
    env: str = RunConfig.env,
    *,
    preset: str | None = None,
    victim: Path | str | None = None,
    out: Path | str | None = None,
    seed: int | None = None,
    resume: bool = False,
    **settings: Any,
) -> Agent:
    """Train an agent as `wocar train METHOD` does; `settings` are its other options, such as steps=100_000 or eps=0.1.

    Methods that attack have a `victim` instead of `env`: an agent's folder or file. `out` is the run's folder, by
    default below `runs`.
    """
    start = training_config(method, env, preset, victim, out, 0 if seed is None else seed, resume)
    given = {**settings, "resume": resume, **({} if seed is None else {"seed": seed})}
    return run_training(with_settings(start, given))[0]


def training_config(
    method: str,
    env: str = RunConfig.env,
    preset: str | None = None,
    victim: Path | str | None = None,
    out: Path | str | None = None,
    seed: int | str = 0,
    resume: bool = False,
) -> RunConfig:
    """The preset of a task or of a victim, in a folder; to resume, the configuration that the folder holds."""
    entry, env = find_method(method), full_id(env)
    allow_import(env)
    task = Path(victim or "").name if entry.attack else env.replace("/", "-")
    folder = Path(out or f"runs/{method}-{task}-seed{seed}")
    if resume and exists(folder / "run.json"):
        stored = load_config(folder)
        if stored.method != method:
            raise UserError(f"{folder} holds a run of {stored.method}, not of {method}")
        return stored
    if entry.attack is None:
        config = default_config(method, env, preset)
    elif victim:
        agent = load(victim)
        config = attacker_config(method, agent, Path(victim), default_threat(agent))
    else:
        raise UserError(f"{method} attacks an agent: name its folder with --victim")
    return dataclasses.replace(config, out=folder)


def run_training(config: RunConfig) -> tuple[Agent, Calibration | None]:
    """Run or resume a training. Of a worst critic on vectors also the check of what it predicts, kept in the folder."""
    config.check()
    spec = env_spec(config.env)
    if config.attack is not None:
        return train_adversary(config, load(config.attack.victim)), None
    agent, robust = training_loop.train(config, make_algorithm(config, spec), spec), config.robust
    if not isinstance(robust, WocarConfig) or len(spec.obs_shape) != 1 or agent.recurrent:
        return agent, None
    critic, threat = agent.critics["worst"], robust.threat
    if "worst-twin" in agent.critics:
        critic = TwinCritic(critic, agent.critics["worst-twin"])
    check = calibrate(agent, critic, threat, agent.meta["reward_std"], config.seed, robust)
    about = {"eps": threat.eps, "threat": threat.to_json()}
    write_json(config.out / "calibration.json", {**about, "ratio": check.ratio, **check._asdict()})
    return agent, check


def audit(
    agent: AgentSource,
    suite: str | None = None,
    attacks: str | Sequence[str] | None = None,
    *,
    attackers: Sequence[Path | str] = (),
    threat: Threat | None = None,
    eps: float | Sequence[float] | None = None,
    norm: Norm | None = None,
    units: Units | None = None,
    radii: Sequence[float] | None = None,
    sensors: Path | str | None = None,
    episodes: int | None = None,
    seed: int = 1234,
    env: str | None = None,
    normaliser: Path | str | None = None,
    max_steps: int | None = None,
    budget_steps: int | None = None,
    out: Path | str | None = None,
    fresh: bool = False,
    watch: AuditObserver | None = None,
) -> AuditResult:
    """Returns of an agent without attack and under a suite's attacks (default fast-v2), or under attacks by name.

    `attackers` are folders of trained ones. The threat is by default that of the agent's training; `eps`, `norm`,
    `units` and `radii` change it, several `eps` give a curve; `sensors` is a file of radii (`wocar sensors`). With
    `out`, finished parts are kept there and not run twice, unless `fresh`.
    docs/audit.md explains the result.
    """
    allow_import(env)
    if isinstance(attacks, str):
        attacks = [name.strip() for name in attacks.split(",")]
    path = Path(agent) if isinstance(agent, Path | str) else None
    foreign = path is None or (exists(path) and is_foreign(path))
    victim = load(agent, env if foreign else None, normaliser)  # others move in the plan
    trained = training_return(path) if path else None
    start, origin = _threat_of_audit(threat, sensors, victim, attacks)
    threats = asked_threats(start, eps, norm=norm, units=units, radii=radii)
    if watch:
        watch.threat(origin if eps is None else "as asked for")
    numbers: dict[str, Any] = {"episodes": episodes, "seed": seed, "env": env, "max_steps": max_steps}
    if attacks is None and not (attackers and suite is None):
        plan = suite_plan(suite or USUAL_SUITE[victim.black_box], threats, budget_steps, **numbers)
    else:
        plan = attack_plan(["none"] if attacks is None else list(attacks), threats, budget_steps, **numbers)
        plan = dataclasses.replace(plan, attacks=_usual_settings(victim, plan, budget_steps))
    given = {Path(path).name: load_attacker(Path(path)) for path in attackers}
    digests = {name: adversary.digest() for name, adversary in given.items()}
    extra = {f"trained:{name}": [{"sha256": digest}] for name, digest in digests.items()}
    plan = dataclasses.replace(plan, attacks=plan.attacks | extra)
    ready = {digests[name]: learned_attack(adversary, victim.spec) for name, adversary in given.items()}
    with tempfile.TemporaryDirectory() as temporary:
        folder = AuditFolder(Path(temporary if out is None else out), fresh)
        source = str(path) if path else None
        return run_audit(victim, plan, folder, train_for_audit, ready, watch, trained, source, provenance())


def verify_zoo(
    entry: ZooEntry, episodes: int = 10, seed: int | None = None, watch: AuditObserver | None = None
) -> list[Comparison]:
    """Attack an agent of the zoo once more, and compare with the numbers it is listed with.

    By default on the seed of its audit, so that searched attacks repeat.
    """
    threat, attacks = Threat.from_json(entry.data["threat"]), repeated_attacks(entry)
    seed = entry.data["seeds"]["report"] if seed is None else seed
    plan = AuditPlan(attacks, (threat,), episodes, select_episodes=1, seed=seed)
    with tempfile.TemporaryDirectory() as temporary:
        found = run_audit(entry.agent(), plan, AuditFolder(Path(temporary)), watch=watch)
    return compared(entry, found)


def estimate(
    agent: AgentSource,
    *,
    threat: Threat | None = None,
    eps: float | Sequence[float] | None = None,
    norm: Norm | None = None,
    units: Units | None = None,
    radii: Sequence[float] | None = None,
    steps: int = 10_000,
    sweeps: int = 400,
    explorations: int = 16,
    bounds: BoundMethod = "crown",
    episodes: int = 50,
    seed: int = 1234,
    env: str | None = None,
    normaliser: Path | str | None = None,
    on_radius: Callable[[float], None] | None = None,
    on_progress: OnProgress | None = None,
    out: Path | str | None = None,
    quick: bool = True,
) -> EstimateResult:
    """Worst-attack value of a fixed policy from its own rollouts; no attacker is trained.

    The threat is by default that of the agent's training; `eps`, `norm`, `units` and `radii` change it. With `out`,
    finished radii are kept there and not run twice. `quick` ends explorations once the value has settled;
    without it all are made.
    """
    policy = load(agent, env, normaliser)
    threats = asked_threats(threat or default_threat(policy), eps, norm=norm, units=units, radii=radii)
    folder = AuditFolder(Path(out)) if out is not None else None
    sizes = steps, sweeps, explorations, seed, episodes, bounds
    found = run_estimate(policy, threats, *sizes, on_radius, on_progress, folder, quick)
    where: Any = {"agent": str(agent)} if isinstance(agent, Path | str) else {}
    made: Any = provenance()
    return {**where, **found, **made}


def default_threat(agent: Agent, on: Attacked = "observation") -> Threat:
    """The threat the agent was trained against, else the usual one of its task in the units it sees."""
    return explained_threat(agent, on)[0]


def explained_threat(agent: Agent, on: Attacked = "observation") -> tuple[Threat, str]:
    """`default_threat` and where its radius comes from, in words."""
    trained = meta_threat(agent.meta)
    if trained is not None and trained.eps > 0 and trained.on == on:
        return trained, "as in the agent's training"
    if isinstance(agent.normaliser, PixelNormaliser):
        return Threat(1 / 255, on=on), "usual for images"
    raw = usual_radius(agent.spec.id, normalised=False) if math.isinf(agent.normaliser.clip) else None
    usual = raw or usual_radius(agent.spec.id)
    source = "usual for this task" if usual else "a guess, none is usual for this task; --eps sets it"
    return Threat(usual or 0.1, on=on), source


def _threat_of_audit(
    threat: Threat | None, sensors: Path | str | None, victim: Agent, attacks: Sequence[str] | None
) -> tuple[Threat, str]:
    """The threat before single settings change it, and where it comes from."""
    if threat:
        return threat, "as asked for"
    if sensors:
        return read_threat(sensors, victim.spec), f"from {sensors}"
    return explained_threat(victim, _attacked(attacks))


def _attacked(attacks: Sequence[str] | None) -> Attacked:
    """What the attacks named move: actions where all of them do."""
    kinds = [kind for kind in map(kind_of, attacks or ()) if kind.family != "natural"]
    return "action" if kinds and all(kind.on == "action" for kind in kinds) else "observation"


def train_for_audit(
    kind: str,
    victim: Agent,
    threat: Threat,
    seed: int,
    out: Path,
    settings: Mapping[str, Any],
    lessons: Examples | None = None,
) -> Trained:
    """A learned attacker from its folder, or trained there as far as it is not yet."""
    RunFolder(out).discard_foreign()
    rest = dict(settings)
    steps = rest.pop("steps", BUDGET_STEPS)
    attack = train_attacker(kind, victim, threat, out, steps, seed, rest, lessons=lessons)
    return Trained(attack, [round(-value, 2) for value in returns_of_run(out)])


def _usual_settings(victim: Agent, plan: AuditPlan, budget_steps: int | None) -> dict[str, list[dict[str, Any]]]:
    """Learned attackers asked for by name are trained with the settings usual for the victim."""
    usual = {"steps": budget_steps or BUDGET_STEPS, **attacker_settings(victim)}
    director = {"actor": "target"} if victim.spec.actions.discrete else {}
    learned: dict[str, dict[str, Any]] = {"sa-rl": usual, "pa-ad": usual | director}
    return {name: [learned.get(name, grid[0])] for name, grid in plan.attacks.items()}
