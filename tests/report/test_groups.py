"""What is found below a path, and who belongs together."""

import json
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from wocar.agent import Agent
from wocar.networks import GaussianPolicy, RunningNormaliser
from wocar.report.groups import grouped, method_label
from wocar.report.labels import radius_text, slug
from wocar.report.model import Chart, Series
from wocar.report.radius import Radius
from wocar.report.sources import collect
from wocar.report.tables import paper_numbers
from wocar.reproduce.paper_numbers import published
from wocar.types import ActionSpace, EnvSpec, UserError

HOPPER = Radius("linf", 0.075)


def small_agent(seed: int) -> Agent:
    spec = EnvSpec("Hopper-v4", (3,), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32)), 1000)
    policy = GaussianPolicy.create(3, 2, jax.random.key(seed), (4,))
    return Agent(spec, RunningNormaliser.create((3,)), policy, {}, {"method": "ppo", "seed": 0})


def test_everything_is_found_once(results: Path) -> None:
    found = collect([results, results / "ppo-Hopper-v4-s0.json", results / "ppo-Hopper-v4-s0"])
    assert (len(found.runs), len(found.audits), found.notes) == (10, 19, [])


def test_seeds_of_a_method_are_one_group_and_variants_are_named(results: Path) -> None:
    groups = grouped(collect([results]))
    seeds = {(g.env, g.label): [m.seed for m in g.members] for g in groups}
    assert seeds["Hopper-v4", "WocaR-PPO"] == [0, 1, 2]
    assert seeds["Hopper-v4", "WocaR-PPO, importance=False"] == [0]
    assert [g.label for g in groups if g.env == "Walker2d-v4"] == ["PPO", "SA-PPO", "WocaR-PPO"]


def test_values_and_worst(results: Path) -> None:
    group = next(g for g in grouped(collect([results])) if (g.env, g.label) == ("Hopper-v4", "PPO"))
    assert group.values("none", HOPPER) == [3500, 3507, 3514]
    assert group.values("maxdiff", HOPPER) == [1575, 1582, 1589]
    assert group.values("worst", HOPPER) == group.values("robust-sarsa", HOPPER) == [875, 882, 889]
    assert group.values("worst", Radius("linf", 0.05)) == [1750, 1757, 1764]
    assert group.values("random", Radius("l2", 0.075)) == []
    assert set(group.members[0].radii()) == {HOPPER, Radius("linf", 0.05), Radius("linf", 0.1)}


def test_radii_in_other_units_or_dimensions_are_apart(write: SimpleNamespace, tmp_path: Path) -> None:
    threats = [{"norm": "linf"}, {"norm": "linf", "units": "raw"}, {"norm": "linf", "radii": [1.0, 0.0, 0.5]}]
    for k, threat in enumerate(threats):
        scale, sha = 100.0 * (k + 1), "the same"
        file = tmp_path / f"{k}.json"
        write.audit(file, "Hopper-v4", "ppo", 0, (0.075,), scale, threat={"eps": 0.075, **threat}, agent_sha256=sha)
    [group] = grouped(collect([tmp_path]))
    raw, masked = HOPPER._replace(units="raw"), HOPPER._replace(dimensions="dimensions 0, 2 × 0.5")
    assert group.members[0].radii() == [HOPPER, raw, masked]
    assert [group.values("maxdiff", r) for r in (HOPPER, raw, masked)] == [[45], [90], [135]]
    assert [radius_text(r) for r in (HOPPER, raw)] == ["eps 0.075", "eps 0.075 (linf, raw units)"]
    assert [slug(r) for r in (HOPPER, masked)] == ["eps0_075", "eps0_075linf_dimensions_0_2_0_5"]
    assert paper_numbers(published(), "Hopper", "ppo", "", HOPPER).keys() > {"none", "maxdiff"}
    assert paper_numbers(published(), "Hopper", "ppo", "", raw).keys() == {"none"}


def test_two_audits_of_one_agent_are_one_member(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "a-s0.json"
    data = json.loads((results / "ppo-Walker2d-v4-s0.json").read_text())
    file.write_text(json.dumps(data))
    more = {**data, "attacks": {"pa-ad": {**data["attacks"]["maxdiff"], "mean": 1.0}}, "worst": "pa-ad"}
    (tmp_path / "b-s0.json").write_text(json.dumps(more))
    [group] = grouped(collect([tmp_path]))
    assert len(group.members) == 1
    assert group.values("pa-ad", Radius("linf", 0.05)) == [1.0]
    assert group.members[0].worst(Radius("linf", 0.05))[0] == "robust-sarsa"  # by selection, where pa-ad was not lower


def test_an_old_audit_is_not_drawn_under_a_new_run_that_still_trains(write: SimpleNamespace, tmp_path: Path) -> None:
    old, new = small_agent(1), small_agent(2)
    write.audit(tmp_path / "old.json", "Hopper-v4", "ppo", 0, (0.075,), 100.0, "run", agent_sha256=old.digest())
    write.run(tmp_path / "run", "Hopper-v4", "ppo", 0)

    def audits_of_the_run() -> list[str]:
        members = [m for g in grouped(collect([tmp_path])) for m in g.members if m.run]
        return sorted(audit.file.stem for m in members for audit in m.audits)

    assert audits_of_the_run() == ["old"]  # a finished curve without weights: its folder is all that is known
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(lines[:10]))
    assert audits_of_the_run() == []  # this training has not come so far as the audited agent
    new.save(tmp_path / "run" / "checkpoints" / "0000001")
    write.audit(tmp_path / "new.json", "Hopper-v4", "ppo", 0, (0.075,), 100.0, "run", agent_sha256=new.digest())
    assert audits_of_the_run() == ["new"]
    (tmp_path / "run" / "checkpoints" / "0000001" / "agent.json").write_text("{")
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(lines))
    assert audits_of_the_run() == []  # weights that cannot be read may be anyone's


