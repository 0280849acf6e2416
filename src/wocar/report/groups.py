"""Groups of agents: the same task, method and settings, different seeds."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

from wocar.agent import load_agent
from wocar.evaluation.audit_result import AuditRow
from wocar.methods.registry import known_method
from wocar.report.radius import Radius, radius_of
from wocar.report.sources import AuditFile, EstimateFile, ResultFile, Run, Sources, read_run
from wocar.report.variants import rounded_steps, variants_of
from wocar.types import UserError

OWN = {"seed", "out", "threads", "checkpoint_every", "keep_checkpoints", "resume", "kind", "method", "env", "victim"}
"""Settings that do not make another variant of a method."""


@dataclass
class Member:
    """One agent: its training run where known, its audits and estimates."""

    env: str
    method: str
    seed: int | None
    settings: dict[str, Any]
    name: str
    """Of its folder or file."""
    run: Run | None = None
    audits: list[AuditFile] = field(default_factory=list)
    estimates: list[EstimateFile] = field(default_factory=list)
    checkpoint_audits: list[AuditFile] = field(default_factory=list)
    checkpoint_estimates: list[EstimateFile] = field(default_factory=list)

    @property
    def variant(self) -> str | None:
        """The name that a plan gives it; None without a plan."""
        return self.run.row[1] if self.run and self.run.row else None

    @property
    def command(self) -> str:
        """The command of its training; empty where unknown."""
        return str(self.run.data.get("command", "")) if self.run else ""

    @cached_property
    def digests(self) -> set[str]:
        """Of the final agent in its run folder, or of the checkpoints while there is none; empty without weights."""
        if self.run is None:
            return set()
        final, checkpoints = self.run.path / "agent", self.run.path.glob("checkpoints/[0-9]*/agent.json")
        return {_digest(folder) for folder in ([final] if isdir(final) else [file.parent for file in checkpoints])}

    def reached(self, steps: float) -> bool:
        """Whether the training curve, where there is one, goes so far; steps end with an iteration."""
        return self.run is None or not len(self.run.steps) or self.run.steps[-1] >= 0.95 * steps

    def rows(self, radius: Radius | None) -> dict[str, AuditRow]:
        """Attack to its row at a radius, "none" included; of several audits the one with most episodes."""
        found: dict[str, AuditRow] = {}
        for audit in self.audits:
            for point in audit.data.get("curve", [audit.data]):
                for attack, row in point["attacks"].items():
                    here = row["eps"] == 0 or radius_of(audit.data, row["eps"]) == radius
                    if here and row["episodes"] >= found.get(attack, row)["episodes"]:
                        found[attack] = row
        return found

    def suites(self, radius: Radius | None) -> list[str]:
        """The suites of its audits at a radius; of audits without one the number of attacks."""
        found = []
        for audit in self.audits:
            points = audit.data.get("curve", [audit.data])
            rows = [row for point in points for row in point["attacks"].values()]
            if any(row["eps"] and radius_of(audit.data, row["eps"]) == radius for row in rows):
                count = len({name for point in points for name in point["attacks"]})
                suite = audit.data.get("suite") or {"name": f"{count} attacks by name", "changes": []}
                found.append(f"{suite['name']}{', modified' if suite.get('changes') else ''}")
        return found

    def flags(self, attack: str, radius: Radius | None) -> list[str]:
        """What the audits at a radius hold against an attack's number, as `name: text`."""
        found = [
            f"{flag['flag']}: {flag['text']}"
            for audit in self.audits
            for flag in audit.data.get("flags", [])
            if flag.get("attack") == attack and (not flag.get("eps") or radius_of(audit.data, flag["eps"]) == radius)
        ]
        return list(dict.fromkeys(found))

    def radii(self) -> list[Radius]:
        points = [(a, point) for a in self.audits for point in a.data.get("curve", [a.data])]
        rows = [(a, row["eps"]) for a, point in points for row in point["attacks"].values()]
        return list(dict.fromkeys(radius_of(a.data, eps) for a, eps in rows if eps > 0))

    def worst(self, radius: Radius | None) -> tuple[str, AuditRow] | None:
        """The attack with the lowest mean on the selection episodes, and its row on fresh episodes."""
        rows = self.rows(radius)
        if not rows:
            return None
        name = min(rows, key=lambda attack: (rows[attack].get("select") or rows[attack])["mean"])
        return name, rows[name]


@dataclass(frozen=True)
class Group:
    env: str
    method: str
    variant: str
    members: list[Member]

    @property
    def label(self) -> str:
        return method_label(self.method, self.variant)

    @cached_property
    def task(self) -> str:
        """The name in the paper: without version and number of frames."""
        return re.sub(r"(-stack\d+)?-v\d+$", "", self.env)

    def values(self, attack: str, radius: Radius | None) -> list[float]:
        """Mean return of each agent audited under the attack."""
        return [row["mean"] for row in self.rows(attack, radius)]

    def rows(self, attack: str, radius: Radius | None) -> list[AuditRow]:
        """The row of each agent audited under the attack; "worst" is each agent's own worst attack."""
        if attack == "worst":
            return [found[1] for m in self.members if (found := m.worst(radius))]
        return [rows[attack] for m in self.members if attack in (rows := m.rows(radius))]


