"""The public API: its names, its settings, and that it does what the commands do."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wocar
from wocar.cli import main

SOURCE = Path(__file__).parents[1] / "src"
TINY: dict[str, Any] = {"n_envs": 2, "n_steps": 16, "hidden": (8,), "minibatches": 2, "policy_epochs": 1}
OPTIONS = ["--n-envs", "2", "--n-steps", "16", "--hidden", "8", "--minibatches", "2", "--policy-epochs", "1"]


def command(*words: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    assert not stop.value.code


def test_every_public_name_is_there_and_a_type_checker_sees_it() -> None:
    assert set(wocar.__all__) <= set(dir(wocar))
    assert all(getattr(wocar, name) is not None for name in wocar.__all__)
    tree = ast.parse((SOURCE / "wocar" / "__init__.py").read_text())
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == wocar._PLACES
    assert {*seen, "__version__"} == set(wocar.__all__)
    with pytest.raises(AttributeError, match="no attribute 'laser'"):
        wocar.laser  # noqa: B018


REPORT = """
import json, os, sys
{imports}
import jax
names = ("JAX_PLATFORMS", "XLA_FLAGS", "OPENBLAS_NUM_THREADS")
print(json.dumps([jax.default_backend(), *(os.environ.get(name) for name in names)]))
"""


def settings_of(imports: str, **variables: str) -> list[Any]:
    names = ("JAX_PLATFORMS", "XLA_FLAGS", "OPENBLAS_NUM_THREADS")
    env = {name: value for name, value in os.environ.items() if name not in names}
    env |= {"PYTHONPATH": str(SOURCE), **variables}
    program = REPORT.format(imports=imports)
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_python_and_the_command_line_run_with_the_same_settings() -> None:
    usual = settings_of("import wocar.cli")
    assert usual == ["cpu", "cpu", "--xla_cpu_multi_thread_eigen=false", "1"]
    assert settings_of("import wocar; wocar.load") == usual
    assert settings_of("from wocar import audit") == usual
    asked = settings_of("import wocar; wocar.Threat(0.1)", OPENBLAS_NUM_THREADS="2", XLA_FLAGS="")
    assert asked == ["cpu", "cpu", "", "2"]


def test_threads_of_a_blas_that_is_loaded_already_are_limited(tmp_path: Path) -> None:
    """By threadpoolctl, where it is installed: here something that only notes what it was asked."""
    fake = """
class ThreadpoolController:
    def select(self, **which):
        self.which = which
        return self

    def limit(self, **limits):
        print(self.which, limits)
"""
    (tmp_path / "threadpoolctl.py").write_text(fake)
    program = "import numpy, wocar; wocar.Threat; wocar.Agent"
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{SOURCE}"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "{'internal_api': 'openblas'} {'limits': 1}\n"


def test_training_from_python_is_training_by_command(tmp_path: Path) -> None:
    settings = {**TINY, "value_epochs": 1, "steps": 64, "eps": 0.2, "norm": "l2"}
    agent = wocar.train("sa-ppo", "Pendulum-v1", out=tmp_path / "python", seed=3, **settings)
    options = [*OPTIONS, "--value-epochs", "1", "--steps", "64", "--eps", "0.2", "--norm", "l2", "--seed", "3"]
    command("train", "sa-ppo", "--env", "Pendulum-v1", *options, "--out", str(tmp_path / "command"))
    other = wocar.load(tmp_path / "command")
    assert agent.digest() == other.digest()
    assert agent.meta == other.meta
    assert wocar.Threat.from_json(agent.meta["threat"]) == wocar.Threat(0.2, "l2")
    again = wocar.train("sa-ppo", out=tmp_path / "python", resume=True)  # finished: nothing to do
    assert again.digest() == agent.digest()
    with pytest.raises(wocar.UserError, match="already holds a run"):
        wocar.train("sa-ppo", "Pendulum-v1", out=tmp_path / "python", **settings)
    with pytest.raises(wocar.UserError, match="ppo has no setting kappa_reg"):
        wocar.train("ppo", "Pendulum-v1", out=tmp_path / "x", kappa_reg=1.0)
    with pytest.raises(wocar.UserError, match="unknown method"):
        wocar.train("pppo")
    with pytest.raises(wocar.UserError, match="name its folder with --victim"):
        wocar.train("sa-rl")
    attacker = wocar.train("sa-rl", victim=tmp_path / "python", out=tmp_path / "attacker", steps=32, **TINY)
    assert wocar.Threat.from_json(attacker.meta["threat"]) == wocar.Threat(0.2, "l2")  # as its victim was trained
    same_audit(tmp_path)


def same_audit(folder: Path) -> None:
    """What the command writes is what the function returns."""
    file = folder / "audit.json"
    command(
        *("audit", str(folder / "python"), "--attacks", "none,random", "--episodes", "3", "--json", str(file)),
        *("--out", str(folder / "parts")),
    )
    result = wocar.audit(folder / "python", attacks=["none", "random"], episodes=3)
    written, returned = json.loads(file.read_text()), json.loads(json.dumps(result))
    assert written.pop("command") and returned.pop("command")
    assert written == returned
    row = result["attacks"]["random"]
    assert len(row["returns"]) == row["episodes"] == 3
    assert row["mean"] == pytest.approx(np.mean(row["returns"]))
    assert row["std"] == pytest.approx(np.std(row["returns"]))
    assert {"agent", "agent_sha256", "threat", "versions", "machine"} <= result.keys()


def test_options_are_used_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = wocar.train("ppo", "CartPole-v1", out=tmp_path / "run", steps=32, **TINY)
    with pytest.raises(wocar.UserError, match="holds its own"):
        wocar.audit(tmp_path / "run", attacks=["none"], normaliser=tmp_path / "x.pkl")
    with pytest.raises(wocar.UserError, match="holds its own"):
        wocar.audit(agent, attacks=["none"], normaliser=tmp_path / "x.pkl")
    assert wocar.load(tmp_path / "run", env="CartPole-v0").spec.id == "CartPole-v0"
    seen: list[str] = []

    def estimated(agent: wocar.Agent, *_: Any) -> dict[str, Any]:
        seen.append(agent.spec.id)
        return {}

    monkeypatch.setattr("wocar.api.run_estimate", estimated)
    wocar.estimate(tmp_path / "run", env="CartPole-v0")
    assert seen == ["CartPole-v0"]
    with pytest.raises(wocar.UserError, match="other arrays"):
        wocar.estimate(tmp_path / "run", env="Pendulum-v1")
    with pytest.raises(wocar.UserError, match="there is no"):
        wocar.load(tmp_path / "nope.zip")


def test_arguments_of_other_types(tmp_path: Path) -> None:
    agent = wocar.train("ppo", "CartPole-v1", out=tmp_path / "run", steps=32, **TINY)
    result = wocar.audit(agent, attacks="random", eps=np.float32(0.1), episodes=2)
    assert list(result["attacks"]) == ["random"] and json.dumps(result)
    for eps in ("0.1x", [None], object()):
        with pytest.raises(wocar.UserError):
            wocar.audit(agent, attacks="random", eps=eps, episodes=2)  # type: ignore[arg-type]
