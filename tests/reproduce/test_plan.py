"""Plans of every table and figure: what they consist of, what they share, what they leave out."""

from pathlib import Path
from typing import Any

import pytest

from wocar.cli.options import parse
from wocar.cli.reproduce_command import main
from wocar.cli.train_command import _default
from wocar.methods.registry import METHODS, find_method
from wocar.reproduce import plan as plans
from wocar.reproduce.collect import collect, collected_name
from wocar.reproduce.commands import AuditSettings, AuditTask, EstimateSettings, EstimateTask, TrainTask, options
from wocar.reproduce.paper_numbers import ABOUT
from wocar.reproduce.plan import Plan, TableRow
from wocar.reproduce.scales import SCALES, discrete, game
from wocar.reproduce.targets import TARGETS, make_plan
from wocar.reproduce.tasks import TaskFolder
from wocar.training.run_config import RunConfig
from wocar.types import UserError

TRAINING: dict[str, Any] = {"checkpoint_every": 5, "keep_checkpoints": True}
MUJOCO = [target for target in TARGETS if target not in ("table-atari", "table-a2c", "fig-importance-states")]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("target", MUJOCO)
def test_every_plan_is_in_order_and_its_trainings_are_understood(target: str, scale: str) -> None:
    plan = make_plan(target, scale, seeds=1)
    assert plan.tasks
    seen: set[str] = set()
    understood: set[tuple[str, ...]] = set()
    for task in plan.tasks:
        assert all(need.key in seen for need in task.needs)
        assert task.key not in seen
        seen.add(task.key)
        method, *options = task.argv()[1:]
        row = plan.rows.get(task.key)
        alike = (method, *options[6:-2]) if row else ()
        if row and alike not in understood:
            understood.add(alike)
            config = parse(RunConfig, options, "train", "", default=_default(find_method(method), options))
            config.check()
            assert isinstance(task, TrainTask) and (task.method, task.env) == (method, config.env)
            assert config.keep_checkpoints == (not discrete(row.env)) and str(config.out) == f"{task.folder}/run"
            usual = SCALES[scale].game_preset if game(row.env) else "paper"
            asked = next((word.removeprefix("preset=") for word in row.variant.split(", ") if "preset=" in word), usual)
            assert config.preset == task.preset == asked
            if target in ("fig-curves", "fig-worst-value"):
                names = plan.checkpoints(task)
                assert names == sorted(set(names)) and int(names[-1]) == config.iterations
                wanted = min(SCALES[scale].checkpoints, config.iterations)
                assert len(names) in (wanted, wanted + 1)
    assert set(plan.labels) <= {*ABOUT, "fig:pong"}


def test_plans_share_what_they_have_in_common() -> None:
    table = {task.key for task in make_plan("table-mujoco", "small").tasks}
    assert {task.key for task in make_plan("fig-natural-vs-worst", "small").tasks} == table
    curves = [task for task in make_plan("fig-curves", "small").tasks if isinstance(task, TrainTask)]
    assert {task.key for task in curves} <= table
    ablation = make_plan("fig-ablation-importance", "small")
    tradeoff = make_plan("fig-tradeoff", "small")
    without = {key for key, row in ablation.rows.items() if row.variant == "importance=True"}
    assert without <= {key for key, row in tradeoff.rows.items() if row.variant == "kappa_wst=0"}


def test_the_key_is_the_content() -> None:
    def run(**changes: Any) -> TrainTask:
        return TrainTask(**{"method": "ppo", "env": "Hopper-v4", "seed": 0, "steps": 9, **TRAINING, **changes})

    def audit(run: TrainTask, *radii: float, at: str = "") -> AuditTask:
        return AuditTask(run, AuditSettings(("none",)), radii, 50, at)

    assert run().key == run().key
    others = [run(seed=1), run(settings=(("reg", False),)), run(preset="small"), run(first=run())]
    assert len({task.key for task in (run(), *others)}) == 5
    keys = {audit(run(), 0.1).key, audit(run(), 0.2).key, audit(run(seed=1), 0.1).key, audit(run(), 0.1, at="7").key}
    assert len(keys) == 4
    assert audit(run(), 0.1).argv()[1] == f"{run().folder}/run"
    assert audit(run(), 0.1, at="0000007").argv()[1] == f"{run().folder}/run/checkpoints/0000007"
    assert run(first=run(seed=1)).argv()[-10:-8] == ["--init-from", f"{run(seed=1).folder}/run"]


