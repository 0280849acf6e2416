"""Model cards, and the writing of a zoo entry: agent, entry and card in one folder."""

import re
from pathlib import Path
from typing import Any

from wocar.agent import Agent
from wocar.evaluation.audit_summary import portable, suite_text, summarised
from wocar.files import atomic_directory, write_atomic, write_json
from wocar.types import UserError
from wocar.zoo.entries import FORMAT, PREFIX, VERSION, ZooEntry, read_entry

NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def write_entry(root: Path, name: str, agent: Agent, audit: Any, about: str = "", train_command: str = "") -> ZooEntry:
    """Add an agent below `root` or replace the one of that name; the audit must be of this very agent."""
    if not NAME.fullmatch(name):
        raise UserError(f"a name in the zoo is TASK/NAME, not {name!r}")
    summary = summarised(audit)
    if summary["agent_sha256"] != agent.digest():
        raise UserError(
            f"the audit is of another agent: {summary['agent_sha256'][:12]}, this one is {agent.digest()[:12]}"
        )
    head = {"format": FORMAT, "version": VERSION, "about": about}
    data = {**head, **summary, "train_command": portable(train_command)}
    folder = root / name
    with atomic_directory(folder) as temporary:
        agent.write(temporary)
        write_json(temporary / "entry.json", data)
        write_atomic(temporary / "card.md", card(name, data, parameters(agent)).encode())
    return read_entry(folder, root)


def parameters(agent: Agent) -> str:
    """What the agent consists of, in words."""
    critics = ", ".join(agent.critics) or "none"
    kind = "recurrent" if agent.recurrent else "feed-forward"
    return f"{kind} policy `{type(agent.policy).__name__}`, critics: {critics}"


def card(name: str, data: dict[str, Any], networks: str) -> str:
    """The model card as Markdown: what it is, how to use it, what it withstands and what not."""
    threat, rows = data["threat"], data["attacks"]
    worst = rows[data["worst"]]
    lines = [f"# {name}", ""]
    lines += [f"{data['method']} on {data['env']}, {data['steps']} steps, seed {data['seed']}."]
    lines += [f"{data['about'].rstrip('.')}."] if data["about"] else []
    lines += ["", f'    agent = wocar.load("{PREFIX}{name}")', f"    wocar zoo verify {name}", ""]
    lines += [
        "| | mean return | 95 % interval | episodes |",
        "|---|---:|---:|---:|",
        _row("natural", rows["none"]),
        _row(f"worst attack ({data['worst']})", worst),
        "",
    ]
    where = f"{threat['norm']}, radius {threat['eps']:g} of {threat['units']} {threat['on']}s"
    lines += [f"**Threat**: {where}. **Audit**: {suite_text(data['suite'])}."]
    lines += [f"**Networks**: {networks}.", f"**Digest**: `{data['agent_sha256']}`.", ""]
    lines += ["| attack | mean | std | 95 % interval | episodes |", "|---|---:|---:|---:|---:|"]
    for attack, row in rows.items():
        low, high = row["interval"]
        lines.append(
            f"| {attack} | {row['mean']:.0f} | {row['std']:.0f} | {low:.0f} .. {high:.0f} | {row['episodes']} |"
        )
    lines += ["", *(f"- not run, {attack}: {why}" for attack, why in data["skipped"].items())]
    lines += [f"- flag: {text}" for text in data["flags"]]
    lines += ["", "**Limits**: the worst return is that of the attacks above, an upper bound of what a stronger"]
    lines += ["attacker leaves. Other radii, simulators and versions of the task were not audited.", ""]
    lines += ["Trained by", "", f"    {data['train_command']}", ""] if data.get("train_command") else []
    lines += ["Audited by", "", f"    {data['command']}", ""] if data["command"] else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _row(label: str, row: dict[str, Any], std: str = "") -> str:
    low, high = row["interval"]
    return f"| {label} | {row['mean']:.0f} |{std} {low:.0f} .. {high:.0f} | {row['episodes']} |"