def test_an_audit_finds_its_run_in_another_folder(write: SimpleNamespace, tmp_path: Path) -> None:
    agent = small_agent(1)
    write.run(tmp_path / "moved", "Hopper-v4", "ppo", 0)
    agent.save(tmp_path / "moved" / "agent")
    write.audit(tmp_path / "a.json", "Hopper-v4", "ppo", 0, (0.075,), 100.0, "gone", agent_sha256=agent.digest())
    [member] = [m for g in grouped(collect([tmp_path])) for m in g.members]
    assert member.run is not None and [audit.file.stem for audit in member.audits] == ["a"]


def test_an_audit_belongs_to_the_run_folder_that_holds_its_agent(write: SimpleNamespace, tmp_path: Path) -> None:
    """Trained again in the same folder, method and seed are the same and the agent is another."""
    write.run(tmp_path / "run", "Hopper-v4", "ppo", 0)
    agents = [small_agent(seed) for seed in (0, 1)]
    agents[1].save(tmp_path / "run" / "agent")
    for name, agent in zip(("before", "now"), agents, strict=True):
        digest = agent.digest()
        write.audit(tmp_path / f"{name}.json", "Hopper-v4", "ppo", 0, (0.075,), 100.0, "run", agent_sha256=digest)
    members = [m for g in grouped(collect([tmp_path])) for m in g.members]
    audits = {bool(m.run): [audit.file.stem for audit in m.audits] for m in members}
    assert audits == {True: ["now"], False: ["before"]}


def test_without_an_agent_to_read_method_and_seed_decide(write: SimpleNamespace, tmp_path: Path) -> None:
    write.run(tmp_path / "run", "Hopper-v4", "ppo", 0)
    write.audit(tmp_path / "a.json", "Hopper-v4", "ppo", 0, (0.075,), 100.0, "run")
    write.audit(tmp_path / "b.json", "Hopper-v4", "ppo", 1, (0.075,), 100.0, "run")
    members = [m for g in grouped(collect([tmp_path])) for m in g.members]
    assert {m.seed: bool(m.run) for m in members} == {0: True, 1: False}


def test_agents_of_one_seed_that_differ_in_something_unknown_are_told_apart(results: Path, tmp_path: Path) -> None:
    data = json.loads((results / "ppo-Walker2d-v4-s0.json").read_text())
    for name, seed in (("usual-s0", 0), ("usual-s1", 1), ("odd-s0", 0)):
        meta = {**data["meta"], "seed": seed}
        (tmp_path / f"{name}.json").write_text(json.dumps({**data, "meta": meta, "agent": name, "agent_sha256": name}))
    groups = grouped(collect([tmp_path]))
    assert {g.label: len(g.members) for g in groups} == {"PPO": 2, "PPO, [odd]": 1}


def test_damaged_files_are_told_and_left_out(results: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "other.json").write_text('{"some": "thing"}')
    (tmp_path / "chart.json").write_text('{"chart": {"name": "x"}}')
    (tmp_path / "good.json").write_bytes((results / "ppo-Walker2d-v4-s0.json").read_bytes())
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text('{"no": "config"}')
    found = collect([tmp_path])
    assert len(found.audits) == 1 and len(found.notes) == 3


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    for paths, words in (
        ([tmp_path], "nothing to report"),
        ([tmp_path / "no"], "there is no"),
        ([other], "neither an audit"),
    ):
        with pytest.raises(UserError, match=words):
            collect(paths)


def test_a_chart_is_its_file(tmp_path: Path) -> None:
    chart = Chart("n", "t", "a", "x", "y", "lines", [Series("s", [0.0, 1.0], [1.0, None])], ["wocar ..."])
    (tmp_path / "c.json").write_text(json.dumps(chart.to_json()))
    [found] = collect([tmp_path]).charts
    assert json.dumps(found.to_json()) == json.dumps(chart.to_json())


def test_labels() -> None:
    assert [method_label(m) for m in ("wocar-dqn", "pa-atla-ppo", "my-agent")] == [
        "WocaR-DQN",
        "PA-ATLA-PPO",
        "my-agent",
    ]
