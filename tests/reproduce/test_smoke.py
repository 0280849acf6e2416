"""Every table and figure in its smallest form, from training to page; and the same commands again."""

from pathlib import Path

import pytest

from wocar.cli import task_process
from wocar.cli.reproduce_command import main
from wocar.reproduce.local_processes import LocalExecutor
from wocar.reproduce.scheduler import Result, carry_out
from wocar.reproduce.targets import TARGETS, make_plan
from wocar.reproduce.tasks import Task

SHOWN = {
    "table-mujoco": ("results-Hopper-v4", "3616 ± 99", "MaxDiff"),
    "table-mujoco-same-steps": ("results-Hopper-v4", "3616 ± 99"),
    "table-atari": ("WocaR-DQN", "PGD-10"),
    "table-a2c": ("WocaR-A2C", "PGD-10"),
    "table-efficiency": ("Time and steps of training", "million steps"),
    "fig-curves": ("During training, under MaxDiff",),
    "fig-natural-vs-worst": ("Natural against worst return", "WocaR-PPO (paper)"),
    "fig-eps": ("Return against eps: MaxDiff",),
    "fig-worst-value": ("Estimated and measured worst value", "WocaR-PPO: estimated"),
    "fig-tradeoff": ("kappa_wst=0", "kappa_wst sweep (paper)"),
    "fig-ablation-importance": ("SA-PPO, importance=True", "importance=False (paper)"),
    "fig-ablation-reg": ("WocaR-PPO, reg=False",),
    "evidence": ("WocaR-PPO, preset=robust", "WocaR-DQN", "3616 ± 99"),
    "fig-importance-states": ("highest w(s)",),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


@pytest.fixture(scope="module")
def everything(root: Path) -> Result:
    """All plans at once: what they share is done once."""
    tasks: dict[str, Task] = {}
    for target in TARGETS:
        tasks |= {task.key: task for task in make_plan(target, "smoke").tasks}
    return carry_out(list(tasks.values()), root, LocalExecutor(root, 2, 1000, task_process.__name__))


def test_all_tasks_succeed_with_little_time_between_them(everything: Result) -> None:
    assert everything.failed == {}
    assert everything.run == len(everything.done) > 20
    assert everything.overhead < 0.02


@pytest.mark.parametrize("target", TARGETS)
def test_the_page_of(target: str, root: Path, everything: Result, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(target, "smoke")
    if not plan.tasks:
        pytest.skip("; ".join(f"{missing.row.method}: {missing.why}" for missing in plan.missing))
    assert main([target, "--scale", "smoke", "--out", str(root)]) == 0
    folder = root / f"{target}-smoke"
    text = (folder / "report.html").read_text()
    assert target in text and "the numbers mean nothing" in text
    for words in SHOWN.get(target, ()):
        assert words in text or any(words in file.name for file in (folder / "tables").iterdir())
    kinds = {file.suffix for part in ("figures", "tables") for file in (folder / part).iterdir()}
    assert kinds >= {".md", ".csv", ".tex"}
    before = (folder / "report.html").stat().st_mtime_ns
    capsys.readouterr()
    assert main([target, "--scale", "smoke", "--out", str(root)]) == 0
    assert "is up to date" in capsys.readouterr().out
    assert (folder / "report.html").stat().st_mtime_ns == before
