"""The plan of the evidence: order, seeds, suites, what it leaves when it is stopped, and how it goes on."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from wocar.cli.reproduce_command import main
from wocar.files import write_json
from wocar.reproduce.collect import matrix_rows, state
from wocar.reproduce.commands import AuditTask, TrainTask
from wocar.reproduce.plan import Plan, TableRow
from wocar.reproduce.scales import MUJOCO, SCALES
from wocar.reproduce.scheduler import TaskOutcome, carry_out
from wocar.reproduce.targets import FIRST, THEN, make_plan
from wocar.reproduce.tasks import Task, TaskFolder

HOPPER, CHEETAH, WALKER, ANT = "Hopper-v4", "HalfCheetah-v4", "Walker2d-v4", "Ant-v4"


@pytest.fixture(scope="module")
def paper() -> Plan:
    return make_plan("evidence", "paper", envs=MUJOCO)


def trainings(plan: Plan) -> list[tuple[TrainTask, TableRow]]:
    """Of the matrix, without the ablations."""
    known = [(t, plan.rows[t.key]) for t in plan.tasks if isinstance(t, TrainTask) and t.key in plan.rows]
    return [(task, row) for task, row in known if row.variant in ("", "preset=robust", "preset=small")]


def name(row: TableRow) -> str:
    return " ".join(filter(None, (row.method, row.variant)))


def test_the_matrix_has_every_method_on_every_task(paper: Plan) -> None:
    asked = {(row.env, name(row)) for _, row in trainings(paper)}
    assert asked == {(env, method) for env in MUJOCO for method in (*FIRST, *THEN)}
    assert FIRST == ("ppo", "sa-ppo", "wocar-ppo", "wocar-ppo preset=robust", "sac preset=small", "wocar-sac")
    assert THEN == ("atla-ppo", "pa-atla-ppo", "radial-ppo", "sa-sac preset=small", "valt-eps-sac preset=small")


def test_first_seed_0_of_the_first_six_on_two_tasks_then_seed_1(paper: Plan) -> None:
    order = [(row.env, name(row), task.seed) for task, row in trainings(paper)]
    assert order[:12] == [(env, method, 0) for env in (HOPPER, CHEETAH) for method in FIRST]
    assert order[12:24] == [(env, method, 1) for env in (HOPPER, CHEETAH) for method in FIRST]
    blocks = list(dict.fromkeys((method in FIRST, env in (HOPPER, CHEETAH)) for env, method, _ in order))
    assert blocks == [(True, True), (True, False), (False, True), (False, False)]


@pytest.mark.parametrize("stop", [1, 7, 12, 13, 40, 100])
def test_wherever_it_is_stopped_a_block_is_balanced(paper: Plan, stop: int) -> None:
    done = Counter((row.env, name(row)) for _, row in trainings(paper)[:stop])
    rows = [done[env, method] for env in (HOPPER, CHEETAH) for method in FIRST]
    assert max(rows) - min(rows) <= 1


def test_every_agent_is_audited_at_once(paper: Plan) -> None:
    for task, follower in zip(paper.tasks, paper.tasks[1:], strict=False):
        if task.key in paper.rows:
            assert isinstance(follower, AuditTask) and follower.run is task


@pytest.mark.parametrize(
    ("scale", "seeds", "suite"),
    [
        ("paper", {HOPPER: 5, CHEETAH: 5, WALKER: 3, ANT: 1}, "mujoco-v2"),
        ("small", {HOPPER: 3, CHEETAH: 3, WALKER: 1}, "fast-v2"),
        ("smoke", {HOPPER: 1}, ""),
    ],
)
def test_seeds_and_suite_of_each_scale(scale: str, seeds: dict[str, int], suite: str) -> None:
    plan = make_plan("evidence", scale, envs=MUJOCO)
    for row in ("ppo", "wocar-sac"):
        found = Counter(known.env for _, known in trainings(plan) if known.method == row)
        assert found == seeds
    audits = [task.how for task in plan.tasks if isinstance(task, AuditTask)]
    assert {how.suite for how in audits} == {suite}
    assert suite or {how.attacks for how in audits} == {("none", "maxdiff")}


def test_steps_are_the_papers_or_the_presets(paper: Plan) -> None:
    steps = {(row.env, name(row)): task.steps for task, row in trainings(paper)}
    assert steps[HOPPER, "ppo"] == 2_000_000 and steps[WALKER, "wocar-ppo preset=robust"] == 4_000_000
    assert steps[HOPPER, "atla-ppo"] == 10_000_000  # as in `table-mujoco`: its adversary's are half of them
    assert steps[HOPPER, "sac preset=small"] == steps[HOPPER, "wocar-sac"] == 350_000
    small = {name(row): task.steps for task, row in trainings(make_plan("evidence", "small", envs=[HOPPER]))}
    assert small["sac preset=small"] == small["wocar-sac"] == 350_000
    assert small["ppo"] == small["wocar-ppo preset=robust"] == 1_000_000


def test_ablations_come_after_the_matrix() -> None:
    plan = make_plan("evidence", "small", envs=MUJOCO)
    variants = [row.variant for row in plan.rows.values()]
    ablated = [variant.removeprefix("preset=robust, ") for variant in variants if variant.startswith("preset=robust,")]
    assert set(ablated) == {"importance=False", "reg=False", "kappa_wst=0", "min_std=0", "bounds=ibp"}
    assert all(variant.startswith("preset=robust,") for variant in variants[-len(ablated) :])


class Stopped(Exception):
    pass


class PretendingExecutor:
    """Does tasks at once; stops after so many."""

    def __init__(self, root: Path, most: int = 10**6) -> None:
        self.root, self.most = root, most
        self.ran: list[Task] = []
        self.now: list[Task] = []

    @property
    def free(self) -> int:
        return 1 - len(self.now)

    def start(self, task: Task) -> None:
        self.now.append(task)

    def wait(self, seconds: float) -> list[TaskOutcome]:
        if len(self.ran) == self.most:
            raise Stopped
        task = self.now.pop()
        if isinstance(task, AuditTask):
            write_json(self.root / task.folder / "audit.json", pretended_audit(task))
        TaskFolder(self.root / task.folder).finish(seconds=1.0)
        self.ran.append(task)
        return [TaskOutcome(task, "done", seconds=1.0)]

    def close(self) -> None:
        pass


def pretended_audit(task: AuditTask) -> dict[str, Any]:
    def row(mean: float, eps: float) -> dict[str, Any]:
        about = {"std": 0.0, "interval": [mean, mean], "episodes": 2, "eps": eps, "family": "gradient"}
        return {"mean": mean, "returns": [mean - 1, mean + 1], **about}

    attacks = {"none": row(3000, 0.0), "maxdiff": row(1000 + 100 * task.run.seed, task.radii[0])}
    meta = {"method": task.run.method, "seed": task.run.seed, "steps": task.run.steps}
    return {"env": task.run.env, "meta": meta, "attacks": attacks, "worst": "maxdiff", "norm": "linf"}


def test_it_goes_on_where_it_was_stopped_and_shows_what_is_done(tmp_path: Path) -> None:
    plan = make_plan("evidence", "smoke", envs=MUJOCO, methods=["ppo", "sac"], seeds=2)
    with pytest.raises(Stopped):
        carry_out(plan.tasks, tmp_path, PretendingExecutor(tmp_path, 5))  # both of seed 0, PPO's seed 1 is trained
    found = state(plan, tmp_path)
    assert (found["tasks"], found["done"], found["attacks"]) == (8, 5, ["none,maxdiff"])
    assert [(row["method"], row["asked"], row["seeds"]) for row in found["rows"]] == [("ppo", 2, [0]), ("sac", 2, [0])]
    rest = PretendingExecutor(tmp_path)
    assert carry_out(plan.tasks, tmp_path, rest).failed == {} and len(rest.ran) == 3
    ppo, sac = matrix_rows(plan, tmp_path)
    assert [agent.seed for agent in ppo.agents] == [0, 1] and ppo.median.worst == 1000
    assert sac.improvement(ppo) is not None


def test_the_state_of_the_whole_plan_with_games(tmp_path: Path) -> None:
    assert state(make_plan("evidence", "smoke"), tmp_path)["attacks"] == ["none,maxdiff", "none,pgd-10,pa-ad"]


def test_a_damaged_audit_does_not_count(tmp_path: Path) -> None:
    plan = make_plan("evidence", "smoke", envs=MUJOCO, methods=["ppo"])
    carry_out(plan.tasks, tmp_path, PretendingExecutor(tmp_path))
    (tmp_path / plan.tasks[1].folder / "audit.json").write_text("{")
    assert [row["seeds"] for row in state(plan, tmp_path)["rows"]] == [[]]


def test_the_budget_of_every_scale_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "state.json"
    options = ["--scale", "smoke", "--envs", ",".join(MUJOCO), "--out", str(tmp_path / "r"), "--json", str(file)]
    assert main(["evidence", *options, "--dry-run"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("estimates for two cores") and all(f"{scale} " in last for scale in SCALES)
    found = json.loads(file.read_text())
    assert found["done"] == 0 and {row["method"] for row in found["rows"]} >= {"ppo", "wocar-ppo", "sac", "wocar-sac"}
    hours = [make_plan("evidence", scale, envs=MUJOCO).seconds(2) / 3600 for scale in SCALES]
    assert hours == sorted(hours) and hours[0] < 0.2 and 10 < hours[1] < 50 < hours[2]
