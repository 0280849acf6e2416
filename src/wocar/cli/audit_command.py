"""wocar audit AGENT [--attacks a,b] [--episodes N] [--json FILE]"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from wocar.agent import Agent
from wocar.cli.options import parse
from wocar.evaluation.audit import audit
from wocar.experiments.presets import EPS
from wocar.files import write_json
from wocar.training.run_folder import load_run_agent, provenance
from wocar.types import UserError


@dataclass(frozen=True)
class AuditOptions:
    agent: Annotated[Path, tyro.conf.Positional]
    """A run folder or an agent folder."""
    attacks: str = "none"
    """Attacks, separated by commas."""
    eps: float | None = None
    """Radius of the ball around the normalised observation; by default that of the agent's training or of the paper."""
    episodes: int = 50
    seed: int = 1234
    """Seed of the evaluation's environments, which are never those of training."""
    env: str | None = None
    """Another environment than the agent's own."""
    json: Path | None = None
    """Also write the result here."""


def default_eps(agent: Agent) -> float:
    """The radius the agent was trained for, else the paper's for its task."""
    return agent.meta.get("eps") or EPS.get(agent.spec.id.split("-v")[0], 0.1)


def main(argv: list[str]) -> int:
    options: AuditOptions = parse(AuditOptions, argv, "audit", "Returns of an agent without attack and under attacks.")
    if options.episodes <= 0:
        raise UserError(f"--episodes must be positive, not {options.episodes}")
    if options.seed < 0:
        raise UserError(f"--seed must not be negative, not {options.seed}")
    if options.json and not options.json.parent.is_dir():
        raise UserError(f"cannot write {options.json}: its folder does not exist")
    agent = load_run_agent(options.agent)
    eps = options.eps if options.eps is not None else default_eps(agent)
    if not eps >= 0:
        raise UserError(f"--eps must not be negative, not {eps}")
    result = audit(agent, options.attacks.split(","), eps, options.episodes, options.seed, options.env)
    table = Table(title=f"{options.agent}: {agent.meta.get('method', 'agent')} on {options.env or agent.spec.id}")
    for heading in ("attack", "mean", "std", "95 % interval", "eps", "episodes"):
        table.add_column(heading, justify="left" if heading == "attack" else "right")
    for name, row in result["attacks"].items():
        interval = f"{row['interval'][0]:.1f} .. {row['interval'][1]:.1f}"
        table.add_row(
            name, f"{row['mean']:.1f}", f"{row['std']:.1f}", interval, f"{row['eps']:g}", str(row["episodes"])
        )
    Console().print(table)
    if options.json:
        write_json(options.json, {"agent": str(options.agent), **result, **provenance()})
    return 0
