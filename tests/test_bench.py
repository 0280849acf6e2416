"""The benchmark: it starts, and each of its ratios is of two things that it measures."""

import subprocess
import sys
from pathlib import Path

import pytest

from wocar.bench import __main__ as bench
from wocar.bench.dqn import TASKS
from wocar.bench.measure import like_ppo
from wocar.bench.ratios import RATIOS, Ratio, rate, ratios_of


@pytest.mark.parametrize("module", ["wocar.bench", "wocar.bench.dqn"])
def test_its_options_are_shown(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: python -m {module} ")


def test_the_whole_tier_measures_what_its_ratios_are_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "find_spec", lambda name: name == "envpool")
    monkeypatch.setattr(bench, "bare_rate", lambda *_: 2.0)
    monkeypatch.setattr(bench, "training", lambda *_: {"steps/s": 1.0})
    monkeypatch.setattr(bench, "sb3_rate", lambda *_: None)
    updates = {f"{m} update ms": 1.0 for m in ("dqn", "wocar-dqn")}
    monkeypatch.setattr(
        bench, "dqn_round", lambda _: updates | {rate(x, e): 1.0 for x in ("dqn", "sb3 dqn") for e in TASKS}
    )
    monkeypatch.setattr(bench, "audit_seconds", lambda _: {"natural audit s": 1.0, "maxdiff audit s": 4.0})
    monkeypatch.setattr(bench, "inner_problems", dict)
    monkeypatch.setattr(bench, "sac_round", lambda: {f"{m} updates/s": 1.0 for m in ("sac", "wocar-sac", "sb3 sac")})
    found = ratios_of({name: value for name, value in bench.whole_round(1, 1) if value is not None})
    assert found["ppo / simulator, Hopper-v4"] == {"value": 0.5, "asked": ">= 0.65", "met": False}
    assert found["maxdiff audit / natural audit"] == {"value": 4.0, "asked": "<= 3", "met": False}
    assert found["wocar-ppo time / ppo time, HalfCheetah-v4"]["met"] is True
    unmeasured = {ratio.name for ratio in RATIOS} - found.keys()
    assert all("Stable-Baselines3 ppo" in name or "HalfCheetah" in name for name in unmeasured)


def test_methods_are_measured_with_updates_of_ppos_size_unpushed_and_without_hunts() -> None:
    unpushed = ["--hunt-begin", "1", "--director-share", "0"]
    sizes = ["--n-steps", "128", "--minibatches", "32", "--policy-epochs", "10"]
    assert like_ppo("wocar-ppo", ["--env", "Hopper-v4"]) == unpushed
    assert like_ppo("wocar-ppo", ["--env", "HalfCheetah-v4"]) == ["--hunt-begin", "1", *sizes]
    assert like_ppo("ppo", ["--env", "Hopper-v4"]) == like_ppo("lstm-ppo", ["--env", "Hopper-v4"]) == []
    assert like_ppo("sa-rl", ["--victim", "runs/ppo"]) == []


def test_a_ratio_is_judged_on_its_own_side() -> None:
    least, most = Ratio("a / b", "a", "b", 2.0), Ratio("a / b", "a", "b", 2.0, "most")
    assert least.met(2.5) and not least.met(1.5) and most.met(1.5) and not most.met(2.5)
    assert Ratio("a / b", "a", "b").met(1.0) is None and least.of({"a": 1.0}) is None


def test_the_bench_of_one_method_writes_its_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wocar.bench", "--only", "sa-ppo", "--rounds", "1", "--steps", "8192"]
    done = subprocess.run([*command, "--json", str(tmp_path / "b.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "sa-ppo time / ppo time, Hopper-v4" in done.stdout
