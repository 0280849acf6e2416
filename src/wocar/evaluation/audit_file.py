"""What an audit leaves on disk: finished cells, so that a killed audit goes on with what is missing, and its tables."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np

from wocar.agent import Agent
from wocar.files import one_line_errors, read_json, write_json
from wocar.types import UserError

Key = dict[str, Any]
"""All that a cell's numbers depend on: another key is another cell."""


class AuditFolder:
    """One file per finished cell; learned attackers are trained in folders beside them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with one_line_errors("write", path):
            path.mkdir(parents=True, exist_ok=True)

    def read(self, key: Key) -> dict[str, Any] | None:
        """The cell, or None where it is missing or not readable: it is then made again."""
        file = self._file(key)
        try:
            data = read_json(file) if file.is_file() else {}
        except UserError:
            return None
        return data["result"] if isinstance(data, dict) and data.get("key") == key and "result" in data else None

    def write(self, key: Key, result: dict[str, Any]) -> None:
        write_json(self._file(key), {"key": key, "result": result})

    def folder(self, key: Key) -> Path:
        """Where the attacker of this key is trained."""
        return self.path / _name(key)

    def _file(self, key: Key) -> Path:
        return self.path / f"{_name(key)}.json"


def _name(key: Key) -> str:
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', key['attack'])}-eps{key['eps']:g}-{digest[:12]}"


def agent_digest(agent: Agent) -> str:
    """Hash of what the agent does: its normaliser, policy and critics."""
    digest = hashlib.sha256()
    parts = {"normaliser": agent.normaliser, "policy": agent.policy, "critics": agent.critics}
    for path, leaf in jax.tree_util.tree_leaves_with_path(parts):
        digest.update(jax.tree_util.keystr(path).encode())
        if callable(leaf):
            digest.update(getattr(leaf, "__name__", type(leaf).__name__).encode())
        else:
            array = np.asarray(leaf)
            digest.update(f"{array.shape}{array.dtype}".encode() + array.tobytes())
    return digest.hexdigest()


def rows_of(point: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The attacks of a radius by name, and last the greedy worst case where there is one."""
    certified = [("gwc", point["certified"])] if "certified" in point else []
    return [*point["attacks"].items(), *certified]


def flips_of(row: dict[str, Any]) -> str:
    """The share of steps at which the action was changed, in words."""
    return "" if row.get("flips") is None else f"{row['flips']:.1%}"


def markdown(result: dict[str, Any]) -> str:
    """The result as Markdown: a table for each radius, then what the audit accuses itself of."""
    suite = result["suite"]
    name = f"suite {suite['name']}{', modified' if suite['changes'] else ''}" if suite else "attacks by name"
    seeds = result["seeds"]
    lines = [f"# Audit of {result['meta'].get('method', 'an agent')} on {result['env']}", ""]
    lines += [f"{name}; {result['norm']}; reported on seed {seeds['report']}, selected on seed {seeds['select']}.", ""]
    for point in result.get("curve", [result]):
        lines += [
            "| attack | mean | std | 95 % interval | eps | episodes | flips |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for attack, row in rows_of(point):
            shown = f"**{attack}** (worst)" if attack == point["worst"] else attack
            low, high = row["interval"]
            cells = (f"{row['mean']:.1f}", f"{row['std']:.1f}", f"{low:.1f} .. {high:.1f}", f"{row['eps']:g}")
            lines.append(f"| {shown} | {' | '.join(cells)} | {row['episodes']} | {flips_of(row)} |")
        lines.append("")
    lines += [f"- skipped {attack}: {reason}" for attack, reason in result["skipped"].items()]
    lines += [f"- **{flag['flag']}**: {flag['text']}" for flag in result["flags"]]
    return "\n".join(lines).rstrip() + "\n"
