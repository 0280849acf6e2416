"""A plan on a real Ray cluster of two nodes, one of which is killed in the middle."""

import threading
import time
from pathlib import Path

import pytest

from wocar.agent import load_agent
from wocar.cli import task_process
from wocar.evaluation.audit_file import agent_digest
from wocar.files import read_json
from wocar.reproduce.commands import AuditSettings, AuditTask, TrainTask
from wocar.reproduce.local_processes import LocalExecutor
from wocar.reproduce.scheduler import PlanObserver, TaskOutcome, carry_out
from wocar.reproduce.tasks import Task

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'wocar[ray]'")
from ray.cluster_utils import Cluster  # noqa: E402

from wocar.reproduce.ray_cluster import RayExecutor, pack, unpack  # noqa: E402

SMALL = {"n_envs": 1, "n_steps": 16, "minibatches": 1, "policy_epochs": 1, "value_epochs": 1, "hidden": 4}


def plan() -> list[Task]:
    """Two trainings at a time, each with an audit after it."""
    tasks: list[Task] = []
    for seed in range(2):
        run = TrainTask("ppo", "GoHome-v0", seed, 1600, 100_000, False, settings=tuple(SMALL.items()))
        tasks += [run, AuditTask(run, AuditSettings(("none", "random")), (0.1,), episodes=2)]
    return tasks


class KillOne(PlanObserver):
    """Takes the second node away, without a warning, while both nodes work."""

    def __init__(self, cluster: Cluster, node: object) -> None:
        self.cluster, self.node, self.begun = cluster, node, 0
        self.outcomes: list[TaskOutcome] = []

    def started(self, task: Task) -> None:
        self.begun += 1
        if self.begun == 2:
            threading.Timer(4.0, self.cluster.remove_node, (self.node,), {"allow_graceful": False}).start()

    def ended(self, outcome: TaskOutcome, again: bool) -> None:
        self.outcomes.append(outcome)


def test_a_node_is_lost_and_the_result_is_complete_and_equal(tmp_path: Path) -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        second = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        there = tmp_path / "there"
        there.mkdir()
        watch = KillOne(cluster, second)
        start = time.monotonic()
        result = carry_out(plan(), there, RayExecutor(there, cluster.address, None, 1000, task_process.run), watch)
        assert time.monotonic() - start > 4, "it ended before the node was taken away"
    finally:
        cluster.shutdown()
    assert len(result.done) == 4 and not result.failed

    here = tmp_path / "here"
    here.mkdir()
    carry_out(plan(), here, LocalExecutor(here, 2, 1000, task_process.__name__))
    for task in plan():
        ours, theirs = here / task.folder, there / task.folder
        if isinstance(task, TrainTask):
            digests = [agent_digest(load_agent(folder / "run" / "agent")) for folder in (ours, theirs)]
            assert digests[0] == digests[1]
        else:
            rows = [read_json(folder / "audit.json")["attacks"] for folder in (ours, theirs)]
            assert rows[0] == rows[1]
        assert (theirs / "done.json").is_file() and not (theirs / ".incoming").exists()


def test_what_travels_arrives_whole_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "a" / "tasks" / "x"
    (source / "run" / "tensorboard").mkdir(parents=True)
    (source / "run" / "weights").write_text("1")
    (source / ".claim").write_text("me")
    target = tmp_path / "b" / "tasks" / "x"
    (target / "run").mkdir(parents=True)
    (target / "run" / "stale").write_text("0")
    unpack(target, pack(tmp_path / "a", "tasks/x", {".claim", "tensorboard"}))
    assert [str(p.relative_to(target)) for p in sorted(target.rglob("*"))] == ["run", "run/weights"]
