"""Run folder: configuration, metrics, checkpoints and final agent; nothing in it is overwritten silently."""

import fcntl
import json
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, version
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from wocar import __version__
from wocar.agent import Agent, load_agent
from wocar.files import (
    atomic_directory,
    fill_tree,
    no_link,
    one_line_errors,
    read_arrays,
    read_json,
    read_lines,
    remove_partial,
    tree_arrays,
    write_arrays,
    write_atomic,
    write_json,
)
from wocar.local_key import signature, signed
from wocar.metrics_file import read_metrics, returns_in
from wocar.runtime import changed_numerics, fingerprint
from wocar.schema import fault
from wocar.training.run_config import RunConfig, from_json, to_json
from wocar.training.source_commit import source_commit
from wocar.types import UserError

PACKAGES = ("jax", "equinox", "optax", "numpy", "envpool", "gymnasium", "mujoco")
CURVE_POINTS = 50
CHECKPOINT: dict[str, Any] = {"iteration": int, "sha256": str, "late_returns": list[float]}
"""What a checkpoint says beside the numbers of its trainer."""


class RunFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics_file = path / "metrics.jsonl"
        self._lock: IO[str] | None = None
        self._keep = False
        self._config: dict[str, Any] = {}

    def open(self, config: RunConfig) -> None:
        """Lock the folder for this run: a new folder, or on --resume the one that holds the run."""
        self._refuse_taken(config)
        self._keep, self._config = config.keep_checkpoints, _signed_config(config)
        with one_line_errors("write", self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.path / ".lock", "w", opener=no_link)  # noqa: SIM115  held until the end
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._refuse_taken(config)  # another process may have used it meanwhile
        except OSError:
            self.close()
            raise UserError(f"another process is training in {self.path}") from None
        except UserError:
            self.close()
            raise
        for folder in (self.path, self.path / "checkpoints"):
            remove_partial(folder)
        self._prune()
        if not exists(self.path / "run.json"):
            write_json(self.path / "run.json", {"config": to_json(config), **provenance()})

    def _refuse_taken(self, config: RunConfig) -> None:
        """A UserError where the folder holds anything other than this run."""
        if exists(self.path / "run.json"):
            if not config.resume:
                raise UserError(f"{self.path} already holds a run; continue it with --resume or choose another --out")
            old, new = _flat(to_json(load_config(self.path))), _flat(to_json(config))
            pairs = ", ".join(f"{k} {old[k]!r} (asked: {new.get(k)!r})" for k in old if old[k] != new.get(k))
            if pairs:
                raise UserError(
                    f"{self.path} was started with {pairs}; resume it with the same settings, or choose another --out"
                )
        elif isdir(self.path) and (foreign := [p.name for p in self.path.iterdir() if not _ours(p.name)]):
            raise UserError(f"{self.path} holds other files ({min(foreign)}) and no run; choose another --out")

    def close(self) -> None:
        if self._lock:
            self._lock.close()

    def save_checkpoint(self, iteration: int, agent: Agent, state: Any, data: dict[str, Any]) -> None:
        """Write agent and learner state after an iteration; keeps the last two checkpoints, or all."""
        with atomic_directory(self.path / "checkpoints" / f"{iteration:07d}") as folder:
            agent.write(folder)
            digest = write_arrays(folder / "learner.safetensors", tree_arrays(state))
            facts = {"iteration": iteration, "sha256": digest, **data}
            mark = signature(self._config, facts, read_json(folder / "agent.json"))
            write_json(folder / "learner.json", {**facts, "signature": mark})
        self._prune()

    def _prune(self) -> None:
        """Remove all but the last two checkpoints, unless all are kept."""
        for old in [] if self._keep else self.checkpoints()[:-2]:
            with one_line_errors("remove", old):
                for file in old.iterdir():
                    file.unlink()
                old.rmdir()

    def checkpoints(self) -> list[Path]:
        folder = self.path / "checkpoints"
        return sorted(p for p in folder.glob("*") if p.name.isdigit()) if isdir(folder) else []

    def load_checkpoint(self, template: Any, names: Collection[str]) -> tuple[int, Agent, Any, dict[str, Any]] | None:
        """The newest checkpoint as (iteration, agent, state, data); `names` must be in its data."""
        found = self.checkpoints()
        if not found:
            return None
        data = read_json(found[-1] / "learner.json")
        kinds = {**dict.fromkeys(names, float), **CHECKPOINT}
        if not isinstance(data, dict) or any(name not in data or fault(data[name], kinds[name]) for name in kinds):
            raise UserError(
                f"{found[-1] / 'learner.json'} is damaged: remove {found[-1]} to resume from an older checkpoint"
            )
        state = fill_tree(template, read_arrays(found[-1] / "learner.safetensors", data["sha256"]), found[-1])
        return data["iteration"], load_agent(found[-1]), state, data

    def discard_foreign(self) -> None:
        """Remove the run if its newest checkpoint does not have the signature of this user's key.

        For attackers of an audit: one that somebody else put there would find nothing.
        """
        if self.checkpoints() and not self._is_ours(self.checkpoints()[-1]):
            with one_line_errors("remove", self.path):
                shutil.rmtree(self.path)

    def _is_ours(self, checkpoint: Path) -> bool:
        try:
            facts, agent = read_json(checkpoint / "learner.json"), read_json(checkpoint / "agent.json")
            config = _signed_config(load_config(self.path))
        except UserError:
            return False
        return isinstance(facts, dict) and signed(facts.pop("signature", None), config, facts, agent)

    def numeric_changes(self) -> str:
        """How numbers may come out otherwise here than where the run began; empty where they do not."""
        data = read_json(self.path / "run.json")
        return changed_numerics(data.get("numerics")) if isinstance(data, dict) else ""

    def cut_metrics(self, iteration: int) -> None:
        """Drop metrics of iterations after a checkpoint: they will be computed again."""
        if not exists(self.metrics_file):
            return
        kept = []
        with one_line_errors("read", self.metrics_file):
            lines = read_lines(self.metrics_file)
        for line in lines:
            try:
                if json.loads(line)["iteration"] <= iteration:
                    kept.append(line + b"\n")
            except (ValueError, KeyError, TypeError, RecursionError):  # a line cut short by a kill
                break
        write_atomic(self.metrics_file, b"".join(kept))

    def log(self, row: dict[str, Any]) -> None:
        with one_line_errors("write", self.metrics_file), open(self.metrics_file, "a", opener=no_link) as file:
            file.write(json.dumps({k: None if not np.isfinite(v) else v for k, v in row.items()}) + "\n")


