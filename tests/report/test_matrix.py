"""The matrix by hand, and the script that writes it from committed audits."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from wocar.report.matrix import MatrixRow, audited_agent, matrix_json, matrix_table

ROOT = Path(__file__).resolve().parents[2]
HOPPER = "Hopper-v4"


def audit(method: str, seed: int | None, worst: float, suite: str = "fast-v2", **changes: Any) -> dict[str, Any]:
    def row(mean: float, eps: float) -> dict[str, Any]:
        return {"mean": mean, "eps": eps, "returns": [mean - 1, mean, mean + 1]}

    attacks = {"none": row(3000 + worst, 0.0), "director": row(worst, 0.075)}
    meta = {"method": method, "seed": seed, "steps": 2_000_896}
    named = {"name": suite, "changes": []} if suite else None
    return {"env": HOPPER, "meta": meta, "attacks": attacks, "worst": "director", "suite": named, **changes}


def row(method: str, *worst: float, asked: int = 5, suite: str = "fast-v2") -> MatrixRow:
    agents = [audited_agent(audit(method, seed, value, suite)) for seed, value in enumerate(worst)]
    return MatrixRow(HOPPER, method, "", asked, agents)


def test_a_line_for_each_row() -> None:
    table = matrix_table([row("ppo", 10, 300), row("wocar-ppo", 200, 500, 400), row("sac")])
    lines = {line[0].text: [cell.text for cell in line[1:]] for line in table.rows}
    assert lines["Hopper-v4: PPO"] == ["2 of 5", "3010", "10.0", "155", "", "2M", "fast-v2"]  # of two the lower
    assert lines["Hopper-v4: WocaR-PPO"][:3] == ["3 of 5", "3400", "400"]
    assert lines["Hopper-v4: WocaR-PPO"][4] == "0.83"  # five of six pairs
    assert lines["Hopper-v4: SAC"] == ["0 of 5", "not run", *[""] * 5]
    assert "Attacked by fast-v2." in table.about


def test_different_suites_are_not_compared() -> None:
    assert row("wocar-ppo", 2).improvement(row("ppo", 1, suite="mujoco-v2")) is None
    assert row("wocar-ppo", 2).improvement(row("ppo")) is None
    found = row("wocar-ppo", 2).improvement(row("ppo", 1))
    assert found is not None and found.value == 1


def test_the_same_as_json() -> None:
    ppo, wocar = matrix_json([row("ppo", 10, 300), row("wocar-ppo", 200)])
    assert ppo["median"] == {"seed": 0, "natural": 3010, "worst": 10, "attack": "director"}
    assert ppo["better than PPO"] is None and wocar["better than PPO"]["value"] == 0.5
    assert json.loads(json.dumps([ppo, wocar]))[1]["seeds"] == [0]


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("matrix_script", ROOT / "scripts" / "matrix.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_reads_every_audit_by_its_suites_and_no_other(script: Any, tmp_path: Path) -> None:
    committed = {
        "matrix/ppo-Hopper-v4-s0.json": audit("ppo", 0, 50),
        "matrix/wocar-ppo-Hopper-v4-s0.json": audit("wocar-ppo", 0, 100),
        "matrix/wocar-ppo-reg-False-Hopper-v4-s1.json": audit("wocar-ppo", 1, 9000),
        "matrix/atla-ppo-Hopper-v4-s0.json": audit("atla-lstm-sa-ppo", 0, 70),  # what trains the row at this scale
        "what-works/Hopper-wocar-ppo-long-s8.json": audit("wocar-ppo", 8, 2900),
        "what-works/Hopper-wocar-ppo-hunts-s3.json": audit("wocar-ppo", 3, 9000),  # an earlier preset
        "robust-sac/Hopper-s0.json": audit("wocar-sac", 0, 256),
        "robust-sac/no-hunts/Hopper-s1.json": audit("wocar-sac", 1, 9000),
        "robust-sac/Hopper-s100.json": audit("wocar-sac", 100, 9000),  # chosen on, not reported
        "baselines/ppo-Hopper-s1.json": audit("ppo", 1, 9000, "fast-v1"),
        "published/wocar-hopper.json": audit("wocar-hopper", None, 9000),
        "speed/bench.json": {"ratios": {}},
    }
    for name, data in committed.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(data))
    text = script.matrix(tmp_path)
    lines = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in text.split("\n\n")[0].splitlines()}
    assert lines["PPO"] == "1 of 5: 3050 / **50**, fast-v2"
    assert lines["WocaR-PPO"] == "1 of 5: 3100 / **100**, fast-v2"
    assert lines["WocaR-PPO, preset=robust"] == "1 of 5: 5900 / **2900**, fast-v2"
    assert lines["ATLA-PPO"].startswith("1 of 5: 3070 / **70**, fast-v2, 2M of 10M steps")
    assert lines["WocaR-SAC"].startswith("1 of 5: 3256 / **256**")
    assert lines["SA-PPO"] == "not run (0 of 5)" and "9000" not in text
    assert "| Hopper-v4 | WocaR-SAC | PPO | 1.00 | one seed |" in text


def test_more_seeds_then_the_stronger_suite_then_more_episodes_count(script: Any) -> None:
    def agents(*found: dict[str, Any]) -> list[Any]:
        return [audited_agent(data) for data in found]

    fast, strong = audit("ppo", 0, 50), audit("ppo", 0, 40, "mujoco-v2")
    assert script.filled_row(row("ppo"), agents(fast, strong)).median.worst == 40
    two = agents(fast, strong, audit("ppo", 1, 60))
    assert [agent.worst for agent in script.filled_row(row("ppo"), two).agents] == [50, 60]
    longer = audit("ppo", 0, 55)
    longer["attacks"]["director"]["returns"] *= 2
    assert script.filled_row(row("ppo"), agents(longer, fast)).median.worst == 55


def test_a_file_that_does_not_say_its_row_is_named(script: Any, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "agent.json").write_text(json.dumps(audit("ppo", 0, 50)))
    with pytest.raises(SystemExit, match=r"agent\.json: name it METHOD"):
        script.matrix(tmp_path)
