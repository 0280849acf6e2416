"""Audit result: its fields and their types. At run time plain dictionaries, as the JSON file holds them."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from wocar.bounds.ball import Norm
from wocar.evaluation.attack_registry import Family
from wocar.text import markdown_text


class Moved(TypedDict):
    """Where an attack moves each dimension of a vector, in units of the radius: means over all steps."""

    mean: list[float]
    size: list[float]
    """Of |s~ - s|."""


class CellResult(TypedDict):
    """Raw returns under one attack, and what the self-checks want to know."""

    mean: float
    std: float
    interval: list[float]
    """95 % bootstrap interval of the mean: low, high."""
    returns: list[float]
    """Of every episode."""
    episodes: int
    mean_length: float
    mean_discounted: float
    seed: int
    eps: float
    eps_units: str
    settings: str
    """How the attack was set, in one line."""
    budget_used: float | None
    zero_gradients: float | None
    flips: NotRequired[float]
    cut_episodes: NotRequired[int]
    max_steps: NotRequired[int]
    attacker_sha256: NotRequired[str]
    """Of a learned or searched attack: hash of its arrays."""
    training_curve: NotRequired[list[float]]
    predicted: NotRequired[float]
    moved: NotRequired[Moved]


class Selection(TypedDict):
    """The attack's worst setting on the episodes of selection."""

    mean: float
    std: float
    episodes: int
    seed: int


class BudgetPoint(Selection):
    """A learned attacker after so many steps of training."""

    steps: int


class AuditRow(CellResult):
    """One attack at one radius, on the episodes of the report."""

    family: Family
    parameters: NotRequired[dict[str, Any]]
    select: NotRequired[Selection]
    final: NotRequired[Selection]
    """Of a finalist: on the episodes where the worst attacks are compared."""
    grid: NotRequired[list[dict[str, Any]]]
    budget_curve: NotRequired[list[BudgetPoint]]
    """Of an attacker that was halved: the settings selected, at each rung."""


class AuditPoint(TypedDict):
    """All attacks at one radius."""

    eps: float
    worst: str
    attacks: dict[str, AuditRow]
    certified: NotRequired[AuditRow]


class AuditFlag(TypedDict):
    """A reason to trust a number less."""

    flag: str
    attack: str
    text: str
    eps: NotRequired[float]


class AuditSuite(TypedDict):
    name: str
    sha256: str
    changes: list[str]


class AuditSeeds(TypedDict):
    report: int
    select: int
    attackers: int


class AuditResult(TypedDict):
    agent: NotRequired[str]
    """Where it lies, if it was read from a folder or file."""
    env: str
    meta: dict[str, Any]
    agent_sha256: str
    suite: AuditSuite | None
    norm: Norm
    threat: dict[str, Any]
    """At the first radius; `Threat.from_json` reads it."""
    seeds: AuditSeeds
    attacks: dict[str, AuditRow]
    """Those at the first radius, as `worst` and `certified`."""
    worst: str
    certified: NotRequired[AuditRow]
    curve: NotRequired[list[AuditPoint]]
    dimensions: NotRequired[list[str]]
    """Names of the numbers of an observation, where it is a short vector."""
    skipped: dict[str, str]
    flags: list[AuditFlag]
    command: NotRequired[str]
    versions: NotRequired[dict[str, str]]
    machine: NotRequired[dict[str, Any]]
    git: NotRequired[dict[str, Any]]


def points_of(result: AuditResult) -> list[AuditPoint]:
    """One for each radius."""
    if "curve" in result:
        return result["curve"]
    point: AuditPoint = {"eps": result["threat"]["eps"], "worst": result["worst"], "attacks": result["attacks"]}
    if "certified" in result:
        point["certified"] = result["certified"]
    return [point]


def rows_of(point: AuditPoint) -> list[tuple[str, AuditRow]]:
    """The attacks of a radius by name, and last the greedy worst case where there is one."""
    certified = [("gwc", point["certified"])] if "certified" in point else []
    return [*point["attacks"].items(), *certified]


def kept_share(rows: Mapping[str, AuditRow], row: CellResult) -> float | None:
    """A row's mean as a share of that without attack; None where that is missing or not positive."""
    natural = rows["none"]["mean"] if "none" in rows else 0.0
    return row["mean"] / natural if natural > 0 else None


def flips_of(row: CellResult) -> str:
    """The share of steps at which the action was changed, in words."""
    return "" if row.get("flips") is None else f"{row['flips']:.1%}"


def markdown(result: AuditResult) -> str:
    """The result as Markdown: a table for each radius, then its flags."""
    suite = result["suite"]
    name = f"suite {suite['name']}{', modified' if suite['changes'] else ''}" if suite else "attacks by name"
    seeds = result["seeds"]
    method, env = (markdown_text(str(x)) for x in (result["meta"].get("method", "an agent"), result["env"]))
    lines = [f"# Audit of {method} on {env}", ""]
    lines += [f"{name}; {result['norm']}; reported on seed {seeds['report']}, selected on seed {seeds['select']}.", ""]
    for point in points_of(result):
        lines += [
            "| attack | mean | std | 95 % interval | eps | episodes | flips |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for attack, row in rows_of(point):
            shown = f"**{markdown_text(attack)}** (worst)" if attack == point["worst"] else markdown_text(attack)
            low, high = row["interval"]
            cells = (f"{row['mean']:.1f}", f"{row['std']:.1f}", f"{low:.1f} .. {high:.1f}", f"{row['eps']:g}")
            lines.append(f"| {shown} | {' | '.join(cells)} | {row['episodes']} | {flips_of(row)} |")
        lines.append("")
    lines += [f"- skipped {attack}: {markdown_text(reason)}" for attack, reason in result["skipped"].items()]
    lines += [f"- **{flag['flag']}**: {markdown_text(flag['text'])}" for flag in result["flags"]]
    return "\n".join(lines).rstrip() + "\n"
