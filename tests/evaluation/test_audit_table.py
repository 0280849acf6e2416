"""Table and verdict of an audit: what fits into 80 columns, and what one line says."""

from typing import Any

import jax
import pytest
from rich.console import Console

from wocar.agent import Agent
from wocar.api import explained_threat
from wocar.cli.audit_table import radius_text, table, verdict
from wocar.envs import env_spec
from wocar.networks import CategoricalPolicy, PixelNormaliser, RunningNormaliser
from wocar.threat import Threat


def row(mean: float, eps: float = 0.075, **more: Any) -> Any:
    spread = {"std": 1234.5, "interval": [mean - 1234.5, mean + 1234.5], "episodes": 50, "eps_units": "l_inf"}
    return {"mean": mean, "eps": eps, **spread, **more}


ROWS = {"none": row(3252.1, eps=0.0), "pgd-10": row(1568.2), "own-worst-critic": row(-13255.0), "gwc": row(1.0)}


@pytest.mark.parametrize("rows", [ROWS, {**ROWS, "trained:a-long-name-of-an-attacker": row(1.0, flips=0.5)}])
@pytest.mark.parametrize("eps", [0.075, 0.15])
def test_names_and_numbers_are_whole_in_80_columns(rows: dict[str, Any], eps: float) -> None:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    rows = {**rows, "pgd-10": row(1568.2, eps=eps)}
    console.print(table("title", list(rows.items()), [("own-worst-critic", 0.075)], width=80))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80 and not any("…" in line for line in lines)
    (worst,) = (line for line in lines if "own-worst-critic (worst)" in line)
    assert "-13255.0" in worst and "-408 %" in worst
    assert len([line for line in lines if line.strip()]) == len(rows) + 3  # title, headings, a rule


def test_a_column_appears_where_it_tells_something() -> None:
    headings = [[str(c.header) for c in table("", list(rows.items()), width=200).columns] for rows in (
        ROWS,
        {**ROWS, "pgd-10": row(1.0, eps=0.1)},
        {"pgd-10": row(1.0, flips=0.5)},
    )]  # fmt: skip
    assert headings[0] == ["attack", "mean", "kept", "std", "95 % interval", "episodes"]
    assert "eps" in headings[1] and "flips" not in headings[1]
    assert "flips" in headings[2] and "kept" not in headings[2]


@pytest.mark.parametrize(
    ("worst", "rows", "words"),
    [
        ("pgd-10", ROWS, "worst: pgd-10, 1568 of 3252, 48 % kept"),
        ("pgd-10", {"pgd-10": ROWS["pgd-10"]}, "worst: pgd-10, 1568"),
        ("pgd-10", {"none": row(-3.25), "pgd-10": row(-10.0)}, "worst: pgd-10, -10 of -3.25"),
        ("none", ROWS, "no attack is worse than none: 3252"),
    ],
)
def test_the_verdict(worst: str, rows: dict[str, Any], words: str) -> None:
    assert verdict({"eps": 0.075, "worst": worst, "attacks": rows}) == words


def test_the_radius_has_units_and_a_source() -> None:
    result: Any = {"attacks": ROWS, "worst": "pgd-10", "threat": {"eps": 0.075}}
    assert radius_text(result, "usual for this task") == "eps 0.075 in l_inf; usual for this task"
    assert radius_text({**result, "attacks": {"none": ROWS["none"]}}, "") == ""


@pytest.mark.parametrize(
    ("id", "normaliser", "meta", "eps", "source"),
    [
        ("CartPole-v1", None, {"eps": 0.3}, 0.3, "training"),
        ("Acrobot-v1", None, {}, 0.1, "a guess"),
        ("CartPole-v1", PixelNormaliser(), {}, 1 / 255, "images"),
        ("Hopper-v4", None, {}, 0.075, "usual for this task"),
    ],
)
def test_where_the_radius_comes_from(id: str, normaliser: Any, meta: dict[str, Any], eps: float, source: str) -> None:
    spec = env_spec(id)
    policy = CategoricalPolicy.create(spec.obs_shape[0], 2, jax.random.key(0), (4,))
    agent = Agent(spec, normaliser or RunningNormaliser.create(spec.obs_shape, 10.0), policy, {}, meta)
    threat, words = explained_threat(agent)
    assert threat == Threat(eps) and source in words
