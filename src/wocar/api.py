"""`wocar.load` and `wocar.audit`: what the command line does, for Python."""

import dataclasses
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wocar import interop
from wocar.agent import Agent
from wocar.attacks.guided import Examples
from wocar.attacks.learned import learned_attack
from wocar.bounds.ball import Norm
from wocar.evaluation.attack_context import Trained
from wocar.evaluation.attack_registry import kind_of
from wocar.evaluation.audit import AuditObserver
from wocar.evaluation.audit import audit as run_audit
from wocar.evaluation.audit_file import AuditFolder, agent_digest
from wocar.evaluation.suites import BUDGET_STEPS, AuditPlan, attack_plan, suite_plan
from wocar.files import read_json_lines
from wocar.methods.attackers import attacker_settings
from wocar.methods.tasks import usual_radius
from wocar.networks import PixelNormaliser
from wocar.threat import Attacked, Threat, Units, meta_threat
from wocar.training.adversary import train_attacker
from wocar.training.run_folder import load_config, load_run_agent, provenance
from wocar.types import UserError

CURVE_POINTS = 50


def load(path: Path | str, env: str | None = None, normaliser: Path | str | None = None) -> Agent:
    """The agent in a run folder, an agent folder, a Stable-Baselines3 zip or a published .model file.

    For files: `env` is the environment's id where they do not tell, `normaliser` a pickle of VecNormalize.
    """
    if Path(path).is_file():
        return interop.load(path, env, Path(normaliser) if normaliser else None)
    return load_run_agent(Path(path))


def audit(
    agent: Agent | Path | str,
    suite: str | None = None,
    attacks: Sequence[str] | None = None,
    *,
    attackers: Sequence[Path | str] = (),
    threat: Threat | None = None,
    eps: float | Sequence[float] | None = None,
    norm: Norm | None = None,
    units: Units | None = None,
    radii: Sequence[float] | None = None,
    episodes: int | None = None,
    seed: int = 1234,
    env: str | None = None,
    normaliser: Path | str | None = None,
    max_steps: int | None = None,
    budget_steps: int | None = None,
    out: Path | str | None = None,
    watch: AuditObserver | None = None,
) -> dict[str, Any]:
    """Returns of an agent without attack and under a suite's attacks (default fast-v1), or under attacks by name.

    `attackers` are folders of trained ones. The threat is by default that of the agent's training; `eps`, `norm`,
    `units` and `radii` change it, several `eps` give a curve. With `out`, finished parts are kept there and not run
    twice.
    docs/audit.md explains the result.
    """
    trained = training_return(Path(agent)) if isinstance(agent, Path | str) else None
    victim = load(agent, env, normaliser) if isinstance(agent, Path | str) else agent
    start = threat or default_threat(victim, _attacked(attacks))
    threats = asked_threats(start, eps, norm=norm, units=units, radii=radii)
    numbers: dict[str, Any] = {"episodes": episodes, "seed": seed, "env": env, "max_steps": max_steps}
    if attacks is None and not (attackers and suite is None):
        plan = suite_plan(suite or "fast-v1", threats, budget_steps, **numbers)
    else:
        plan = attack_plan(["none"] if attacks is None else list(attacks), threats, budget_steps, **numbers)
        plan = dataclasses.replace(plan, attacks=_usual_settings(victim, plan, budget_steps))
    given = {Path(path).name: _attacker(Path(path)) for path in attackers}
    digests = {name: agent_digest(adversary) for name, adversary in given.items()}
    extra = {f"trained:{name}": [{"sha256": digest}] for name, digest in digests.items()}
    plan = dataclasses.replace(plan, attacks=plan.attacks | extra)
    ready = {digests[name]: learned_attack(adversary, victim.spec) for name, adversary in given.items()}
    with tempfile.TemporaryDirectory() as temporary:
        folder = AuditFolder(Path(temporary if out is None else out))
        result = run_audit(victim, plan, folder, train_for_audit, ready, watch, trained)
    return {**result, **provenance()}


def default_threat(agent: Agent, on: Attacked = "observation") -> Threat:
    """The threat the agent was trained against, else the usual one of its task in the units it sees."""
    trained = meta_threat(agent.meta)
    if trained is not None and trained.eps > 0 and trained.on == on:
        return trained
    if isinstance(agent.normaliser, PixelNormaliser):
        return Threat(1 / 255, on=on)
    raw = usual_radius(agent.spec.id, normalised=False) if math.isinf(agent.normaliser.clip) else None
    return Threat(raw or usual_radius(agent.spec.id) or 0.1, on=on)


def asked_threats(threat: Threat, eps: float | Sequence[float] | None = None, **changes: Any) -> tuple[Threat, ...]:
    """The threat with what is not None changed, once for each radius."""
    given = {name: value for name, value in changes.items() if value is not None}
    if eps is None and given.get("units", threat.units) != threat.units:
        raise UserError("--units needs --eps: the radius is known in other units only")
    changed = dataclasses.replace(threat, **given)
    several = [threat.eps] if eps is None else [eps] if isinstance(eps, float | int) else eps
    return tuple(changed.at(radius) for radius in several)


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
    rest = dict(settings)
    steps = rest.pop("steps", BUDGET_STEPS)
    attack = train_attacker(kind, victim, threat, out, steps, seed, rest, lessons=lessons)
    return Trained(attack, [round(-value, 2) for value in returns_of_run(out)])


def training_return(path: Path) -> float | None:
    """Mean return of the last tenth of a run folder's training; None where there was none, or one under attack."""
    if (path / "run.json").is_file() and load_config(path).adversary is not None:
        return None
    curve = returns_of_run(path)
    return float(np.mean(curve[-max(1, len(curve) // 10) :])) if curve else None


def returns_of_run(path: Path) -> list[float]:
    """Returns along a run's training, a few dozen means of neighbours."""
    rows = read_json_lines(path / "metrics.jsonl")
    returns = [row["return"] for row in rows if row.get("return") is not None]
    if not returns:
        return []
    return [float(part.mean()) for part in np.array_split(returns, min(CURVE_POINTS, len(returns)))]


def _usual_settings(victim: Agent, plan: AuditPlan, budget_steps: int | None) -> dict[str, list[dict[str, Any]]]:
    """Learned attackers asked for by name are trained with the settings usual for the victim."""
    usual = {"steps": budget_steps or BUDGET_STEPS, **attacker_settings(victim)}
    director = {"actor": "target"} if victim.spec.actions.discrete else {}
    learned: dict[str, dict[str, Any]] = {"sa-rl": usual, "pa-ad": usual | director}
    return {name: [learned.get(name, {})] for name in plan.attacks}


def _attacker(path: Path) -> Agent:
    """The adversary in a folder, or the one that a published file holds beside its victim."""
    if not path.is_file():
        return load_run_agent(path)
    adversary = interop.load_all(path).adversary
    if adversary is None:
        raise UserError(f"{path} holds no adversary")
    return adversary