def test_commands_are_those_of_the_command_line() -> None:
    assert options({"kappa_wst": 0.4, "reg": False, "importance": True}) == [
        "--kappa-wst",
        "0.4",
        "--no-reg",
        "--importance",
    ]
    run = TrainTask("dqn", "Pong-v5", 3, 100, **TRAINING, preset="small")
    estimate = EstimateTask(run, EstimateSettings(sweeps=2), 1 / 255, 5, "0000007")
    assert estimate.words("x")[2:] == [
        "--sweeps",
        "2",
        "--no-quick",
        "--eps",
        "0.00392157",
        "--episodes",
        "5",
        "--json",
        "x/estimate.json",
    ]
    assert AuditSettings(suite="mujoco-v1").grids["robust-sarsa"] == 13
    assert AuditTask(run, AuditSettings(suite="fast-v1"), (0.1, 0.2), 50).words("x")[2:6] == [
        *("--suite", "fast-v1", "--eps", "0.1,0.2"),
    ]


def test_the_papers_numbers_of_steps_and_agents() -> None:
    plan = make_plan("table-efficiency", "paper")
    steps = {(row.method, row.env): task.steps for task, row in _rows(plan)}
    assert steps["wocar-ppo", "Ant-v4"] == 7_500_000 and steps["sa-ppo", "Hopper-v4"] == 2_000_000
    assert steps["atla-ppo", "Ant-v4"] == 20_000_000 and steps["radial-ppo", "Hopper-v4"] == 4_000_000
    assert len(plan.tasks) == 30 * len(steps)


def test_finished_audits_are_collected_under_names_that_say_what_they_are(tmp_path: Path) -> None:
    plan = make_plan("evidence", "smoke")
    audits = [task for task in plan.tasks if isinstance(task, AuditTask)]
    assert len({collected_name(plan, task) for task in audits}) == len(audits)
    done = next(task for task in audits if plan.rows[task.run.key].variant == "preset=robust")
    (tmp_path / done.folder).mkdir(parents=True)
    (tmp_path / done.folder / "audit.json").write_text('{"worst": "none"}')
    assert collect(plan, tmp_path, tmp_path / "results") == 0  # there, but not finished
    TaskFolder(tmp_path / done.folder).finish(seconds=1.0)
    (tmp_path / done.run.run).mkdir(parents=True)
    (tmp_path / done.run.run / "calibration.json").write_text("{}")
    assert collect(plan, tmp_path, tmp_path / "results") == 1
    name = "wocar-ppo-robust-Hopper-v4-s0"
    assert {file.name for file in (tmp_path / "results").iterdir()} == {f"{name}.json", f"{name}-calibration.json"}
    assert (tmp_path / "results" / f"{name}.json").read_text() == '{"worst": "none"}'


def _rows(plan: Plan) -> list[tuple[TrainTask, TableRow]]:
    return [(task, plan.rows[task.key]) for task in plan.tasks if isinstance(task, TrainTask) and task.key in plan.rows]


def test_a_method_that_is_not_there_is_named_and_joins_when_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(METHODS, "sa-ppo")
    plans.lacking.cache_clear()
    plan = make_plan("table-mujoco", "smoke")
    assert TableRow("sa-ppo", "Hopper-v4") in [missing.row for missing in plan.missing]
    assert "sa-ppo" not in {row.method for row in plan.rows.values()}
    monkeypatch.undo()
    plans.lacking.cache_clear()
    plan = make_plan("table-mujoco", "smoke")
    assert "sa-ppo" in {row.method for row in plan.rows.values()}


def test_a_dry_run_shows_everything_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r"
    assert main(["fig-eps", "--scale", "small", "--dry-run", "--out", str(out), "--jobs", "2"]) == 0
    shown = capsys.readouterr().out
    for words in ("wocar train wocar-ppo --env Hopper-v4", "--eps 0.05,0.1,0.2", "after 1", "with 2 at a time", "draw"):
        assert words in shown
    assert not out.exists()


def test_narrowed(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--envs", "HalfCheetah-v4", "--methods", "ppo,wocar-ppo", "--seeds", "3", "--dry-run"]
    assert main(["table-mujoco", *options]) == 0
    shown = capsys.readouterr().out
    assert "12 tasks" in shown and "Hopper" not in shown and "sa-ppo" not in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["table-moon"], "unknown target 'table-moon'"),
        (["table-mujoco", "--scale", "large"], "large"),
        (["table-mujoco", "--jobs", "0"], "--jobs must be positive"),
        (["table-mujoco", "--seeds", "0"], "--seeds must be positive"),
        (["table-mujoco", "--methods", "dreams"], "nothing to do"),
    ],
)
def test_mistakes(options: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        main([*options, "--dry-run"])
