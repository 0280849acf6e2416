"""Headline of the README: the median by the usual suite, and what harder attacks leave beside it."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "tables.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("tables_script", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entry(suite: str, **attacks: float) -> dict[str, Any]:
    rows = {name.replace("_", "-"): {"mean": mean} for name, mean in attacks.items()}
    worst = min(rows, key=lambda name: rows[name]["mean"])
    return {"audits": [{"suite": {"name": suite}}], "attacks": rows, "worst": {"attack": worst, **rows[worst]}}


def test_an_attack_that_few_agents_met_stands_beside_the_usual_worst(script: Any) -> None:
    met = entry("fast-v2", none=5000, director=4400, worst_critic=4300, lookahead=500)
    usual = entry("fast-v2", none=5000, director=4000)
    older = entry("mujoco-v1", none=5000, robust_sarsa=900, pa_ad=-600)
    assert script.usual_worst(met) == {"attack": "worst-critic", "mean": 4300}
    assert script.usual_worst(usual)["mean"] == 4000 and script.usual_worst(older)["attack"] == "pa-ad"
    assert script.harder([usual, met]) == "500 (lookahead)" and script.harder([usual, older]) == ""