def method_label(method: str, variant: str = "") -> str:
    """The method's own label; agents from elsewhere keep the name they came with."""
    known = known_method(method)
    label = known.label if known else method
    return f"{label}, {variant}" if variant else label


def grouped(sources: Sources) -> list[Group]:
    """Agents grouped by task, method and settings; the variant with most agents has the method's plain name."""
    families: dict[tuple[str, str], list[Member]] = {}
    for member in members(sources):
        families.setdefault((member.env, member.method), []).append(member)
    groups = []
    for (env, method), family in families.items():
        variants: dict[str, list[Member]] = {}
        unnamed = [member for member in family if member.variant is None]
        names = iter(variants_of(unnamed) if unnamed else [])
        for member in family:
            variant = next(names) if member.variant is None else member.variant
            variants.setdefault(variant, []).append(member)
        groups += [Group(env, method, variant, found) for variant, found in variants.items()]
    return sorted(groups, key=lambda g: (g.env, _rank(g.method), g.method, g.variant != "", g.variant))


def members(sources: Sources) -> list[Member]:
    """Every agent once, with its run, audits and estimates; attackers are not among them."""
    found: dict[str, Member] = {}
    for run in sources.runs:
        if not run.config.get("attack"):
            found[_identity(run.path)] = _from_run(run)
    for audit in sources.audits:
        past = _with_checkpoint(found, audit)
        (past.checkpoint_audits if past else _member_of(found, audit).audits).append(audit)
    for estimated in sources.estimates:
        past = _with_checkpoint(found, estimated)
        (past.checkpoint_estimates if past else _member_of(found, estimated).estimates).append(estimated)
    return list(found.values())


def _with_checkpoint(found: dict[str, Member], result: ResultFile) -> Member | None:
    """The member whose checkpoint, not whose final agent, a result is about."""
    named = result.agent
    return found.get(_identity(named.parents[1])) if named and named.parent.name == "checkpoints" else None


def _member_of(found: dict[str, Member], result: ResultFile) -> Member:
    """The member that a result is about: one with the same weights, that of its run folder, or a new one."""
    meta, digest = result.data.get("meta", {}), result.data.get("agent_sha256")
    for member in found.values():
        if digest and any(digest == audit.data.get("agent_sha256") for audit in member.audits):
            return member
    named = result.agent
    for place in (result.file.with_suffix(""), result.file.parent, *([named] if named else [])):
        key = _identity(place)
        if key not in found and (run := _run(place)):
            found[key] = _from_run(run)
        if key in found and _same_agent(found[key], meta, digest):
            return found[key]
    for member in found.values():  # a run folder that was moved
        if digest in member.digests:
            return member
    settings = {"steps": rounded_steps(meta["steps"])} if "steps" in meta else {}
    method = str(meta.get("method") or (named and named.stem) or result.file.stem)
    new = Member(str(result.data.get("env", "?")), method, meta.get("seed"), settings, result.file.stem)
    return found.setdefault(f"{_identity(named or result.file)} {digest or result.file}", new)


def _digest(folder: Path) -> str:
    try:
        return load_agent(folder).digest()
    except UserError:
        return "unreadable"


def _run(path: Path) -> Run | None:
    """The training run of an agent, where its folder still exists."""
    run = read_run(path) if isfile(path / "run.json") else None
    return None if run and run.config.get("attack") else run


def _same_agent(member: Member, meta: dict[str, Any], digest: str | None) -> bool:
    """Whether a member's folder holds the agent of a result, not one trained there before or later."""
    method = member.run.config["method"] if member.run else member.method
    if meta.get("method", method) != method or meta.get("seed", member.seed) != member.seed:
        return False
    if digest is None or digest in member.digests:
        return True
    return not member.digests and member.reached(meta.get("steps") or 0)  # results without weights: folders are told


def _from_run(run: Run) -> Member:
    config = run.config
    flat = {k: v for k, v in config.items() if not isinstance(v, dict)}
    for part in config.values():
        flat |= part if isinstance(part, dict) else {}
    settings = {k: str(v) for k, v in flat.items() if k not in OWN and k != "steps"}
    settings["steps"] = rounded_steps(config.get("steps", 0))
    method = run.row[0] if run.row else str(config["method"])
    return Member(str(config["env"]), method, config.get("seed"), settings, run.path.name, run)


def _identity(path: Path) -> str:
    """Key of an agent: its run folder, also where the path is the `agent` folder inside it."""
    path = path.resolve()
    return str(path.parent if path.name == "agent" else path)


def _rank(method: str) -> int:
    """Vanilla methods first, WocaR last, as in the paper's tables."""
    known = known_method(method)
    return known.rank if known else 0


def environments(groups: Iterable[Group]) -> list[str]:
    return list(dict.fromkeys(group.env for group in groups))


def training_commands(groups: Iterable[Group]) -> list[str]:
    return list(dict.fromkeys(m.command for group in groups for m in group.members if m.command))


def audit_commands(groups: Iterable[Group]) -> list[str]:
    return list(dict.fromkeys(audit.command for group in groups for m in group.members for audit in m.audits))