def _signed_config(config: RunConfig) -> dict[str, Any]:
    """The settings that a checkpoint's signature covers: all but the place."""
    return {name: value for name, value in to_json(config).items() if name != "out"}


def _ours(name: str) -> bool:
    """Whether a run killed before it wrote its run.json can have left this file."""
    return name in (".lock", "harden", "audits") or (name.startswith("run.json.") and name.endswith(".partial"))


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    """Nested settings at the top level, as on the command line."""
    nested = {k: v for part in data.values() if isinstance(part, dict) for k, v in part.items()}
    return {k: v for k, v in data.items() if not isinstance(v, dict)} | nested


def load_config(path: Path) -> RunConfig:
    if not isfile(path / "run.json"):
        raise UserError(f"no run in {path}: it has no run.json")
    data = read_json(path / "run.json")
    if not isinstance(data, dict) or "config" not in data:
        raise UserError(f"{path / 'run.json'} is not a wocar run")
    return from_json(data["config"], path)


def load_run_agent(path: Path) -> Agent:
    """The final agent of a run folder, or that of its last checkpoint, or the agent folder itself."""
    if not exists(path):
        raise UserError(f"no agent in {path}: there is no such folder")
    if exists(path / "agent.json"):
        return load_agent(path)
    if isdir(path / "agent"):
        return load_agent(path / "agent")
    checkpoints = RunFolder(path).checkpoints()
    if checkpoints:
        return load_agent(checkpoints[-1])
    raise UserError(f"no agent in {path}: it holds neither a finished run, nor a checkpoint, nor an agent.json")


def training_return(path: Path) -> float | None:
    """Mean return of the last tenth of a run folder's training; None where there was none, or one under attack."""
    if isfile(path / "run.json") and load_config(path).adversary is not None:
        return None
    curve = returns_of_run(path)
    return float(np.mean(curve[-max(1, len(curve) // 10) :])) if curve else None


def returns_of_run(path: Path) -> list[float]:
    """Returns along a run's training, a few dozen means of neighbours."""
    returns = returns_in(read_metrics(path / "metrics.jsonl"))
    if not returns:
        return []
    return [float(part.mean()) for part in np.array_split(returns, min(CURVE_POINTS, len(returns)))]


def provenance() -> dict[str, Any]:
    """Command, versions, machine and, in a git checkout, the commit: for the record."""
    versions = {"python": platform.python_version(), "wocar": __version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    program = "wocar" if sys.argv[0].endswith(("wocar", "__main__.py")) else Path(sys.argv[0]).name
    command = shlex.join([program, *sys.argv[1:]])
    machine = {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
    git = source_commit()
    made = {"command": command, "versions": versions, "machine": machine, "numerics": fingerprint()}
    return {**made, **({"git": git} if git else {})}
